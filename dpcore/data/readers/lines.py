"""The lines of delimited text that are a record by themselves: what dropping bad rows leaves.

A quoted cell may run over line ends, so that one line with an open quote takes the lines behind it
into its cell: its change moves them all. Where bad rows map to no row, a record is therefore one
line, ended by LF, CR LF or CR, and its fate is a function of its own bytes: the table of a file is
the concatenation of its lines' tables, and one line more is at most one row more.
"""

from __future__ import annotations

import re

from dpcore.data.readers.records import count_lines
from dpcore.errors import DataError

__all__ = [
    "BYTE_ORDER_MARK",
    "compile_lines",
    "first_line",
    "is_plain",
    "trimmed",
    "utf8_lines",
    "whole_lines",
]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST = 2**30
"""No line of as many bytes is a record: two fit a block of Arrow's, whatever else the file has."""


def is_plain(content: bytes, quote: str | None) -> bool:
    """Return whether the text can be parsed as it is: each line of it is a record."""
    quoted = quote is not None and quote.encode() in content
    return not quoted and BYTE_ORDER_MARK not in content and len(content) < _LONGEST


def utf8_lines(
    content: bytes,
    source: str,
    *,
    drop: bool = False,
    header: bool = False,
    lines_before: int = 0,
) -> bytes:
    """Return the text, with those lines left empty under ``drop`` that are not UTF-8.

    Otherwise, or where ``header`` says that the first line names the columns and it is not, raises
    DataError with the line; ``lines_before`` lines of the file stand before the text. Text is UTF-8
    if each line of it is: no other character holds the byte of a line end.
    """
    fault = _not_utf8(content)
    if fault is None:
        return content
    if drop and not (header and _not_utf8(first_line(content)[0]) is not None):
        lines = content.splitlines()
        return b"\n".join([*(b"" if _not_utf8(line) is not None else line for line in lines), b""])
    line = lines_before + count_lines(content[:fault]) + 1
    raise DataError(f"{source}, line {line}: the bytes are not UTF-8; save the file as UTF-8.")


def _not_utf8(content: bytes) -> int | None:
    """Return the place of the first byte that is not UTF-8."""
    try:
        content.isascii() or content.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def trimmed(content: bytes) -> bytes:
    """Return the text without byte order marks and empty lines at its start."""
    while content.startswith((BYTE_ORDER_MARK, b"\r", b"\n")):
        content = content.removeprefix(BYTE_ORDER_MARK).lstrip(b"\r\n")
    return content


def first_line(content: bytes) -> tuple[bytes, bytes]:
    """Return the first line that is not empty, without its end, and all that follows it."""
    content = trimmed(content)
    end = re.search(rb"[\r\n]", content)
    return (content, b"") if end is None else (content[: end.start()], content[end.end() :])


def whole_lines(content: bytes, width: int, separator: str, quote: str | None) -> bytes:
    """Return the lines of ``width`` cells whose quotes all close, with one kind of line end.

    A byte order mark before a line is no part of it.
    """
    comma, mark = separator.encode(), (quote or "").encode()
    record = _record(width, comma, mark) if mark else None
    kept = []
    for line in content.splitlines():
        while line.startswith(BYTE_ORDER_MARK):
            line = line.removeprefix(BYTE_ORDER_MARK)
        if not line or len(line) >= _LONGEST:
            continue
        if record is not None and mark in line:
            fits = record.fullmatch(line) is not None
        else:
            fits = line.count(comma) == width - 1
        if fits:
            kept.append(line)
    return b"\n".join([*kept, b""])


def compile_lines(width: int, separator: str, quote: str | None) -> None:
    """Compile the pattern of such lines, whether or not a text needs it (``compile_records``)."""
    if quote:
        _record(width, separator.encode(), quote.encode())


def _record(width: int, comma: bytes, mark: bytes) -> re.Pattern[bytes]:
    """Return the pattern of what Arrow takes for ``width`` cells: a quote opens at the start of a
    cell only, two within are one of its text, and what follows the closing one is text up to the
    next separator."""
    c, q = re.escape(comma), re.escape(mark)
    cell = rb"(?:%b[^%b]*(?:%b%b[^%b]*)*%b(?!%b)|(?!%b))[^%b]*" % (q, q, q, q, q, q, q, q, c)
    return re.compile(rb"%b(?:%b%b){%d}" % (cell, c, cell, width - 1))
