"""Rows scaled down to a public l2 norm: any finite magnitude, no overflow, no statistic of others.

The result is a function of each row alone. Its norm is at most ``row_norm`` up to the rounding of
float64; ``Table`` truncates it to the feature grid and verifies the bound in integers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from dpcore.data.schema.schema import Schema

__all__ = ["describe_scaling", "longer_rows", "scale_rows"]

_JUST_BELOW_ONE = 1.0 - 2.0**-50
_CHUNK_CELLS = 2**22


def scale_rows(
    X: np.ndarray | csr_matrix, row_norm: float, *, intercept: bool
) -> np.ndarray | csr_matrix:
    """Return rows of l2 norm at most ``row_norm``; a row within it keeps its values.

    ``X`` : finite float64 of shape (n_rows, width), dense or CSR. With ``intercept`` a last column
    of ones is appended first, so that it is scaled with its row. Dense in gives dense in C order.
    """
    if isinstance(X, np.ndarray):
        return _scale_dense(X, row_norm, intercept)
    return _scale_sparse(X, row_norm, intercept)


def describe_scaling(schema: Schema) -> str:
    """Return what becomes of the length of rows, as a sentence of public facts."""
    how = "Columns are encoded by their bounds and categories"
    if schema.width is None and schema.row_norm >= schema.raw_norm_bound:
        longest = len(schema.features) + schema.intercept
        return f"{how}: no row is longer than sqrt({longest}), and none is scaled down."
    scale, norm = schema.feature_scale, f"row_norm={schema.row_norm!r}"
    if scale != 1.0:
        power = round(-math.log2(scale))
        how = f"Features and row_norm={schema.norm!r} are divided by 2^{power}"
        norm = repr(schema.row_norm)
    elif schema.width is not None:
        how = "Features are used as they are, without bounds"
    with_one = " (the intercept's 1 included)" if schema.intercept else ""
    return (
        f"{how}; rows longer than {norm}{with_one} are scaled down to it: the public claim; how "
        "many is private."
    )


def _scale_dense(X: np.ndarray, row_norm: float, intercept: bool) -> np.ndarray:
    n_rows, width = X.shape
    out = np.empty((n_rows, width + intercept))
    out[:, :width] = X
    out[:, width:] = 1.0
    step = max(1, _CHUNK_CELLS // out.shape[1])
    for begin in range(0, n_rows, step):
        rows = out[begin : begin + step]
        largest = np.abs(rows).max(axis=1)
        unit = rows / np.where(largest > 0, largest, 1.0)[:, None]
        root = _norms(np.square(unit).ravel(), np.repeat(np.arange(len(rows)), rows.shape[1]))
        over = _is_over(largest, root, row_norm)
        rows[over] = unit[over] * _shrunk(root[over], row_norm)[:, None]
    return out


def longer_rows(X: np.ndarray | csr_matrix, row_norm: float, *, intercept: bool) -> np.ndarray:
    """Return which rows ``scale_rows`` scales down, bool of shape (n_rows,). X : as there."""
    from scipy.sparse import csr_matrix

    rows = _with_intercept(X if not isinstance(X, np.ndarray) else csr_matrix(X), intercept)
    _, _, largest, _, root = _measured(rows)
    return _is_over(largest, root, row_norm)


def _scale_sparse(X: csr_matrix, row_norm: float, intercept: bool) -> csr_matrix:
    X = _with_intercept(X, intercept)
    data, row_of, largest, unit, root = _measured(X)
    over = _is_over(largest, root, row_norm)
    factor = _shrunk(np.where(over, root, 1.0), row_norm)
    data = np.where(over[row_of], unit * factor[row_of], data)
    return type(X)((data, X.indices, X.indptr), shape=X.shape)


def _with_intercept(X: csr_matrix, intercept: bool) -> csr_matrix:
    n_rows, width = X.shape
    indptr, indices, data = X.indptr, X.indices, X.data.astype(np.float64)
    if intercept:
        indptr = X.indptr + np.arange(n_rows + 1, dtype=X.indptr.dtype)
        ones_at = X.indptr[1:]
        data = np.insert(data, ones_at, 1.0)
        indices = np.insert(indices, ones_at, width)
    return type(X)((data, indices, indptr), shape=(n_rows, width + intercept))


def _measured(X: csr_matrix) -> tuple[np.ndarray, ...]:
    """Return the stored values, the row of each, each row's largest size, the values over it, and
    the norm of these."""
    n_rows, data = X.shape[0], X.data
    row_of = np.repeat(np.arange(n_rows), np.diff(X.indptr))
    largest = np.zeros(n_rows)
    np.maximum.at(largest, row_of, np.abs(data))
    unit = data / np.where(largest > 0, largest, 1.0)[row_of]
    return data, row_of, largest, unit, _norms(np.square(unit), row_of, n_rows)


def _norms(squares: np.ndarray, row_of: np.ndarray, n_rows: int = 0) -> np.ndarray:
    """bincount adds one after the other: the same bits for dense and sparse, alone or in company,
    where ``sum`` pairs up differently with the shape of the array."""
    return np.sqrt(np.bincount(row_of, squares, n_rows))


def _is_over(largest: np.ndarray, root: np.ndarray, row_norm: float) -> np.ndarray:
    """Whether largest * root > row_norm, where the product itself may overflow."""
    with np.errstate(over="ignore"):
        return root * (largest / row_norm) > 1.0


def _shrunk(root: np.ndarray, row_norm: float) -> np.ndarray:
    return row_norm / root * _JUST_BELOW_ONE
