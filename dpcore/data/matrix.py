"""Matrices of numbers as they come, dense or sparse, and what becomes of them under a schema with a
width."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.data.blocks.canonical_csr import canonical_csr
from dpcore.data.schema.schema import Schema
from dpcore.errors import BadRowError, DataError

if TYPE_CHECKING:
    from dpcore.data.blocks.layouts import Matrix
    from dpcore.data.files import BadRows

__all__ = [
    "are_numbers",
    "conform_matrix",
    "is_sparse",
    "matrix_of",
    "require_no_mask",
    "two_dimensional",
]


def are_numbers(X: Any) -> bool:
    """Return whether X declares that all of its cells are numbers that float64 holds: an array, or
    a sparse matrix, whose own check is ``canonical_csr``'s."""
    is_array = isinstance(X, np.ndarray) and X.dtype.kind in "buif" and X.dtype.itemsize <= 8
    return is_array or is_sparse(X)


def is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix or array of SciPy. Whoever has made one has imported it;
    for other rows it is not imported here, which would take longer than most of what a command
    does."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def matrix_of(X: Any, source: str) -> Matrix:
    """Return what ``are_numbers`` as rows, in the order and the type that its numbers have: of a
    whole array a copy takes as much memory again. Raises DataError for what are no rows."""
    if is_sparse(X):
        return canonical_csr(X, source)
    require_no_mask(X, f"{source}: X")
    return two_dimensional(np.asarray(X), source)


def two_dimensional(array: np.ndarray, source: str, has_type: bool = True) -> np.ndarray:
    """Return an array of rows and columns, one at least; DataError for another shape. ``has_type``
    : whether it came as an array, not as a list."""
    if array.ndim != 2:
        known = "X.reshape(-1, 1) is one column" if has_type else "rows need one length"
        remedy = f" ({known})" if array.ndim == 1 else ""
        raise DataError(
            f"{source}: expected X of 2 dimensions, rows and columns, found {array.ndim}{remedy}."
        )
    if array.shape[1] == 0:
        raise DataError(f"{source}: X has no columns.")
    return array


def require_no_mask(array: Any, name: str) -> None:
    """Refuse a type whose cells may hold no value, since NumPy would hand out what is below."""
    if isinstance(array, np.ma.MaskedArray):
        raise DataError(
            f"{name} is a masked array, and a masked cell has no value: fill it, "
            "X.filled(value), or leave its row out."
        )


def conform_matrix(
    X: Matrix,
    schema: Schema,
    source: str,
    where: Callable[[int], str],
    labels: Callable[[], tuple[np.ndarray, np.ndarray | None, str]] | None = None,
    bad_rows: BadRows = "refuse",
) -> tuple[Matrix, np.ndarray | None, np.ndarray | None]:
    """Return features times the schema's ``feature_scale``, rows scaled down to the row norm with
    the intercept inside it; labels; and which rows were kept, None for all.

    ``X`` : real numbers of shape (n_rows, width), dense, or canonical CSR of float64; ``where(i)``
    says where row ``i`` (from 0) is in the source. ``labels`` : reads those of the rows.

    Raises DataError for a width that is not the schema's, and, unless ``bad_rows`` is ``"drop"``,
    for the first row with a value that is not finite or a label outside the schema's classes.
    """
    from dpcore.data.blocks.layouts import matrix_layout_of

    if X.shape[1] != schema.width:
        raise DataError(f"{source}: {X.shape[1]} feature columns, expected {schema.width}.")
    layout = matrix_layout_of(X)
    bad = ~layout.finite_rows(X)
    reasons = [(bad, "a value is not a finite number")]
    y = kept = None
    if labels is not None:
        y, fault, reason = labels()
        if fault is not None:
            reasons.append((fault, reason))
            bad = bad | fault
    if bad.any():
        if bad_rows != "drop":
            row = int(np.argmax(bad))
            reason = next(text for fault, text in reasons if fault[row])
            raise BadRowError(f"{source}, {where(row)}: {reason}.")
        kept = ~bad
        X, y = X[kept], y if y is None else y[kept]
    if schema.feature_scale != 1.0:
        X = X.astype(np.float64, copy=False) * schema.feature_scale
    return layout.freeze(layout.scale_rows(X, schema.row_norm, schema.intercept)), y, kept
