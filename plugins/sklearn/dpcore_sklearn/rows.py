"""Rows and labels as scikit-learn hands them over, checked without a value in any message.

scikit-learn's own checks quote cells and the number of rows, so none of them reads a row here.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import validate_data

from dpcore.errors import DataError, InvalidInputError, replacing
from dpcore_tables.memory.columns import real_matrix, streams, typed_cells
from dpcore_tables.memory.frames import frame_cells, frame_names, frame_of, is_frame

if TYPE_CHECKING:
    from dpcore_tables.cells.typed import Cells

__all__ = [
    "called_of",
    "classes_in",
    "columns_of",
    "given_labels",
    "given_rows",
    "names_of",
    "require_ids",
    "sample_weight_of",
    "without_ids",
]

_MOST_CLASSES = 1000
_MANY = f"The labels are of more than {_MOST_CLASSES:,} classes; PrivateRidge predicts numbers."
_CONTINUOUS = (
    "Unknown label type: continuous. A number with a fraction is no class; PrivateRidge predicts "
    "numbers."
)
_COLUMN_VECTOR = "A column-vector y was passed when a 1d array was expected: pass y.ravel()."
_NO_NUMBER = (
    "X has a cell that is NaN, infinite, empty or no number. Leave rows without a value out, or "
    "say what one counts as: PublicScaler(fill=...) before, or a schema with fill = VALUE or "
    "indicator = true. A fitted estimator's model_, as in clf.model_.predict(X), leaves such rows "
    "without a score."
)


def given_rows(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    named: bool,
    takes_sparse: bool,
    takes_empty: bool,
    unit: str | None = None,
) -> Any:
    """Return a frame, of pandas or Arrow, if ``named``, and anything else as a matrix of numbers.

    ``reset`` : whether the estimator is to take over width and names; otherwise they are compared.
    ``takes_empty`` : whether a schema says what becomes of a cell without a finite number.
    ``unit`` : the column of ids, which counts neither in the width nor among the names.
    Raises DataError for anything else, and TypeError for a cell that is neither text nor number.
    """
    if named and is_frame(frame := frame_of(X)):
        rows = frame
    elif sparse.issparse(X) and takes_sparse:
        rows = X
    else:
        rows = _matrix(X, takes_empty)
    validate_data(estimator, without_ids(X, unit), reset=reset, skip_check_array=True)
    return rows


def without_ids(X: Any, unit: str | None) -> Any:
    """Return a frame without the column of ids, and other rows, or a frame without one, as they
    are."""
    if unit is None or not (hasattr(X, "iloc") or hasattr(X, "select")):
        return X
    names = X.column_names if isinstance(X, (pa.Table, pa.RecordBatch)) else list(X.columns)
    if unit not in names:
        return X
    others = [name for name in names if name != unit]
    return X[others] if hasattr(X, "iloc") else X.select(others)


def require_ids(rows: Any, unit: str | None) -> None:
    """Raise InvalidInputError for rows without the column of ids that there has to be."""
    if unit is not None and not (is_frame(rows) and unit in names_of(rows)):
        raise InvalidInputError(
            f"X is no frame with the column {unit!r} of ids. Steps before the estimator have to "
            f"hand it on: ColumnTransformer([..., ('id', 'passthrough', [{unit!r}])], "
            "verbose_feature_names_out=False).set_output(transform='pandas')."
        )


def given_labels(y: Any, who: str) -> Any:
    """Return labels as one column; DataError if there are none, or more columns."""
    if y is None:
        raise DataError(f"{who} requires y to be passed, but the target y is None.")
    y = _arrow_labels(y)
    if isinstance(y, pa.ChunkedArray):
        return y
    labels = y if hasattr(y, "dtype") else np.asarray(y, dtype=object)
    if getattr(labels.dtype, "kind", "") == "c":
        raise DataError("Complex data not supported: y holds complex numbers.")
    if labels.ndim == 2 and labels.shape[1] == 1:
        warnings.warn(_COLUMN_VECTOR, DataConversionWarning, stacklevel=3)
        labels = np.asanyarray(labels).reshape(-1)  # A mask stays, and is refused.
    if labels.ndim != 1:
        raise DataError(f"Expected y of 1 dimension, found {labels.ndim}.")
    return labels


def _arrow_labels(y: Any) -> Any:
    """Return labels of Arrow or polars as a column of Arrow, and others as they are."""
    if hasattr(y, "columns") and streams(y):
        frame = frame_of(y)
        if frame.num_columns != 1:
            raise DataError("Expected y of 1 dimension, found 2.")
        warnings.warn(_COLUMN_VECTOR, DataConversionWarning, stacklevel=4)
        return frame.column(0)
    if isinstance(y, pa.Array):
        return pa.chunked_array([y])
    return pa.chunked_array(y) if streams(y) else y


def classes_in(labels: Any) -> list[Any]:
    """Return the classes of labels, read off the rows, in ascending order.

    Raises DataError, which says that there are too few or too many, and never which.
    """
    mixed = DataError("The labels are of several types, or one of them is missing.")
    with replacing(TypeError, by=lambda _: mixed):
        values = np.unique(np.asarray(labels))
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise DataError("A label is NaN or infinite.")
        if not np.array_equal(values, np.floor(values)):
            raise DataError(_CONTINUOUS)
    if values.size > _MOST_CLASSES:
        raise DataError(_MANY)
    if values.size < 2:
        raise DataError(
            f"Two classes are needed; there is {'one class' if values.size else 'none'}."
        )
    return list(values.tolist())


def called_of(labels: Any) -> str:
    """Return the name of labels that are a named column, and "y" for others."""
    name = getattr(labels, "name", None)
    return name if isinstance(name, str) and name.strip() else "y"


def names_of(X: Any) -> list[str]:
    """Return the names of a frame's columns, or of an array's: x1, x2, ..."""
    frame = frame_of(X)
    if is_frame(frame):
        return frame_names(frame)
    return [f"x{j + 1}" for j in range(_two_dimensional(X).shape[1])]


def columns_of(X: Any) -> list[Cells]:
    """Return the columns of a frame or an array, each of the type that it declares."""
    frame = frame_of(X)
    if is_frame(frame):
        return [frame_cells(frame, j) for j in range(frame.shape[1])]
    return [typed_cells(column) for column in _two_dimensional(X).T]


def _matrix(X: Any, takes_empty: bool) -> np.ndarray:
    """Return a 2-D array as float64; each cell of a list is read by itself."""
    array = _two_dimensional(X)
    numbers = real_matrix(array, "X")
    if not (takes_empty or np.isfinite(numbers).all()):
        if array.dtype == object and not all(map(_is_scalar, array.flat)):
            raise TypeError("X: each argument must be a string or a number, and a cell is neither.")
        raise DataError(_NO_NUMBER)
    return numbers


def _two_dimensional(X: Any) -> np.ndarray:
    if sparse.issparse(X):
        raise DataError(
            "Sparse rows cannot be mapped to bounds: zeros would not stay zeros. Pass X.toarray(), "
            "or, to an estimator, a schema with a width and a row_norm."
        )
    ragged = DataError("X is no table: its rows are of several lengths.")
    with replacing(TypeError, ValueError, by=lambda _: ragged):
        # Of a list NumPy would make text of all cells if one is: as objects, each is what it is.
        array = np.asanyarray(X, dtype=None if hasattr(X, "dtype") else object)
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: X holds complex numbers.")
    if array.ndim != 2:
        raise DataError(
            f"Expected X of 2 dimensions, found {array.ndim}. Reshape your data: X.reshape(-1, 1) "
            "is one column, X.reshape(1, -1) one row."
        )
    if array.shape[1] == 0:
        raise DataError("X has no columns.")
    return array


def _is_scalar(cell: Any) -> bool:
    return cell is None or isinstance(cell, (str, bytes)) or hasattr(cell, "__float__")


def sample_weight_of(metadata: Mapping[str, Any]) -> Any:
    """Return the weights of rows, if some came with them; TypeError for anything else."""
    for name in metadata:
        if name != "sample_weight":
            raise TypeError(f"fit() got an unexpected keyword argument {name!r}")
    return metadata.get("sample_weight")
