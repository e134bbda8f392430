"""Rows in memory as encoded rows: frames by the names of their columns, other rows in order."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore.plugin.readers import ArraySource, UnitIds
from dpcore_tables.cells.cell_values import convert_column, validate_rows
from dpcore_tables.cells.features import encode
from dpcore_tables.cells.weights import read_by, weights_apart
from dpcore_tables.memory.columns import labels_of, real_array, real_matrix
from dpcore_tables.memory.frames import (
    declares_truth,
    frame_names,
    frame_of,
    frame_table,
    is_frame,
)
from dpcore_tables.raw.raw_table import RawTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore import Schema
    from dpcore.plugin.engines import BadRows
    from dpcore_tables.store.encoded import Matrix, Rows

__all__ = ["dataset_in_memory", "features_in_memory", "labels_declare_truth"]

_SOURCE = ArraySource("the array")


def dataset_in_memory(
    X: Any,
    y: Any,
    schema: Schema | None,
    coins: Callable[[int], bytes],
    weight: str | None = None,
    **public: Any,
) -> Dataset:
    """Return the data set of rows in memory, as ``dpcore.data.arrays.dataset_from_arrays`` does."""
    X = frame_of(X)
    if schema is None and is_frame(X):
        raise InvalidInputError(
            "A frame needs a schema of its columns: `dpcore schema FILE` or "
            "dpcore.schema_template(frame) writes a template of one. Estimators with "
            "scikit-learn's interface take bounds and categories of a frame's columns in its "
            "place. Or pass frame.to_numpy() with bounds=(lower, upper)."
        )
    X = _matrix(X) if schema is None or schema.width is not None else X
    own = ArraySource.schema_beside(schema, 0 if schema is not None else X.shape[1], **public)
    if own.width is None:
        return _from_columns(X, y, own, coins, weight)
    if y is None:
        raise InvalidInputError("Expected y, the labels of the rows of X.")
    labels = labels_of(y, _SOURCE.name, X.shape[0])
    read = partial(convert_column, labels, own.label, own.notation, _SOURCE.name)
    rows = _SOURCE.validate_rows(X, own, _SOURCE.place, read)
    return Dataset.from_rows("array", rows[:2], own)


def features_in_memory(
    X: Any, schema: Schema, bad_rows: BadRows = "refuse"
) -> tuple[Rows, np.ndarray | None]:
    """Return feature rows as ``dataset_in_memory`` makes them, without labels (prediction), and
    which of the rows they are: bool, None for all of them, as ``validate_rows`` has it."""
    X = frame_of(X)
    if schema.width is None:
        raw = _table(X, None, schema, False)
        columns = validate_rows(raw, schema, labelled=False, bad_rows=bad_rows)
        return encode(columns, schema)[0], columns.kept
    rows, _, kept = _SOURCE.validate_rows(_matrix(X), schema, _SOURCE.place, None, bad_rows)
    return rows, kept


def labels_declare_truth(X: Any, y: Any, label: str) -> bool:
    """Return whether labels, or a frame's column of that name where there are none beside it,
    declare that they are truth values."""
    if y is None and is_frame(X) and label in frame_names(X):
        y = X[label]
    return declares_truth(y)


def _from_columns(
    X: Any, y: Any, schema: Schema, coins: Callable[[int], bytes], weight: str | None
) -> Dataset:
    framed, ids = is_frame(X), UnitIds()
    weight = weight if framed else None  # of an array's columns none has a name of its own
    schema = schema.for_names(frame_names(X)) if framed else schema
    raw = _table(X, y, read_by(schema, weight), True)
    columns = validate_rows(raw, schema, weight=weight)
    if columns.ids is not None:
        ids.add(columns.ids)
    rows, name = encode(columns, schema), "frame" if framed else "array"
    data = weights_apart(Dataset.from_rows(name, rows, schema, ids=ids, coins=coins))
    return replace(data, typed_by="frame" if framed else None)


def _table(X: Any, y: Any, schema: Schema, labelled: bool) -> RawTable:
    """Return a frame's columns by name; ``y``, where given, is the label column."""
    if not is_frame(X):
        return _array_table(X, y, schema, labelled)
    label = schema.label.name
    if y is not None and label in frame_names(X):
        raise InvalidInputError(f"The label {label!r} is a column of the frame: leave y out.")
    table = frame_table(X, schema, labelled and y is None, labelled, _SOURCE.place)
    if y is None:
        return table
    return replace(table, columns={**table.columns, label: labels_of(y, table.source, len(X))})


def _matrix(X: Any) -> Matrix:
    return _SOURCE.csr(X) if _SOURCE.is_sparse(X) else real_array(X, _SOURCE.name)


def _array_table(X: Any, y: Any, schema: Schema, labelled: bool) -> RawTable:
    """Return an array's columns under the schema's names, in order, and, if ``labelled``, labels.

    Raises InvalidInputError for a schema with categories, sparse rows, and labels that are not
    there; DataError for anything but real numbers of the schema's width.
    """
    if schema.unit is not None and labelled:
        raise InvalidInputError(
            f"An array has no column {schema.unit!r} of ids: a schema with a unit needs a frame."
        )
    if any(column.kind != "numeric" for column in schema.features):
        raise InvalidInputError(
            "A schema with categories or dates needs a frame, of pandas, polars or pyarrow."
        )
    names = [column.name for column in schema.features]
    matrix = X if _SOURCE.is_sparse(X) else real_matrix(X, _SOURCE.name)
    matrix = _SOURCE.dense(matrix, len(names))
    columns = {
        name: pa.chunked_array([pa.array(cells)])
        for name, cells in zip(names, matrix.T, strict=True)
    }
    if labelled:
        if y is None:
            raise InvalidInputError("Expected y, the labels of the rows of X.")
        columns[schema.label.name] = labels_of(y, _SOURCE.name, matrix.shape[0])
    return RawTable(columns, matrix.shape[0], _SOURCE.name, _SOURCE.place)
