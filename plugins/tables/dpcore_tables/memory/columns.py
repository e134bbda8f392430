"""Lists, columns and labels in memory, by the type that they declare.

An array or a frame's column of a type is taken at its word. What declares none (a list, an array or
a column of objects) is looked at cell by cell: see ``dpcore_tables.cells.typed``.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from dpcore.errors import DataError, replacing
from dpcore.plugin.columns import Notation
from dpcore.plugin.readers import ArraySource
from dpcore_tables.cells.objects import as_objects, object_numbers
from dpcore_tables.cells.typed import Cells

__all__ = [
    "labels_of",
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
    ArraySource(source).require_no_mask(X, "X")
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
    return ArraySource(source).two_dimensional(array, hasattr(X, "dtype"))


def labels_of(y: Any, source: str, n_rows: int) -> Cells:
    """Return a 1-D array, series or list of ``n_rows`` labels as the cells of one column.

    Raises DataError for anything else.
    """
    of_source = ArraySource(source)
    of_source.require_no_mask(y, "y")
    unread = of_source.no_labels(y)
    with replacing(pa.ArrowException, TypeError, ValueError, by=lambda _: unread):
        if isinstance(y, (pa.Array, pa.ChunkedArray)) or streams(y):
            cells: Cells = pa.chunked_array([y] if isinstance(y, pa.Array) else y)
        else:
            cells = typed_cells(y) if hasattr(y, "dtype") else as_objects(y)
    of_source.require_one_each(len(cells), n_rows)
    return cells


def streams(y: Any) -> bool:
    """Return whether labels are a column of Arrow, as one of polars is; pandas has its own way."""
    return hasattr(y, "__arrow_c_stream__") and not hasattr(y, "iloc")


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
