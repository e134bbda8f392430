"""The beginnings and ends of the records of delimited text.

A quote opens only at the start of a cell, two within are one of its text, and what follows the
closing one is text up to the next separator (as Arrow reads it). A line end within quotes is part
of the cell; LF, CR LF and CR end a line.

Where bad rows map to no row, a record is a line by itself: a quoted cell may run over line ends, so
that one line with an open quote takes the lines behind it into its cell, and its change moves them
all. So a line's fate is a function of its own bytes there: the table of a file is the concatenation
of its lines' tables, and one line more is at most one row more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from dpcore.errors import DataError

__all__ = [
    "BYTE_ORDER_MARK",
    "compile_lines",
    "compile_records",
    "count_lines",
    "first_line",
    "is_plain",
    "records",
    "trimmed",
    "utf8_lines",
    "whole_lines",
    "whole_records",
]

_LINE_END = re.compile(rb"\r\n|\r|\n")


def count_lines(content: bytes) -> int:
    """Return the number of line ends; CR LF is one."""
    returns = content.count(b"\r")
    pairs = content.count(b"\r\n") if returns else 0
    return content.count(b"\n") + returns - pairs


def whole_records(content: bytes, separator: str, quote: str | None) -> int:
    """Return where the last record begins whose end is not in ``content``, or its length.

    ``content`` begins with a record. ``quote`` : None where every line is a record by itself.
    """
    if quote is None or quote.encode() not in content:
        return _last_line_end(content, len(content)) + 1
    text = np.frombuffer(content, dtype=np.uint8)
    quotes = np.flatnonzero(text == ord(quote))
    starts = _starts_of_cells(text, quotes, separator)
    if not _by_turns(quotes, starts):
        return _walk(content, quotes[starts], _record(separator, quote))
    at = _last_line_end(content, len(content))
    while at >= 0 and (before := int(np.searchsorted(quotes, at))) % 2 == 1:
        at = _last_line_end(content, int(quotes[before - 1]))
    return at + 1


def records(content: bytes, separator: str, quote: str | None) -> Iterator[tuple[int, int]]:
    """Yield the first line (from 1) and the number of cells of every record that is not blank."""
    at, line = 0, 1
    record = _record(separator, quote)
    cell = None if quote is None else _cell(separator, quote)
    while at < len(content):
        match = record.match(content, at)
        if match is None or content[match.end() : match.end() + 1] not in (b"", b"\r", b"\n"):
            return
        text = match[0]
        if text:
            yield line, _n_cells(text, separator, quote, cell)
        ending = _LINE_END.match(content, match.end())
        at = len(content) if ending is None else ending.end()
        line += count_lines(text) + 1


def _starts_of_cells(text: np.ndarray, quotes: np.ndarray, separator: str) -> np.ndarray:
    """Return which quotes are where a cell may start: no other opens a cell."""
    before = text[quotes - 1]
    starts = (before == ord(separator)) | (before == ord("\n")) | (before == ord("\r"))
    starts[0] |= quotes[0] == 0
    return np.asarray(starts)


def _by_turns(quotes: np.ndarray, starts: np.ndarray) -> bool:
    """Return whether quotes open and close by turns: every second one starts a cell, or goes on
    with one as the second of a doubled quote."""
    opens = starts[::2].copy()
    opens[1:] |= quotes[2::2] == quotes[1:-1:2] + 1
    return bool(opens.all())


def _walk(content: bytes, opening: np.ndarray, record: re.Pattern[bytes]) -> int:
    """Return what ``whole_records`` does, from one line with a quote that may open a cell
    (``opening``: the places of such quotes) to the next."""
    at, k = 0, 0
    while k < opening.size:
        start = max(at, _last_line_end(content, int(opening[k]), at) + 1)
        match = record.match(content, start)
        ending = None if match is None else _LINE_END.match(content, match.end())
        if ending is None:
            return start
        at = ending.end()
        k = int(np.searchsorted(opening, at))
    return max(at, _last_line_end(content, len(content), at) + 1)


def _last_line_end(content: bytes, end: int, start: int = 0) -> int:
    """Return the place of the last line end before ``end``, -1 for none."""
    line_feed = content.rfind(b"\n", start, end)
    return max(line_feed, content.rfind(b"\r", max(start, line_feed + 1), end))


def _n_cells(text: bytes, separator: str, quote: str | None, cell: re.Pattern[bytes] | None) -> int:
    if cell is None or quote is None or quote.encode() not in text:
        return text.count(separator.encode()) + 1
    at = n = 0
    while at <= len(text):
        match = cell.match(text, at)
        at = len(text) + 1 if match is None else match.end() + 1
        n += 1
    return n


def compile_records(separator: str, quote: str | None) -> None:
    """Compile the patterns of such records, whether or not a text needs them: Python keeps what it
    has compiled, which would tell of a row with a quote."""
    _record(separator, quote)
    if quote is not None:
        _cell(separator, quote)


def _cell(separator: str, quote: str) -> re.Pattern[bytes]:
    return re.compile(_cell_pattern(separator, quote))


def _record(separator: str, quote: str | None) -> re.Pattern[bytes]:
    if quote is None:
        return re.compile(rb"[^\r\n]*")
    cell = _cell_pattern(separator, quote)
    return re.compile(rb"%b(?:%b%b)*" % (cell, re.escape(separator.encode()), cell))


def _cell_pattern(separator: str, quote: str) -> bytes:
    c, q = re.escape(separator.encode()), re.escape(quote.encode())
    return rb"(?:%b[^%b]*(?:%b%b[^%b]*)*%b(?!%b)|(?!%b))[^%b\r\n]*" % (q, q, q, q, q, q, q, q, c)


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
    encoding: str = "utf-8",
) -> bytes:
    """Return the text, with those lines left empty under ``drop`` that are not UTF-8.

    Otherwise, or where ``header`` says that the first line names the columns and it is not, raises
    DataError with the line; ``lines_before`` lines of the file stand before the text. ``encoding``
    : of the file, for the message: the text was made of it. Text is UTF-8
    if each line of it is: no other character holds the byte of a line end.
    """
    fault = _not_utf8(content)
    if fault is None:
        return content
    if drop and not (header and _not_utf8(first_line(content)[0]) is not None):
        lines = content.splitlines()
        return b"\n".join([*(b"" if _not_utf8(line) is not None else line for line in lines), b""])
    line = lines_before + count_lines(content[:fault]) + 1
    if encoding != "utf-8":
        raise DataError(f"{source}, line {line}: a byte is no letter of {encoding}.")
    raise DataError(
        f"{source}, line {line}: the bytes are not UTF-8; save the file as UTF-8, or let the "
        'schema say encoding = "cp1252", or whatever it is: --encoding of dpcore schema, for a '
        "template, and of dpcore predict."
    )


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
    record = _line_record(width, comma, mark) if mark else None
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
        _line_record(width, separator.encode(), quote.encode())


def _line_record(width: int, comma: bytes, mark: bytes) -> re.Pattern[bytes]:
    """Return the pattern of what Arrow takes for ``width`` cells: a quote opens at the start of a
    cell only, two within are one of its text, and what follows the closing one is text up to the
    next separator."""
    c, q = re.escape(comma), re.escape(mark)
    cell = rb"(?:%b[^%b]*(?:%b%b[^%b]*)*%b(?!%b)|(?!%b))[^%b]*" % (q, q, q, q, q, q, q, q, c)
    return re.compile(rb"%b(?:%b%b){%d}" % (cell, c, cell, width - 1))
