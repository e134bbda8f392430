"""Numbers or words between blanks, one row a line, as the CSV reader takes them."""

from __future__ import annotations

import re

__all__ = ["to_single_spaces"]


def to_single_spaces(content: bytes) -> bytes:
    """Return the text with one space between words and none at either end of a line.

    Lines keep their numbers.
    """
    content = re.sub(rb"[ \t\f\v]+", b" ", content.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
    return content.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
