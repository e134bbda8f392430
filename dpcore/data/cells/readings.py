"""The cells of a column as plain numbers, by the column's kind: each is a function of that cell, of
the schema and of the declared type of the column (``dpcore.data.cells.typed``)."""

from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np
import pyarrow as pa

from dpcore.data.cells.dates import to_days
from dpcore.data.cells.typed import (
    Cells,
    UnreadTypeError,
    empty_cells,
    to_codes,
    to_numbers,
)
from dpcore.data.cells.unit import held_to, scale_to_unit
from dpcore.data.cells.vocabulary import ABSENT, UNKNOWN
from dpcore.data.cells.words import to_buckets, to_truth
from dpcore.data.schema.columns import (
    Boolean,
    Categorical,
    Date,
    FeatureColumn,
    Hashed,
    Label,
    Ordinal,
)
from dpcore.data.schema.notation import Notation
from dpcore.errors import DataError, replacing

__all__ = ["Reading", "are_labels", "convert_column", "number_of", "unread_told"]

_NO_NUMBER = (
    "the cell is not a finite number (if it is a word for no value, list it in missing = [...] of "
    "the column or of the schema)"
)
_NO_TRUTH = (
    "the cell is no truth value, such as true, yes or 1 (other words are categories or levels)"
)
_FORMAT = 'format = "%d.%m.%Y", or the like, in the column\'s schema says how dates are written'
_MOST_SHOWN = 8

Reading = tuple[np.ndarray, np.ndarray | None, str]
"""Cells as numbers, which of them are faults (bool or None), and the reason.

Those of categories and buckets are int32, the level's position, -1 for none. All others are
float64: a number, the position of an ordinal level, 0 or 1 for false or true, the days of a date
since 1970-01-01; NaN where the cell is empty and the schema says what becomes of it.
"""


def convert_column(
    cells: Cells, column: FeatureColumn | Label, notation: Notation, source: str
) -> Reading:
    """Return the reading of a column; DataError for a type that has none.

    ``notation`` : the table's, to which the column adds its own words for no value.
    """
    notation = notation.with_words(column.missing)
    of = f" as {column.kind}: it is of type {getattr(cells, 'type', 'object')}"
    with unread_told(source, column.name, of):
        if isinstance(column, Label):
            return _label(cells, column, notation)
        if isinstance(column, (Categorical, Hashed)):
            return _levels(cells, column, notation), None, ""
        numbers, reason = _numbers(cells, column, notation)
        bad = ~np.isfinite(numbers)
        if (column.indicator or column.fill is not None) and bad.any():
            bad &= ~empty_cells(cells, notation)
        return numbers, bad, reason


def unread_told(source: str, name: str, of: str = "") -> AbstractContextManager[None]:
    """Turn what a block raises of a column whose type or bytes it cannot read into a DataError.
    ``of`` : more of the sentence."""

    def told(error: Exception) -> DataError:
        if isinstance(error, UnreadTypeError):
            return DataError(f"{source}: column {name!r} {error}")
        return DataError(f"{source}: column {name!r} cannot be read{of} ({type(error).__name__}).")

    return replacing(UnreadTypeError, pa.ArrowException, UnicodeError, by=told)


def _numbers(cells: Cells, column: FeatureColumn, notation: Notation) -> tuple[np.ndarray, str]:
    """Return plain numbers, NaN for what is none, and the reason that it is none."""
    if isinstance(column, Ordinal):
        levels = to_codes(cells, column.levels, notation)
        return np.where(levels < 0, np.nan, levels), "the cell is none of the levels"
    if isinstance(column, Boolean):
        return to_truth(cells, notation), _NO_TRUTH
    if isinstance(column, Date):
        said = f"{column.format}, the column's format in the schema"
        written = f"2024-02-29; {_FORMAT}" if column.format is None else said
        reason = f"the cell is no date that is written as {written}"
        return to_days(cells, column, notation), reason
    return to_numbers(cells, notation), _NO_NUMBER


def _levels(cells: Cells, column: Categorical | Hashed, notation: Notation) -> np.ndarray:
    """Return each cell's level: that of an empty cell is the fill's, or the last, or none."""
    if isinstance(column, Hashed):
        codes, last = to_buckets(cells, column, notation), column.buckets
        fill = None if column.fill is None else column.bucket(column.fill)
    else:
        codes, last = to_codes(cells, column.categories, notation), len(column.categories)
        fill = None if column.fill is None else column.categories.index(column.fill)
    unknown, codes = codes < 0, np.maximum(codes, UNKNOWN)
    level = last if column.indicator else fill
    if level is not None:
        codes[unknown & empty_cells(cells, notation)] = level
    return np.asarray(codes)


def _no_class(column: Label) -> str:
    """Return why a label is none, with the public classes."""
    values = column.values
    shown = [*map(repr, values[:_MOST_SHOWN]), *(["..."] if len(values) > _MOST_SHOWN else [])]
    return (
        f"the label is not one of the classes {', '.join(shown)}, which `classes` sets: list it "
        "there, or let a schema's `other` name a class for all other values"
    )


def target_of(column: Label, numbers: np.ndarray) -> np.ndarray:
    """Return a real-valued target between its bounds as [-1, 1]; as it is while it waits for
    them."""
    if column.lower is None or column.upper is None:
        return numbers
    return 2.0 * scale_to_unit(numbers, column.lower, column.upper) - 1.0


def number_of(column: Label, scaled: np.ndarray) -> np.ndarray:
    """Return what ``target_of`` maps to these values in the target's own unit, between its bounds,
    where a prediction is held too."""
    middle, half = column.scale
    return held_to(middle + half * scaled, *column.bounds)


def are_labels(column: Label, y: np.ndarray) -> np.ndarray:
    """Return which numbers are labels as rows hold them, bool."""
    if column.is_real:
        return np.asarray(np.abs(y) <= 1)
    return np.isin(y, column.labels_at(np.arange(column.n_classes)))


def _label(cells: Cells, column: Label, notation: Notation) -> Reading:
    if column.is_real:
        numbers = to_numbers(cells, notation)
        return target_of(column, numbers), ~np.isfinite(numbers), "the label is not a finite number"
    codes = to_codes(cells, column.values, notation)
    classes = np.repeat(np.arange(column.n_classes), [len(values) for values in column.classes])
    others = column.place_of_others
    y = column.labels_at(np.where(codes < 0, others or 0, classes[np.maximum(codes, 0)]))
    if others is None:
        return y, codes < 0, _no_class(column)
    missing = (
        "the label is missing, or no number" if column.takes_numbers else "the label is missing"
    )
    return y, codes == ABSENT, missing
