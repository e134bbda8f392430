"""A text file in pieces of whole records, unpacked as it is read; every failure is a DataError."""

from __future__ import annotations

import gzip
import os
import stat
import sys
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

import pyarrow as pa

from dpcore.errors import DataError, replacing
from dpcore_tables.files.input_paths import STDIN, is_there
from dpcore_tables.files.read_progress import listener
from dpcore_tables.readers.code_pages import UTF_8, to_utf8
from dpcore_tables.readers.records import count_lines, trimmed

__all__ = [
    "PIECE_BYTES",
    "Cut",
    "Piece",
    "arrow_reader",
    "file_errors",
    "note_share",
    "open_bytes",
    "read_bytes",
    "read_pieces",
    "require_readable",
]

PIECE_BYTES = 2**20
"""How much is read at a time. No row and no message depends on it."""

_ERRORS = (EOFError, zlib.error, OSError, ValueError)
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


def read_pieces(path: str, cut: Cut, encoding: str = UTF_8) -> Generator[Piece, None, None]:
    """Yield the pieces of a file as UTF-8, one at least; a gzip file (by its name) is unpacked.

    Raises DataError if it cannot be read or unpacked to its end.
    """
    unpacked = gzip.open if path.lower().endswith(".gz") else open_bytes
    opened: Any = _tried(path, partial(unpacked, path))
    with opened as file:
        yield from _cut(file, path, cut, encoding)


def _cut(file: IO[bytes], path: str, cut: Cut, encoding: str) -> Iterator[Piece]:
    rest, lines, first, size, taken = b"", 0, True, PIECE_BYTES, 0
    while True:
        read = _tried(path, partial(_read, file, size))
        taken += len(read)
        content = rest + to_utf8(read, encoding)
        _note_position(path, file, taken)
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


def _tried(path: str, act: Callable[[], Any]) -> Any:
    """Return what an act on a file returns; DataError where it cannot be read."""
    try:
        return act()
    except _ERRORS as error:
        caught = error
    fault = _fault_of(path, caught)
    del caught  # Its text may quote the file: neither context nor a local variable.
    raise fault


def file_errors(path: str) -> AbstractContextManager[None]:
    """Turn the errors of reading and unpacking ``path`` into a DataError."""
    return replacing(*_ERRORS, by=partial(_fault_of, path))


def require_readable(path: str) -> None:
    """Raise DataError for a file that is not there, or that may not be read, before a library opens
    it that does not say which."""
    with file_errors(path), open(path, "rb"):
        pass


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


def open_bytes(path: str) -> AbstractContextManager[IO[bytes]]:
    """Open a file for reading bytes, or hand out standard input, which stays open. Raises OSError
    or ValueError."""
    return nullcontext(sys.stdin.buffer) if path == STDIN else open(path, "rb")


def read_bytes(path: str) -> bytes:
    """Return the content of a file; a gzip file (by its name) is unpacked.

    Raises DataError if it cannot be read or unpacked to its end.
    """
    with file_errors(path):
        with open_bytes(path) as file:
            content = file.read()
        return gzip.decompress(content) if path.lower().endswith(".gz") else content


def arrow_reader(content: bytes) -> pa.BufferReader:
    """Return a reader of a copy that belongs to Arrow alone.

    Arrow's threads let go of what they read after the reader has returned. Letting go of Python's
    bytes takes Python's lock, and a thread that asks for it while the process ends, ends in an
    abort (apache/arrow issue 34314).
    """
    buffer = pa.allocate_buffer(len(content))
    with pa.FixedSizeBufferWriter(buffer) as writer:
        writer.write(content)
    return pa.BufferReader(buffer)


def _note_position(path: str, file: IO[bytes], taken: int) -> None:
    """Tell where an open file is read, a packed one in its packed bytes; of what has no place, how
    many bytes were ``taken`` from it."""
    on_bytes = listener()
    if on_bytes is None:
        return
    done, total = taken, None
    try:
        number = file.fileno()
        state = os.fstat(number)
        if stat.S_ISREG(state.st_mode):
            done, total = os.lseek(number, 0, os.SEEK_CUR), state.st_size
    except (OSError, ValueError):
        pass
    on_bytes(path, done, total)


def note_share(path: str, files: Sequence[str], place: int, share: float) -> None:
    """Tell how much is read of several files, one after the other: all before ``place``, and a
    share of that one."""
    on_bytes = listener()
    if on_bytes is None:
        return
    try:
        sizes = [os.path.getsize(name) for name in files[: place + 1]]
        total = sum(sizes) + sum(os.path.getsize(name) for name in files[place + 1 :])
    except OSError:  # Whoever opens it says what is wrong.
        return
    on_bytes(path, sum(sizes[:place]) + int(share * sizes[place]), total)
