"""Weights of rows in a column of a file or a frame, each cell by itself."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import BadRowError, InvalidInputError, near_names
from dpcore.plugin.columns import Drop, Label, Numeric
from dpcore.plugin.readers import ArraySource
from dpcore_tables.cells.cell_values import convert_column
from dpcore_tables.files.formats import entry_of, is_named, is_store
from dpcore_tables.files.input_paths import name_of, refuse_stdin
from dpcore_tables.files.stream import open_rows
from dpcore_tables.memory.frames import frame_of, frame_table, is_frame
from dpcore_tables.raw.raw_table import RawTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcore import Schema

__all__ = ["weights_in"]


def weights_in(X: Any, schema: Schema, name: str) -> np.ndarray:
    """Return the weight of each row, float64, in the order of the rows: the cells of a column as
    numbers in the schema's notation. The schema names the column, as ``drop`` where it is no
    feature.

    Raises InvalidInputError for a column that the schema does not name, and for rows that cannot be
    read once more in the same order: of a store, a query or standard input. BadRowError, with the
    place of the row, for a cell that is no finite number >= 0.
    """
    names = [column.name for column in schema.columns if not isinstance(column, Label)]
    if name not in names:
        raise InvalidInputError(
            f"The schema has no column {name!r} of weights, beside the label: list it with "
            f'kind = "drop".{near_names(name, names)}'
        )
    # As a number it is read as it is; all others are passed over.
    as_number = Numeric(name, 0.0, 1.0)
    columns = tuple(
        as_number if c.name == name else c if isinstance(c, Label) else Drop(c.name)
        for c in schema.columns
    )
    alone = replace(schema, columns=columns, crosses=())
    parts = [_weights_of(raw, as_number, alone) for raw in _pieces(X, alone)]
    return np.concatenate(parts) if parts else np.empty(0)


def _pieces(X: Any, schema: Schema) -> Iterator[RawTable]:
    if not isinstance(X, (str, os.PathLike)):
        if not is_frame(frame := frame_of(X)):
            raise InvalidInputError("Weights by a column's name need a file or a frame.")
        yield frame_table(frame, schema, False, False, ArraySource.place)
        return
    path = os.fspath(X)
    refuse_stdin(path)
    if is_store(path) or not is_named(path) or entry_of(path).data.get("query"):
        raise InvalidInputError(
            f"{name_of(path)} has no column of weights that can be read beside its rows: weights "
            "by a column's name need text, Parquet or a sheet with named columns, or a frame."
        )
    for raw in open_rows(path, schema, labelled=False).pieces():
        assert isinstance(raw, RawTable)
        yield raw


def _weights_of(raw: RawTable, column: Numeric, schema: Schema) -> np.ndarray:
    weights = convert_column(raw.columns[column.name], column, schema.notation, raw.source)[0]
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        place = raw.where(int(np.argmax(bad)))
        raise BadRowError(
            f"{raw.source}, {place}, column {column.name!r}: expected a weight, a finite number "
            ">= 0."
        )
    return weights
