"""Cells that are Python objects: each is looked at by itself, whatever type the others have.

A column of objects has no type. Arrow and NumPy would take one from all of its cells: a fraction
among whole numbers, or a decimal longer than the others, would then change them all.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from dpcore.plugin.columns import Notation, Vocabulary, transforms

__all__ = [
    "as_objects",
    "float_of",
    "is_missing_object",
    "is_number",
    "object_codes",
    "object_numbers",
    "text_of",
]


def as_objects(cells: Iterable[Any]) -> np.ndarray:
    """Return the cells as they are, in an object array of shape (n_cells,)."""
    given = list(cells)
    array = np.empty(len(given), dtype=object)
    for i, cell in enumerate(given):
        array[i] = cell
    return array


def object_numbers(cells: np.ndarray, notation: Notation) -> np.ndarray:
    """Return each cell as a number, float64 of the shape of ``cells``, NaN where it is none."""
    numbers = (_number(cell, notation) for cell in cells.flat)
    return np.fromiter(numbers, np.float64, cells.size).reshape(cells.shape)


def object_codes(cells: np.ndarray, vocabulary: Vocabulary) -> np.ndarray:
    """Return each cell's code in the vocabulary, int32 of shape (n_cells,)."""
    codes = np.full(len(cells), transforms.Lookup.UNKNOWN, dtype=np.int32)
    of_text = functools.cache(vocabulary.of_text)
    places: list[int] = []
    numbers: list[float] = []
    for i, cell in enumerate(cells):
        if isinstance(cell, (str, bytes)):
            codes[i] = of_text(text_of(cell))
        elif isinstance(cell, (bool, np.bool_)):
            codes[i] = vocabulary.of_truth(bool(cell))
        elif _is_none(cell):
            codes[i] = transforms.Lookup.ABSENT
        elif is_number(cell):
            places.append(i)
            numbers.append(float_of(cell))
    codes[places] = vocabulary.of_numbers(np.array(numbers))
    return codes


def is_missing_object(cell: Any, notation: Notation) -> bool:
    """Return whether the cell is what Python, NumPy or pandas put where there is no value, a blank
    text, or one of the words or numbers for it."""
    if isinstance(cell, (str, bytes)):
        return text_of(cell).strip() in notation.empty
    return _is_none(cell) or is_number(cell) and notation.means_none(float_of(cell))


def _is_none(cell: Any) -> bool:
    if cell is None or is_number(cell):
        return cell is None or np.isnan(float_of(cell))
    pandas = sys.modules.get("pandas")  # Without it no cell is one of its own.
    return pandas is not None and (cell is pandas.NA or cell is pandas.NaT)


def _number(cell: Any, notation: Notation) -> float:
    if isinstance(cell, (str, bytes)):
        return notation.number(text_of(cell))
    if isinstance(cell, (bool, np.bool_)):
        return float_of(cell)
    return float_of(cell) if not is_missing_object(cell, notation) and is_number(cell) else np.nan


def is_number(cell: Any) -> bool:
    """Return whether the cell is a real number, and no truth value."""
    return isinstance(cell, (Real, Decimal)) and not isinstance(cell, bool)


def float_of(cell: Any) -> float:
    """Return the nearest float64, infinite where there is none, NaN for what says it is none."""
    try:
        return float(cell)
    except OverflowError:
        return np.inf if cell > 0 else -np.inf
    except ValueError:  # A signalling NaN of decimal.
        return np.nan


def text_of(cell: str | bytes) -> str:
    """Return text as it is, and bytes as UTF-8, U+FFFD for what is none."""
    return cell if isinstance(cell, str) else cell.decode("utf-8", "replace")
