"""The plain numbers of a column as its features, by the column's kind, row by row."""

from __future__ import annotations

import numpy as np

from dpcore.data.cells.unit import scale_to_unit
from dpcore.data.schema.columns import Categorical, FeatureColumn

__all__ = ["features_of"]


def features_of(column: FeatureColumn, values: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return what rows hold of each of the column's ``parts``: float64 in [0, 1] of shape (n_rows,)
    or (n_rows, n_features), new arrays; or the codes as they are, -1 for no level.

    ``values`` : of the column's cells, as ``dpcore.data.cells.readings`` makes them.
    """
    if isinstance(column, Categorical):
        return (values,)
    if column.fill is None and not column.indicator:
        return (scale_to_unit(values, column.lower, column.upper),)
    empty = np.isnan(values)
    filled = np.where(empty, column.lower if column.fill is None else column.fill, values)
    unit = scale_to_unit(filled, column.lower, column.upper)
    if not column.indicator:
        return (unit,)
    if column.fill is None:
        unit[empty] = 0.0
    return (unit, empty.astype(np.float64))
