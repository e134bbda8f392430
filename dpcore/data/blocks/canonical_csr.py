"""Sparse rows in one form, whatever form they have: for a sum of duplicates in one order."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DataError, replacing

if TYPE_CHECKING:
    from scipy.sparse import coo_matrix, csr_matrix

__all__ = ["canonical_csr", "misfit"]


def canonical_csr(X: Any, source: str) -> csr_matrix:
    """Return sparse rows as a float64 CSR copy with ascending indices and no duplicates.

    Duplicates are added in the order of their values, so that what a row becomes does not depend on
    the order in which it or any other row is stored: SciPy sorts all rows, and not stably, where
    one of them is not sorted.

    Raises DataError for parts that do not fit together.
    """
    from scipy.sparse import csr_matrix

    if X.dtype.kind not in "buif":
        raise DataError(f"{source}: X does not hold real numbers.")
    if X.shape[1] == 0:
        raise DataError(f"{source}: X has no columns.")
    with replacing(TypeError, ValueError, OverflowError, by=partial(misfit, source)):
        if X.format == "csr":
            X = csr_matrix((_float64(X.data), X.indices, X.indptr), shape=X.shape)
            X.check_format(full_check=True)
            if X.has_canonical_format:
                X = csr_matrix((X.data, X.indices.copy(), X.indptr.copy()), X.shape)
                X.eliminate_zeros()
                return X
        entries = X.tocoo()
    with np.errstate(over="ignore", invalid="ignore"):
        return _without_duplicates(entries)


def misfit(source: str, error: Exception) -> DataError:
    """Return the error of a sparse matrix whose parts gave SciPy's."""
    return DataError(f"{source}: the parts of a CSR matrix do not fit together.")


def _float64(values: np.ndarray) -> np.ndarray:
    """Return a copy as float64, without the sign of a zero, which a sum has not either."""
    with np.errstate(over="ignore"):
        return values.astype(np.float64) + 0.0


def _without_duplicates(entries: coo_matrix) -> csr_matrix:
    from scipy.sparse import csr_matrix

    values = _float64(entries.data)
    order = np.lexsort((values, entries.col, entries.row))
    row, col, values = entries.row[order], entries.col[order], values[order]
    first = np.ones(values.size, dtype=bool)
    first[1:] = (row[1:] != row[:-1]) | (col[1:] != col[:-1])
    if not first.all():
        values = np.bincount(np.cumsum(first) - 1, weights=values)  # One after the other.
    indptr = np.r_[0, np.cumsum(np.bincount(row[first], minlength=entries.shape[0]))]
    rows = csr_matrix((values, col[first], indptr), shape=entries.shape)
    rows.eliminate_zeros()  # Some formats store those of a row for the sake of another.
    return rows
