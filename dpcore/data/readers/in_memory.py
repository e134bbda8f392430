"""Matrices, columns and labels in memory, by the type that they declare.

An array or a frame's column of a type is taken at its word. What declares none (a list, an array or
a column of objects) is looked at cell by cell: see ``dpcore.data.cells.typed``.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpcore.data.cells.objects import as_objects, object_numbers
from dpcore.data.cells.typed import Cells
from dpcore.data.schema.notation import Notation
from dpcore.errors import DataError, replacing

if TYPE_CHECKING:
    from scipy.sparse import coo_matrix, csr_matrix

__all__ = [
    "canonical_csr",
    "is_sparse",
    "labels_of",
    "misfit",
    "real_array",
    "real_matrix",
    "streams",
    "typed_cells",
]

_FRAME = "; text, categories and dates need a frame and a schema"


def real_matrix(X: Any, source: str) -> np.ndarray:
    """Return a 2-D array of real numbers as float64, NaN for objects that are no number.

    Raises DataError for anything else.
    """
    return real_array(X, source).astype(np.float64, order="C", copy=False)


def real_array(X: Any, source: str) -> np.ndarray:
    """Return ``real_matrix`` in the order and the type that the numbers have, where float64 holds
    that type: of a whole array a copy takes as much memory again, or eight times as much."""
    _require_no_mask(X, f"{source}: X")
    unreal = DataError(f"{source}: X does not hold real numbers{_FRAME}.")
    with replacing(TypeError, ValueError, by=lambda _: unreal):
        array = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
        if array.dtype.kind not in "buifO":
            raise unreal
        if array.dtype == object:
            array = object_numbers(array, Notation(missing=()))
        if array.dtype.itemsize > np.dtype(np.float64).itemsize:
            # A long double above float64's range becomes infinite, and is refused as that.
            with np.errstate(over="ignore"):
                array = array.astype(np.float64)
    if array.ndim != 2:
        known = "X.reshape(-1, 1) is one column" if hasattr(X, "dtype") else "rows need one length"
        remedy = f" ({known})" if array.ndim == 1 else ""
        raise DataError(
            f"{source}: expected X of 2 dimensions, rows and columns, found {array.ndim}{remedy}."
        )
    if array.shape[1] == 0:
        raise DataError(f"{source}: X has no columns.")
    return array


def is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix or array of SciPy. Whoever has made one has imported it;
    for other rows it is not imported here, which would take longer than most of what a command
    does."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


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
    counts = np.bincount(row[first], minlength=entries.shape[0])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    rows = csr_matrix((values, col[first], indptr), shape=entries.shape)
    rows.eliminate_zeros()  # Some formats store those of a row for the sake of another.
    return rows


def labels_of(y: Any, source: str, n_rows: int) -> Cells:
    """Return a 1-D array, series or list of ``n_rows`` labels as the cells of one column.

    Raises DataError for anything else.
    """
    _require_no_mask(y, f"{source}: y")
    column = ": y.ravel() makes one of a column" if getattr(y, "ndim", 1) == 2 else ""
    no_labels = DataError(f"{source}: y is not a one-dimensional array of labels{column}.")
    with replacing(pa.ArrowException, TypeError, ValueError, by=lambda _: no_labels):
        if isinstance(y, (pa.Array, pa.ChunkedArray)) or streams(y):
            cells: Cells = pa.chunked_array([y] if isinstance(y, pa.Array) else y)
        else:
            cells = typed_cells(y) if hasattr(y, "dtype") else as_objects(y)
    if len(cells) != n_rows:
        raise DataError(f"{source}: the number of labels is not the number of rows.")
    return cells


def streams(y: Any) -> bool:
    """Return whether labels are a column of Arrow, as one of polars is; pandas has its own way."""
    return hasattr(y, "__arrow_c_stream__") and not hasattr(y, "iloc")


def _require_no_mask(array: Any, name: str) -> None:
    """Refuse a type whose cells may hold no value, since NumPy would hand out what is below."""
    if isinstance(array, np.ma.MaskedArray):
        raise DataError(
            f"{name} is a masked array, and a masked cell has no value: fill it, "
            "X.filled(value), or leave its row out."
        )


def typed_cells(column: Any) -> Cells:
    """Return the cells of a 1-D NumPy array or pandas column, index or categorical.

    Raises TypeError, ValueError or ArrowException for an array that holds neither text nor numbers.
    """
    if column.ndim != 1:
        raise ValueError("a column has one dimension")
    categories = getattr(column.dtype, "categories", None)
    declared = column.dtype if categories is None else categories.dtype
    if isinstance(declared, np.dtype) and declared.hasobject:
        return np.asarray(column, dtype=object)
    # Arrow has no long double, and none of pandas' sparse types.
    if isinstance(declared, np.dtype) and declared.char == "g" or hasattr(declared, "fill_value"):
        with np.errstate(over="ignore"):
            column = np.asarray(column, dtype=np.float64)
    with suppress(UnicodeError):
        cells = pa.array(column, from_pandas=True)
        return cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells])
    # A text that is none in UTF-8: the others are what they are.
    return np.asarray(column, dtype=object)
