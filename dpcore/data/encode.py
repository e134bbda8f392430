"""Columns to feature rows by the schema alone: the same function when training and predicting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.data.columns import Categorical, Numeric

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from dpcore.data.conform import Columns
    from dpcore.data.schema import Schema

__all__ = ["encode", "scale_to_unit"]

_CHUNK_CELLS = 2**22
"""Cells that are laid out at a time (memory: about 16 bytes each)."""


def encode(columns: Columns, schema: Schema) -> tuple[np.ndarray | csr_matrix, np.ndarray | None]:
    """Return the feature rows and the labels of ``columns``.

    Returns
    -------
    X : of shape (n_rows, n_features), float64, in [0, 1]: CSR if the schema has categorical
        columns, dense in C order otherwise. The intercept, a column of ones, is the last.
    y : float64 of shape (n_rows,), or None where the label was not asked for.
    """
    y = columns.values.get(schema.label.name)
    if schema.has_categories:
        return _encode_sparse(columns, schema), y
    X = np.empty((columns.n_rows, schema.n_features))
    numeric = (column for column in schema.features if isinstance(column, Numeric))
    for j, column in enumerate(numeric):
        X[:, j] = scale_to_unit(columns.values[column.name], column.lower, column.upper)
    if schema.intercept:
        X[:, -1] = 1.0
    return X, y


def scale_to_unit(values: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Return ``values`` clamped to the public bounds and mapped to [0, 1]."""
    unit = (np.clip(values, lower, upper) - lower) / (upper - lower)
    return np.clip(unit, 0.0, 1.0)


def _encode_sparse(columns: Columns, schema: Schema) -> csr_matrix:
    """One slot per column and row, numeric or one-hot; slots that hold zero are left out."""
    from scipy.sparse import csr_matrix

    starts, at = [], 0
    for column in schema.features:
        starts.append(at)
        at += len(column.categories) if isinstance(column, Categorical) else 1
    step = max(1, _CHUNK_CELLS // (len(schema.features) + 1))
    parts = [
        _layout(columns, schema, starts, slice(begin, min(begin + step, columns.n_rows)))
        for begin in range(0, columns.n_rows, step)
    ]
    counts = np.concatenate([np.zeros(1, dtype=np.int64), *(part[2] for part in parts)])
    indptr = np.cumsum(counts)
    index_type = np.int32 if indptr[-1] < 2**31 else np.int64
    data = np.concatenate([np.empty(0), *(part[0] for part in parts)])
    indices = np.concatenate([np.empty(0, np.int32), *(part[1] for part in parts)])
    return csr_matrix(
        (data, indices.astype(index_type, copy=False), indptr.astype(index_type)),
        shape=(columns.n_rows, schema.n_features),
    )


def _layout(
    columns: Columns, schema: Schema, starts: list[int], rows: slice
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return data, indices and entries per row of a chunk of rows; indices ascend in each row."""
    shape = (rows.stop - rows.start, len(schema.features) + schema.intercept)
    data = np.ones(shape)
    indices = np.empty(shape, dtype=np.int32)
    for slot, (column, start) in enumerate(zip(schema.features, starts, strict=True)):
        values = columns.values[column.name][rows]
        if isinstance(column, Numeric):
            data[:, slot] = scale_to_unit(values, column.lower, column.upper)
            indices[:, slot] = start
        else:
            data[:, slot] = values >= 0
            indices[:, slot] = start + np.maximum(values, 0)
    if schema.intercept:
        indices[:, -1] = schema.n_features - 1
    used = data != 0.0
    return data[used], indices[used], used.sum(axis=1)
