"""Text in a code page of one byte for each letter, as UTF-8.

Each byte is a letter by itself, ASCII's as ever, so that a cell is a function of its own bytes and
a line ends where a byte says so. Other encodings (UTF-16, Shift JIS) are not read: there a byte
more, or a byte that is odd, makes other letters of all that follow.
"""

from __future__ import annotations

import codecs
from contextlib import suppress

from dpcore.errors import InvalidInputError

__all__ = ["UTF_8", "checked_encoding", "to_utf8"]

UTF_8 = "utf-8"
_PAGES = frozenset(
    [f"iso8859-{k}" for k in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)]
    + [f"cp{k}" for k in range(1250, 1259)]
    + [f"cp{k}" for k in (437, 775, 850, 852, 855, 857, 858, 860, 861, 863, 865, 866)]
    + ["koi8-r", "koi8-u", "mac-roman"]
)
"""Python's names of code pages."""
_REPLACED, _NO_LETTER = "\ufffd".encode(), b"\xff"


def checked_encoding(name: str) -> str:
    """Return Python's name of an encoding; InvalidInputError for any that is not read."""
    found = ""
    with suppress(LookupError, ValueError):
        found = codecs.lookup(name).name
    if found == UTF_8 or found in _PAGES:
        return found
    raise InvalidInputError(
        f"Expected encoding={name!r} to be utf-8 or a code page of one byte for each letter, such "
        "as cp1252, iso8859-15 or koi8-r. Save the file as UTF-8."
    )


def to_utf8(content: bytes, encoding: str) -> bytes:
    """Return bytes of a checked encoding as UTF-8. A byte that is no letter of it becomes a byte of
    no letter in UTF-8 either, so that whoever reads lines finds its line."""
    if encoding == UTF_8 or content.isascii():
        return content
    return content.decode(encoding, "replace").encode().replace(_REPLACED, _NO_LETTER)
