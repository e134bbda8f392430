"""A text file in pieces of whole records, unpacked as it is read; every failure is a DataError."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

from dpcore.data.readers.lines import trimmed
from dpcore.data.readers.places import is_there, open_bytes
from dpcore.data.readers.records import count_lines
from dpcore.data.readers.watching import note_position
from dpcore.errors import DataError, replacing

__all__ = ["PIECE_BYTES", "Cut", "Piece", "file_errors", "read_pieces"]

PIECE_BYTES = 2**20
"""How much is read at a time. No row and no message depends on it."""

_BLANKS = b" \t\f\v\r\n"

Cut = Callable[[bytes], int]
"""Where the last record of a text begins whose end is not in it."""


@dataclass(frozen=True)
class Piece:
    """Records as they are in the file, the last line end perhaps missing at its end.

    ``lines_before`` : the number of lines before. ``is_first`` : whether the file begins here; if
    so, it holds the first line that is not blank, where the file has one. ``is_rest`` : whether it
    is all that is left, so that its last record may be cut short; others end with their record.
    """

    content: bytes
    lines_before: int = 0
    is_first: bool = True
    is_rest: bool = True


def read_pieces(path: str, cut: Cut) -> Generator[Piece, None, None]:
    """Yield the pieces of a file, one at least; a gzip file (by its name) is unpacked.

    Raises DataError if it cannot be read or unpacked to its end.
    """
    with file_errors(path):
        is_packed = path.lower().endswith(".gz")
        opened: Any = gzip.open(path) if is_packed else open_bytes(path)
    with opened as file:
        yield from _cut(file, path, cut)


def _cut(file: IO[bytes], path: str, cut: Cut) -> Iterator[Piece]:
    rest, lines, first, size, taken = b"", 0, True, PIECE_BYTES, 0
    while True:
        with file_errors(path):
            content = rest + _read(file, size)
        taken += len(content) - len(rest)
        note_position(path, file, taken)
        if len(content) == len(rest):
            break
        end = _end(content, cut, first)
        if end == 0:
            rest, size = content, max(size, len(content))
            continue
        piece = Piece(content[:end], lines, first, is_rest=False)
        rest, first, size = content[end:], False, PIECE_BYTES
        del content
        lines += count_lines(piece.content)
        yield piece
    if rest or first:
        yield Piece(rest, lines, first)


def _read(file: IO[bytes], size: int) -> bytes:
    """Return about as many bytes, never the first half of a CR LF alone."""
    content = file.read(size)
    while content.endswith(b"\r") and (more := file.read(1)):
        content += more
    return content


def _end(content: bytes, cut: Cut, first: bool) -> int:
    if not first:
        return cut(content)
    # A quote behind a byte order mark opens the first cell.
    begin = len(content) - len(trimmed(content))
    end = begin + cut(content[begin:])
    return end if content[begin:end].strip(_BLANKS) else 0


def file_errors(path: str) -> AbstractContextManager[None]:
    """Turn the errors of reading and unpacking ``path`` into a DataError."""
    return replacing(EOFError, zlib.error, OSError, ValueError, by=partial(_fault_of, path))


def _fault_of(path: str, error: Exception) -> DataError:
    if isinstance(error, FileNotFoundError):
        if is_there(path):  # a pattern, then
            return DataError(
                f"{path!r} names files of text, of which this command reads one: join them, or "
                "name Parquet files by the pattern."
            )
        return DataError(f"No such file: {path}.")
    if isinstance(error, (EOFError, zlib.error, gzip.BadGzipFile)):
        return DataError(f"{path}: not a whole gzip file; it may be cut short.")
    reason = getattr(error, "strerror", None) or "not a path"
    return DataError(f"Cannot read {path!r}: {reason}.")
