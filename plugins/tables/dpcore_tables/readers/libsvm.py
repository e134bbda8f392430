"""LIBSVM text: ``label index:value ...`` a line, indices from 1 and ascending, ``#`` comments."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_matrix

from dpcore.errors import DataError
from dpcore.plugin.columns import Notation
from dpcore_tables.raw.raw_matrix import RawMatrix
from dpcore_tables.raw.reader import ReadFacts
from dpcore_tables.readers.pieces import Piece, read_pieces
from dpcore_tables.readers.records import utf8_lines, whole_records

__all__ = ["open_libsvm", "LibsvmFile", "read_libsvm"]

_BLANK = np.zeros(256, dtype=bool)
_BLANK[list(b" \t\n")] = True
_COMMENT = re.compile(rb"#[^\n]*")
_INDEX = r"^[0-9]{1,18}$"
_PAIR = re.compile(rb"([0-9]{1,18}):(.*)")
_NUMBER = Notation().pattern
_VALUE = re.compile(_NUMBER.encode())


class LibsvmFile:
    """A file of LIBSVM text, read in pieces; see ``read_libsvm``."""

    def __init__(self, path: str, width: int, *, drop: bool = False) -> None:
        self._path = path
        self._width = width
        self._drop = drop

    def names(self) -> list[str]:
        """Return no names: the columns have none."""
        return []

    def pieces(self) -> Iterator[RawMatrix]:
        """Yield the rows, a piece of the file at a time, one at least."""
        for piece in self._pieces():
            yield read_libsvm(
                piece.content,
                self._path,
                self._width,
                drop=self._drop,
                lines_before=piece.lines_before,
            )

    def check(self) -> None:
        """Raise the DataError that comes first where the file is read as one piece: bytes that
        are no text before malformed lines, wherever they are."""
        if self._drop:
            return
        for piece in self._pieces():
            utf8_lines(piece.content, self._path, lines_before=piece.lines_before)
        for _ in self.pieces():
            pass

    def _pieces(self) -> Iterator[Piece]:
        return read_pieces(self._path, partial(whole_records, separator=" ", quote=None))


def open_libsvm(source: str, facts: ReadFacts) -> LibsvmFile:
    """Return the file of LIBSVM text."""
    return LibsvmFile(source, facts.schema.width or 0, drop=facts.drop)


def read_libsvm(
    content: bytes, source: str, width: int, *, drop: bool = False, lines_before: int = 0
) -> RawMatrix:
    """Return the rows of LIBSVM text; ``width`` is the public number of features.

    The labels are text; ``lines_before`` lines of the source come before the text. ``drop`` leaves
    out malformed lines; otherwise the first one raises DataError with its line and what is wrong:
    an index below 1, above ``width`` or not above the one before, or anything that is not UTF-8 or
    not ``index:value`` with a finite value.
    """
    text = utf8_lines(content, source, drop=drop, lines_before=lines_before)
    content = _without_comments(text)
    parsed = _parse(content, width)
    if parsed is None:
        content = _checked_lines(content, source, width, drop, lines_before)
        parsed = _parse(content, width)
        if parsed is None:
            raise DataError(f"{source}: cannot be read as LIBSVM text.")
    X, labels, lines = parsed
    return RawMatrix(X, labels, source, lambda row: f"line {lines_before + int(lines[row])}")


def _without_comments(content: bytes) -> bytes:
    content = content.replace(b"\r\n", b"\n").translate(bytes.maketrans(b"\r\f\v", b"\n  "))
    return _COMMENT.sub(b"", content)


def _parse(content: bytes, width: int) -> tuple[csr_matrix, pa.ChunkedArray, np.ndarray] | None:
    """Return rows, labels and line numbers, or None if any line is not as it should be."""
    text = np.frombuffer(content, dtype=np.uint8)
    inside = ~_BLANK[text]
    starts = np.flatnonzero(inside & ~np.concatenate([[False], inside[:-1]]))
    token_of = np.cumsum(np.bincount(starts, minlength=len(text)))[text == ord(":")] - 1
    if token_of.size and token_of.min() < 0:
        return None
    colons = np.bincount(token_of, minlength=len(starts))
    line_of = np.searchsorted(np.flatnonzero(text == ord("\n")), starts)
    is_label = np.diff(line_of, prepend=-1) > 0
    if not np.array_equal(colons, (~is_label).astype(colons.dtype)):
        return None
    words = content.replace(b":", b" ").split()
    if len(words) != len(starts) + token_of.size:
        return None
    first = np.arange(len(starts)) + np.cumsum(colons) - colons
    try:
        tokens = pa.array(words, pa.binary()).cast(pa.string())
        indices = _matching(tokens.take(pa.array(first[~is_label])), _INDEX, pa.int64())
        values = _matching(tokens.take(pa.array(first[~is_label] + 1)), _NUMBER, pa.float64())
    except pa.ArrowInvalid:
        return None
    row_of = (np.cumsum(is_label) - 1)[~is_label]
    ascending = (np.diff(indices) > 0) | (np.diff(row_of) > 0)
    in_range = indices.size == 0 or (indices.min() >= 1 and indices.max() <= width)
    if not (in_range and ascending.all() and np.isfinite(values).all()):
        return None
    counts = np.bincount(row_of, minlength=int(is_label.sum()))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    X = csr_matrix((values, (indices - 1).astype(np.int32), indptr), (len(counts), width))
    labels = tokens.take(pa.array(first[is_label]))
    return X, pa.chunked_array([labels]), line_of[is_label] + 1


def _matching(tokens: pa.StringArray, pattern: str, kind: pa.DataType) -> np.ndarray:
    """Return the tokens as numbers; ArrowInvalid unless every one matches. The pattern keeps out
    what Arrow would take and a line by itself would not (hexadecimal): a line's fate is its own."""
    if not pc.all(pc.match_substring_regex(tokens, pattern), min_count=0).as_py():
        raise pa.ArrowInvalid("a token is not a number")
    return np.asarray(tokens.cast(kind).to_numpy(zero_copy_only=False))


def _checked_lines(content: bytes, source: str, width: int, drop: bool, lines_before: int) -> bytes:
    """Return the text with malformed lines blanked, or raise DataError for the first of them."""
    lines = content.split(b"\n")
    for i, line in enumerate(lines):
        reason = _fault(line, width)
        if reason is not None:
            if not drop:
                raise DataError(f"{source}, line {lines_before + i + 1}: {reason}.")
            lines[i] = b""
    return b"\n".join(lines)


def _fault(line: bytes, width: int) -> str | None:
    words = line.split()
    if not words:
        return None
    if b":" in words[0]:
        return "the label is missing or malformed"
    before = 0
    for word in words[1:]:
        pair = _PAIR.fullmatch(word)
        if pair is None or _VALUE.fullmatch(pair[2]) is None:
            return "expected index:value with a number"
        index = int(pair[1])
        if not 1 <= index <= width:
            return f"an index is outside 1..{width}"
        if index <= before:
            return "indices do not ascend"
        before = index
        if not math.isfinite(float(pair[2])):
            return "a value is not a finite number"
    return None
