"""Rows that are already in memory: NumPy, SciPy CSR, and frames with a schema."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcore.data.cells.features import encode
from dpcore.data.cells.readings import conform
from dpcore.data.dataset import Dataset
from dpcore.data.readers.array_columns import array_schema, array_table, leave_to_schema
from dpcore.data.readers.frames import frame_names, frame_of, frame_table, is_frame
from dpcore.data.readers.in_memory import canonical_csr, is_sparse, labels_of, real_array
from dpcore.data.readers.raw_matrix import RawMatrix, conform_matrix
from dpcore.data.readers.raw_table import RawTable
from dpcore.data.schema.schema import Schema
from dpcore.data.units import Coins, UnitIds
from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_matrix

    from dpcore.data.blocks.layouts import Rows
    from dpcore.data.readers import BadRows

__all__ = ["dataset_from_arrays", "features_from_arrays"]

_SOURCE = "the array"


def dataset_from_arrays(
    X: Any,
    y: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    target_bounds: Sequence[float] | None = None,
    bounds: Sequence[Any] | None = None,
    private_bounds: bool = False,
    row_norm: float | None = 1.0,
    schema: Schema | None = None,
    intercept: bool = True,
    n0: int | None = None,
    capacity: int | None = None,
    coins: Coins = os.urandom,
) -> Dataset:
    """Return the data set of rows in memory.

    Parameters
    ----------
    X : real numbers, 2-D or SciPy sparse, whose width is the caller's public claim; or, with a
        ``schema`` of named columns, a frame (pandas, polars, pyarrow, or anything that has
        ``__arrow_c_stream__``), or an array if all of them are numeric.
    y : labels, one per row; for a frame, ``None`` if the label is one of its columns.
    classes : the (negative, positive) values of the label, each one value or a list; by default
        (-1, 1). Never read off ``y``.
    target_bounds : (lower, upper) of a real-valued target, instead of ``classes``.
    bounds : public (lower, upper) of the columns, each a number or one per column: cells are
        clamped to them and mapped to [0, 1], as a schema's numeric columns are. Not for sparse X.
    private_bounds : whether columns of an array have bounds that are still to be released.
    row_norm : public l2 bound that rows are scaled down to, after ``bounds`` and the intercept's 1
        included; ``None`` for the bound that follows from ``bounds``, so that no row is.
    schema : replaces all of the other options but ``coins``, which are ``Dataset.from_rows``'s.

    Raises DataError (row numbers are for the owner's eyes) for values that are not finite, labels
    outside the classes, no columns; InvalidInputError for options that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin.parts import dataset_from_arrays
    >>> X, y = np.array([[0.0], [3.0]]), np.array(["no", "yes"])
    >>> rows = dataset_from_arrays(X, y, classes=("no", "yes"), bounds=(0, 2), row_norm=None)
    >>> rows.X.tolist(), rows.y.tolist()
    ([[0.0, 1.0], [1.0, 1.0]], [-1.0, 1.0])
    """
    X = frame_of(X)
    if schema is not None:
        options = {"classes": classes, "target_bounds": target_bounds, "bounds": bounds, "n0": n0}
        leave_to_schema("the schema", **options, row_norm=row_norm, capacity=capacity)
        X = X if schema.width is None else _matrix(X)
    elif is_frame(X):
        raise InvalidInputError(
            "A frame needs a schema of its columns: `dpcore schema FILE` or "
            "dpcore.schema_template(frame) writes a template of one. Estimators with "
            "scikit-learn's interface take bounds and categories of a frame's columns in its "
            "place. Or pass frame.to_numpy() with bounds=(lower, upper)."
        )
    else:
        X = _matrix(X)
        schema = array_schema(
            X.shape[1],
            bounds,
            row_norm,
            private_bounds,
            classes=classes,
            target_bounds=target_bounds,
            intercept=intercept,
            rows=n0,
            capacity=capacity,
        )
    if schema.width is None:
        return _from_columns(X, y, schema, coins)
    if y is None:
        raise InvalidInputError("Expected y, the labels of the rows of X.")
    raw = RawMatrix(X, labels_of(y, _SOURCE, X.shape[0]), _SOURCE, _row)
    return Dataset.from_rows("array", conform_matrix(raw, schema)[:2], schema)


def features_from_arrays(
    X: Any, schema: Schema, *, bad_rows: BadRows = "refuse"
) -> tuple[Rows, np.ndarray | None]:
    """Return feature rows as ``dataset_from_arrays`` makes them, without labels (prediction), and
    which of the rows they are: bool, None for all of them, as ``conform`` has it."""
    X = frame_of(X)
    if schema.width is None:
        table = _table(X, None, schema, False)
        columns = conform(table, schema, labelled=False, bad_rows=bad_rows)
        return encode(columns, schema)[0], columns.kept
    raw = RawMatrix(_matrix(X), None, _SOURCE, _row)
    rows, _, kept = conform_matrix(raw, schema, labelled=False, bad_rows=bad_rows)
    return rows, kept


def _from_columns(X: Any, y: Any, schema: Schema, coins: Coins) -> Dataset:
    framed = is_frame(X)
    schema = schema.for_names(frame_names(X)) if framed else schema
    columns, ids = conform(_table(X, y, schema, True), schema), UnitIds()
    if columns.ids is not None:
        ids.add(columns.ids)
    rows, name = encode(columns, schema), "frame" if framed else "array"
    data = Dataset.from_rows(name, rows, schema, ids=ids, coins=coins)
    return replace(data, typed_by="frame" if framed else None)


def _table(X: Any, y: Any, schema: Schema, labelled: bool) -> RawTable:
    """Return a frame's columns by name; ``y``, where given, is the label column."""
    if not is_frame(X):
        return array_table(X, y, schema, _row, labelled=labelled)
    label = schema.label.name
    if y is not None and label in frame_names(X):
        raise InvalidInputError(f"The label {label!r} is a column of the frame: leave y out.")
    table = frame_table(X, schema, labelled and y is None, labelled, _row)
    if y is None:
        return table
    return replace(table, columns={**table.columns, label: labels_of(y, table.source, len(X))})


def _matrix(X: Any) -> np.ndarray | csr_matrix:
    if is_sparse(X):
        return canonical_csr(X, _SOURCE)
    return real_array(X, _SOURCE)


def _row(row: int) -> str:
    return f"row {row + 1}"
