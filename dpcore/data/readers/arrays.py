"""Rows that are already in memory: NumPy, SciPy CSR, and pandas frames with a schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from scipy import sparse

from dpcore.data.cells.conform import conform
from dpcore.data.cells.encode import encode
from dpcore.data.dataset import Dataset
from dpcore.data.readers.array_columns import array_schema, array_table, leave_to_schema
from dpcore.data.readers.in_memory import canonical_csr, labels_of, real_matrix, typed_cells
from dpcore.data.readers.raw_matrix import RawMatrix, conform_matrix
from dpcore.data.readers.raw_table import RawTable, check_names
from dpcore.data.schema.schema import Schema
from dpcore.errors import DataError, InvalidInputError

if TYPE_CHECKING:
    import numpy as np

    from dpcore.data.cells.typed import Cells

__all__ = ["dataset_from_arrays", "features_from_arrays"]

_SOURCE = "the array"
_FRAME = "the frame"


def dataset_from_arrays(
    X: Any,
    y: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    target_bounds: Sequence[float] | None = None,
    bounds: Sequence[Any] | None = None,
    row_norm: float | None = 1.0,
    schema: Schema | None = None,
    intercept: bool = True,
    n0: int | None = None,
    capacity: int | None = None,
) -> Dataset:
    """Return the data set of rows in memory.

    Parameters
    ----------
    X : real numbers, 2-D or SciPy sparse, whose width is the caller's public claim; or, with a
        ``schema`` of named columns, a pandas frame, or an array if all of them are numeric.
    y : labels, one per row; for a frame, ``None`` if the label is one of its columns.
    classes : the (negative, positive) values of the label, each one value or a list; by default
        (-1, 1). Never read off ``y``.
    target_bounds : (lower, upper) of a real-valued target, instead of ``classes``.
    bounds : public (lower, upper) of the columns, each a number or one per column: cells are
        clamped to them and mapped to [0, 1], as a schema's numeric columns are. Not for sparse X.
    row_norm : public l2 bound that rows are scaled down to, after ``bounds`` and the intercept's 1
        included; ``None`` for the bound that follows from ``bounds``, so that no row is.
    schema : replaces all of the other options.

    Raises DataError (row numbers are for the owner's eyes) for values that are not finite, labels
    outside the classes, no columns; InvalidInputError for options that do not fit.
    """
    if schema is not None:
        options = {"classes": classes, "target_bounds": target_bounds, "bounds": bounds, "n0": n0}
        leave_to_schema("the schema", **options, row_norm=row_norm, capacity=capacity)
        X = X if schema.width is None else _matrix(X)
    elif _is_frame(X):
        raise InvalidInputError(
            "A pandas frame needs a schema of its columns: `dpcore schema FILE` writes a template "
            "of one. Or pass frame.to_numpy() with bounds=(lower, upper)."
        )
    else:
        X = _matrix(X)
        schema = array_schema(
            X.shape[1],
            bounds,
            row_norm,
            classes=classes,
            target_bounds=target_bounds,
            intercept=intercept,
            rows=n0,
            capacity=capacity,
        )
    if schema.width is None:
        return _from_columns(X, y, schema)
    if y is None:
        raise InvalidInputError("Expected y, the labels of the rows of X.")
    raw = RawMatrix(X, labels_of(y, _SOURCE, X.shape[0]), _SOURCE, _row)
    return Dataset.from_rows("array", conform_matrix(raw, schema)[:2], schema)


def features_from_arrays(X: Any, schema: Schema) -> Any:
    """Return feature rows as ``dataset_from_arrays`` makes them, without labels (prediction)."""
    if schema.width is None:
        return encode(conform(_table(X, None, schema, False), schema, labelled=False), schema)[0]
    return conform_matrix(RawMatrix(_matrix(X), None, _SOURCE, _row), schema, labelled=False)[0]


def _from_columns(X: Any, y: Any, schema: Schema) -> Dataset:
    is_frame = _is_frame(X)
    schema = schema.for_names([str(name) for name in X.columns]) if is_frame else schema
    rows = encode(conform(_table(X, y, schema, True), schema), schema)
    data = Dataset.from_rows("frame" if is_frame else "array", rows, schema)
    return replace(data, typed_by="frame" if is_frame else None)


def _table(X: Any, y: Any, schema: Schema, labelled: bool) -> RawTable:
    """Return a frame's columns by name; ``y``, where given, is the label column."""
    if not _is_frame(X):
        return array_table(X, y, schema, _row, labelled=labelled)
    label = schema.label.name
    names = [str(name) for name in X.columns]
    if y is not None and label in names:
        raise InvalidInputError(f"The label {label!r} is a column of the frame: leave y out.")
    wanted = check_names(names, schema, _FRAME, labelled and y is None)
    columns = {}
    for name in wanted:
        series = X.iloc[:, names.index(name)]
        columns[name] = _cells(series, name)
    if y is not None:
        columns[label] = labels_of(y, _FRAME, len(X))
    return RawTable(columns, len(X), _FRAME, _row)


def _cells(series: Any, name: str) -> Cells:
    try:
        return typed_cells(series)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise DataError(
            f"{_FRAME}: column {name!r} is of type {series.dtype}, which holds neither numbers nor "
            "text."
        ) from None


def _matrix(X: Any) -> np.ndarray | sparse.csr_matrix:
    if sparse.issparse(X):
        return canonical_csr(X, _SOURCE)
    return real_matrix(X, _SOURCE)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "columns")


def _row(row: int) -> str:
    return f"row {row + 1}"
