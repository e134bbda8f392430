"""The beginnings and ends of the records of delimited text.

A quote opens only at the start of a cell, two within are one of its text, and what follows the
closing one is text up to the next separator (as Arrow reads it). A line end within quotes is part
of the cell; LF, CR LF and CR end a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

__all__ = ["compile_records", "count_lines", "records", "whole_records"]

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
        return re.compile(rb"[^\r\n]*+")
    cell = _cell_pattern(separator, quote)
    return re.compile(rb"%b(?:%b%b)*+" % (cell, re.escape(separator.encode()), cell))


def _cell_pattern(separator: str, quote: str) -> bytes:
    c, q = re.escape(separator.encode()), re.escape(quote.encode())
    return rb"(?:%b[^%b]*+(?:%b%b[^%b]*+)*+%b|(?!%b))[^%b\r\n]*+" % (q, q, q, q, q, q, q, c)
