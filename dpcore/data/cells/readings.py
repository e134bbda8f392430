"""The cells of a column as plain numbers, by the column's kind: each is a function of that cell, of
the schema and of the declared type of the column (``dpcore.data.cells.typed``)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from dpcore.data.cells.typed import Cells, UnreadTypeError, empty_cells, to_codes, to_numbers
from dpcore.data.cells.unit import scale_to_unit
from dpcore.data.cells.vocabulary import ABSENT, UNKNOWN
from dpcore.data.schema.columns import Categorical, FeatureColumn, Label
from dpcore.errors import DataError

__all__ = ["NO_NUMBER", "Reading", "convert_column", "is_empty"]

NO_NUMBER = (
    "the cell is not a finite number (if it is a word for no value, list it in missing = [...] of "
    "the schema)"
)

Reading = tuple[np.ndarray, np.ndarray | None, str]
"""Cells as numbers, which of them are faults (bool or None), and the reason.

The numbers of a numeric column are float64, NaN where the cell is empty and the schema says what
becomes of it; those of a column of levels are int32, the level's position, -1 for none.
"""


def convert_column(
    cells: Cells, column: FeatureColumn | Label, missing: tuple[str, ...], source: str
) -> Reading:
    """Return the reading of a column; DataError for a type that has none."""
    try:
        if isinstance(column, Label):
            return _label(cells, column, missing)
        if isinstance(column, Categorical):
            return _levels(cells, column, missing), None, ""
        numbers = to_numbers(cells, missing)
        return numbers, _faults(numbers, cells, column, missing), NO_NUMBER
    except UnreadTypeError as error:
        raise DataError(f"{source}: column {column.name!r} {error}") from None
    except (pa.ArrowException, UnicodeError) as error:
        raise DataError(
            f"{source}: column {column.name!r} cannot be read as {column.kind} "
            f"({type(error).__name__})."
        ) from None


def is_empty(cells: Cells, row: int, missing: tuple[str, ...]) -> bool:
    """Return whether a cell holds no value."""
    one = cells[row : row + 1] if isinstance(cells, np.ndarray) else cells.slice(row, 1)
    return bool(empty_cells(one, missing)[0])


def _faults(
    numbers: np.ndarray, cells: Cells, column: FeatureColumn, missing: tuple[str, ...]
) -> np.ndarray:
    """Return which cells are no finite numbers, but for empty ones that the schema provides for."""
    bad = ~np.isfinite(numbers)
    if (column.indicator or column.fill is not None) and bad.any():
        bad &= ~empty_cells(cells, missing)
    return np.asarray(bad)


def _levels(cells: Cells, column: Categorical, missing: tuple[str, ...]) -> np.ndarray:
    """Return each cell's level: that of an empty cell is the fill's, or the last, or none."""
    codes = to_codes(cells, column.categories, missing)
    unknown, codes = codes < 0, np.maximum(codes, UNKNOWN)
    if column.fill is not None:
        codes[unknown & empty_cells(cells, missing)] = column.categories.index(column.fill)
    elif column.indicator:
        codes[unknown & empty_cells(cells, missing)] = len(column.categories)
    return np.asarray(codes)


def _label(cells: Cells, column: Label, missing: tuple[str, ...]) -> Reading:
    if column.lower is not None and column.upper is not None:
        numbers = to_numbers(cells, missing)
        y = 2.0 * scale_to_unit(numbers, column.lower, column.upper) - 1.0
        return y, ~np.isfinite(numbers), "the label is not a finite number"
    codes = to_codes(cells, column.negative + column.positive, missing)
    y = np.where(codes < len(column.negative), -1.0, 1.0)
    if column.negative:
        return y, codes < 0, "the label is not one of the schema's classes"
    y[codes < 0] = -1.0
    return y, codes == ABSENT, "the label is missing"
