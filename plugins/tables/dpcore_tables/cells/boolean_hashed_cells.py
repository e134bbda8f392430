"""Cells as truth values and as buckets of a hash, by the declared type of their column."""

from __future__ import annotations

import functools
from contextlib import suppress

import numpy as np
import pyarrow as pa

from dpcore.plugin.columns import Notation, transforms
from dpcore_tables.cells.objects import float_of, is_missing_object, is_number, text_of
from dpcore_tables.cells.typed import Cells, UnreadTypeError, by_text, is_text, to_numbers

__all__ = ["to_buckets", "to_parsed", "to_truth"]


def to_truth(cells: Cells, notation: Notation) -> np.ndarray:
    """Return 1 for true and 0 for false, float64, NaN for what is neither."""
    if isinstance(cells, np.ndarray):
        found = (_truth_of(cell, notation) for cell in cells)
        return np.fromiter(found, np.float64, len(cells))
    kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    if is_text(kind) or pa.types.is_null(kind):
        return by_text(cells, lambda word: _truth_of(word, notation))
    numbers = to_numbers(cells, notation)
    return np.where((numbers == 0) | (numbers == 1), numbers, np.nan)


def _truth_of(cell: object, notation: Notation) -> float:
    if isinstance(cell, (str, bytes)):
        word = text_of(cell).strip()
        return (
            np.nan if word in notation.missing else transforms.Truth.WORDS.get(word.lower(), np.nan)
        )
    if isinstance(cell, (bool, np.bool_)):
        return float_of(cell)
    if is_missing_object(cell, notation) or not is_number(cell):
        return np.nan
    return float_of(cell) if float_of(cell) in (0.0, 1.0) else np.nan


def to_buckets(cells: Cells, hash: transforms.Hash, notation: Notation) -> np.ndarray:
    """Return each cell's bucket, int32, -1 for a word that means no value, and for what is no text,
    or no finite number where the column's cells are numbers."""
    if hash.numbers:
        return _of_numbers(to_numbers(cells, notation), hash)

    @functools.cache
    def bucket(word: str) -> float:
        return np.nan if word.strip() in notation.empty else float(hash.bucket(word))

    if isinstance(cells, np.ndarray):
        found = (bucket(text_of(c)) if isinstance(c, (str, bytes)) else np.nan for c in cells)
        buckets = np.fromiter(found, np.float64, len(cells))
    else:
        kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
        if not (is_text(kind) or pa.types.is_null(kind)):
            raise UnreadTypeError(
                f"is of type {kind}, and its kind is hashed: one odd cell decides what type a "
                "program gives a column, and with it the text of every cell. Set numbers = true if "
                "its cells are numbers, or keep the column as text (pandas: dtype=str)."
            )
        buckets = by_text(cells, bucket)
    return np.where(np.isnan(buckets), -1.0, buckets).astype(np.int32)


def _of_numbers(numbers: np.ndarray, hash: transforms.Hash) -> np.ndarray:
    """Return the buckets of numbers, each distinct one hashed once."""
    distinct, place = np.unique(numbers, return_inverse=True)
    buckets = [hash.bucket(x) if np.isfinite(x) else -1 for x in distinct.tolist()]
    return np.array(buckets, dtype=np.int32)[place.reshape(-1)]


def to_parsed(
    cells: Cells, reading: transforms.Parsed, kind: str, notation: Notation
) -> np.ndarray:
    """Return what the reading's function makes of each cell's text, float64, NaN for none: for a
    word that means no value, and for what is no text."""

    @functools.cache
    def number(word: str) -> float:
        word = word.strip()
        # An error of somebody's own function may quote the cell: it is a fault like any other.
        with suppress(Exception):
            found = None if word in notation.empty else reading.of(word)
            return np.nan if found is None else float(found)
        return np.nan

    if isinstance(cells, np.ndarray):
        found = (number(text_of(c)) if isinstance(c, (str, bytes)) else np.nan for c in cells)
        return np.fromiter(found, np.float64, len(cells))
    type = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    if not (is_text(type) or pa.types.is_null(type)):
        raise UnreadTypeError(
            f"is of type {type}, and its kind is {kind}, which reads text: keep the column as text "
            "(pandas: dtype=str)."
        )
    return by_text(cells, number)
