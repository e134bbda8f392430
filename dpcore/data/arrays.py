"""Rows that are already in memory: NumPy, SciPy CSR, and pandas frames with a schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from scipy import sparse

from dpcore.data.conform import conform
from dpcore.data.dataset import Dataset, width_schema
from dpcore.data.encode import encode
from dpcore.data.raw_matrix import RawMatrix, conform_matrix
from dpcore.data.raw_table import RawTable, check_names
from dpcore.data.readers.npz import canonical_csr, labels_of, real_matrix
from dpcore.data.schema import Schema
from dpcore.errors import DataError, InvalidInputError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["dataset_from_arrays", "features_from_arrays"]

_SOURCE = "the array"
_FRAME = "the frame"


def dataset_from_arrays(
    X: Any,
    y: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    bounds: Sequence[float] | None = None,
    row_norm: float | None = None,
    schema: Schema | None = None,
    intercept: bool = True,
    n0: int | None = None,
    capacity: int | None = None,
) -> Dataset:
    """Return the data set of rows in memory.

    Parameters
    ----------
    X : real numbers, 2-D or SciPy sparse, whose width is the caller's public claim; or, with a
        ``schema`` of named columns, a pandas frame.
    y : labels, one per row; for a frame, ``None`` if the label is one of its columns.
    classes : the (negative, positive) values of the label, each one value or a list; by default
        (-1, 1). Never read off ``y``.
    bounds : (lower, upper) of a real-valued target, instead of ``classes``.
    row_norm : public l2 bound that rows are scaled down to, the intercept's 1 included; default 1.
    schema : replaces all of the other options.

    Raises DataError (row numbers are for the owner's eyes) for values that are not finite, labels
    outside the classes, no columns; InvalidInputError for options that do not fit.
    """
    if schema is not None:
        options = {"classes": classes, "bounds": bounds, "row_norm": row_norm, "n0": n0}
        options["capacity"] = capacity
        given = [name for name, value in options.items() if value is not None]
        if given:
            raise InvalidInputError(f"Expected {given[0]} to be left to the schema.")
        if schema.width is None:
            return _from_frame(X, y, schema)
    elif _is_frame(X):
        raise InvalidInputError("A pandas frame needs a schema of its columns.")
    matrix = _matrix(X)
    if schema is None:
        schema = width_schema(
            matrix.shape[1],
            classes=classes,
            bounds=bounds,
            row_norm=1.0 if row_norm is None else row_norm,
            intercept=intercept,
            rows=n0,
            capacity=capacity,
        )
    if y is None:
        raise InvalidInputError("Expected y, the labels of the rows of X.")
    raw = RawMatrix(matrix, labels_of(y, _SOURCE), _SOURCE, _row)
    return Dataset.from_rows("array", conform_matrix(raw, schema), schema, "array")


def features_from_arrays(X: Any, schema: Schema) -> Any:
    """Return feature rows as ``dataset_from_arrays`` makes them, without labels (prediction)."""
    if schema.width is None:
        return encode(conform(_table(X, None, schema, False), schema, labelled=False), schema)[0]
    return conform_matrix(RawMatrix(_matrix(X), None, _SOURCE, _row), schema, labelled=False)[0]


def _from_frame(X: Any, y: Any, schema: Schema) -> Dataset:
    rows = encode(conform(_table(X, y, schema, True), schema), schema)
    return Dataset.from_rows("frame", rows, schema, "array")


def _table(X: Any, y: Any, schema: Schema, labelled: bool) -> RawTable:
    """Return a frame's columns by name; ``y``, where given, stands for the label column."""
    if not _is_frame(X):
        raise InvalidInputError("A schema with named columns needs a pandas frame.")
    label = schema.label.name
    names = [str(name) for name in X.columns]
    if y is not None and label in names:
        raise InvalidInputError(f"The label {label!r} is a column of the frame: leave y out.")
    wanted = check_names(names, schema, _FRAME, labelled and y is None)
    columns = {}
    for name in wanted:
        series = X.iloc[:, names.index(name)]
        columns[name] = _arrow(series, name)
    if y is not None:
        columns[label] = labels_of(y, _FRAME)
        if len(columns[label]) != len(X):
            raise DataError(f"{_FRAME}: the number of labels is not the number of rows.")
    return RawTable(columns, len(X), _FRAME, _row)


def _arrow(series: Any, name: str) -> pa.ChunkedArray:
    try:
        array = pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise DataError(f"{_FRAME}: column {name!r} mixes types.") from None
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _matrix(X: Any) -> np.ndarray | sparse.csr_matrix:
    if sparse.issparse(X):
        return canonical_csr(X.tocsr(), _SOURCE)
    return real_matrix(X, _SOURCE)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "columns")


def _row(row: int) -> str:
    return f"row {row + 1}"
