"""Columns to feature rows by the schema alone: the same function when training and predicting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.data.blocks.coded import CodedLayout, CodedRows
from dpcore.data.cells.unit import scale_to_unit
from dpcore.data.schema.columns import Categorical, Numeric
from dpcore.exact.grid import FEATURE_BITS

if TYPE_CHECKING:
    from dpcore.data.cells.conform import Columns
    from dpcore.data.schema.schema import Schema

__all__ = ["coded_layout", "encode"]


def encode(columns: Columns, schema: Schema) -> tuple[np.ndarray | CodedRows, np.ndarray | None]:
    """Return the feature rows and the labels of ``columns``.

    Returns
    -------
    X : of shape (n_rows, n_features), in [0, 1], truncated to the feature grid: coded rows if the
        schema has categorical columns, dense float64 in C order otherwise. The intercept, a column
        of ones, is the last.
    y : float64 of shape (n_rows,), or None where the label was not asked for.
    """
    y = columns.values.get(schema.label.name)
    if schema.has_categories:
        return _encode_coded(columns, schema), y
    X = np.empty((columns.n_rows, schema.n_features))
    numeric = (column for column in schema.features if isinstance(column, Numeric))
    for j, column in enumerate(numeric):
        X[:, j] = _on_grid(columns.values[column.name], column)
    if schema.intercept:
        X[:, -1] = 1.0
    return X, y


def _on_grid(values: np.ndarray, column: Numeric) -> np.ndarray:
    """Return ``values`` in [0, 1], truncated in float64: float32 would round to nearest, and up to
    1 at that."""
    unit = scale_to_unit(values, column.lower, column.upper)
    np.ldexp(unit, FEATURE_BITS, out=unit)
    return np.asarray(np.ldexp(np.trunc(unit, out=unit), -FEATURE_BITS, out=unit))


def _encode_coded(columns: Columns, schema: Schema) -> CodedRows:
    """Return a dense cell per number, the intercept too, and a code per categorical column."""
    numeric = [column for column in schema.features if isinstance(column, Numeric)]
    categorical = [column for column in schema.features if isinstance(column, Categorical)]
    layout = coded_layout(schema)
    n_numeric = len(numeric) + schema.intercept
    cells = np.ones((columns.n_rows, n_numeric), dtype=np.float32)
    for j, number in enumerate(numeric):
        cells[:, j] = _on_grid(columns.values[number.name], number)
    codes = np.empty((columns.n_rows, len(categorical)), dtype=layout.code_type)
    start = 0
    for j, column in enumerate(categorical):
        values, unknown = columns.values[column.name], len(column.categories)
        codes[:, j] = start + np.where(values >= 0, values, unknown)
        start += unknown + 1
    return CodedRows(layout, cells, codes)


def coded_layout(schema: Schema) -> CodedLayout:
    """Return the feature that each stored cell of a schema with named columns means."""
    numeric: list[int] = []
    code_features: list[int] = []
    starts: list[int] = []
    at = 0
    for column in schema.features:
        if isinstance(column, Categorical):
            starts.append(len(code_features))
            code_features += [*range(at, at + len(column.categories)), schema.n_features]
            at += len(column.categories)
        else:
            numeric.append(at)
            at += 1
    if schema.intercept:
        numeric.append(schema.n_features - 1)
    return CodedLayout(
        schema.n_features,
        np.array(numeric, dtype=np.int64),
        np.array(code_features, np.int64),
        np.array([*starts, len(code_features)], np.int64),
    )
