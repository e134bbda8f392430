"""The plain numbers of a column as its features, by the column's kind, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from dpcore.data.cells.unit import binary_log, hats, scale_to_unit
from dpcore.data.schema.columns import (
    Binned,
    Boolean,
    Categorical,
    Date,
    FeatureColumn,
    Hashed,
    Numeric,
    Ordinal,
    Piecewise,
    Unbounded,
)
from dpcore.data.schema.crosses import Crossed
from dpcore.data.schema.dates import EPOCH

__all__ = ["crossed_codes", "features_of", "plain_fill"]

_Number: TypeAlias = Numeric | Unbounded | Piecewise | Binned | Ordinal | Boolean | Date


def features_of(column: FeatureColumn, values: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return what rows hold of each of the column's ``parts``: float64 in [0, 1] of shape (n_rows,)
    or (n_rows, n_features), new arrays; or int codes of shape (n_rows,), -1 for no level; or, where
    bounds are still to be released, the values as they are.

    ``values`` : of the column's cells, as ``dpcore.data.cells.readings`` makes them. Where it is
    NaN, the cell is empty: it is the column's fill, or all features are 0 but for the indicator.
    """
    if isinstance(column, (Categorical, Hashed)):
        return (values,)
    if isinstance(column, Binned):
        return (_bins(column, values),)
    empty = np.isnan(values)
    indicator = (empty.astype(np.float64),) if column.indicator else ()
    if isinstance(column, Unbounded):
        return values, *indicator
    filled = np.where(empty, plain_fill(column), values) if empty.any() else values
    unit = _unit(column, filled)
    if column.fill is None:
        unit[empty] = 0.0
    if not isinstance(column, Date):
        return unit, *indicator
    none = empty if column.fill is None else np.zeros_like(empty)
    parts = (np.where(none, -1, _calendar(column, key, filled)) for key in column.calendar)
    return unit, *indicator, *parts


def crossed_codes(cross: Crossed, values: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return each row's combination of the levels of a cross's columns, -1 for none: int64."""
    levels = [_level(column, values[column.name]) for column in cross.columns]
    code, known = np.zeros_like(levels[0]), np.ones(len(levels[0]), dtype=bool)
    for level, n_levels in zip(levels, cross.levels, strict=True):
        known &= level >= 0
        code = code * n_levels + level
    return np.where(known, code, -1)


def _level(column: FeatureColumn, values: np.ndarray) -> np.ndarray:
    """Return the level of each row, the last for an empty cell that has one, -1 for none."""
    if isinstance(column, (Categorical, Hashed)):
        return values.astype(np.int64)
    if isinstance(column, Binned):
        return _bins(column, values)
    empty = np.isnan(values)
    level = np.where(empty, plain_fill(column), values).astype(np.int64)
    if column.indicator:
        level[empty] = len(column.levels)
    return level


def plain_fill(column: _Number) -> float:
    """Return the plain number that an empty cell counts as: any, where it has no fill."""
    if column.fill is None:
        return 0.0 if column.bounds is None else column.bounds[0]
    if isinstance(column, Ordinal):
        return float(column.levels.index(column.fill))
    if isinstance(column, Date):
        return float(column.fill.toordinal() - EPOCH)
    return float(column.fill)


def _unit(column: Numeric | Piecewise | Ordinal | Boolean | Date, values: np.ndarray) -> np.ndarray:
    if isinstance(column, Piecewise):
        return hats(values, column.knots)
    lower, upper = column.bounds
    if isinstance(column, Numeric) and column.scale == "log":
        values = binary_log(np.clip(values, lower, upper))
        lower, upper = binary_log(np.array([lower, upper])).tolist()
    return scale_to_unit(values, lower, upper)


def _bins(column: Binned, values: np.ndarray) -> np.ndarray:
    empty = np.isnan(values)
    bins = np.searchsorted(column.bins, np.where(empty, plain_fill(column), values), side="right")
    if column.indicator:
        bins[empty] = len(column.levels)
    return bins


def _calendar(column: Date, key: str, days: np.ndarray) -> np.ndarray:
    """Return the level of each whole day (since 1970-01-01, a Thursday) in a part of the date."""
    if key == "weekday":
        return (days.astype(np.int64) + 3) % 7
    if key == "year":
        days = np.clip(days, *column.bounds)
    dates = days.astype(np.int64).view("datetime64[D]")
    if key == "month":
        return dates.astype("datetime64[M]").astype(np.int64) % 12
    return dates.astype("datetime64[Y]").astype(np.int64) + 1970 - column.lower.year
