"""Rows whose numbers wait for bounds: asked for their counts as they are, then encoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin.columns import Label
from dpcore.plugin.parts import Table
from dpcore_tables.cells.features import features_of, held_of
from dpcore_tables.coded.rows import CodedRows
from dpcore_tables.curves import curved

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin.parts import Dataset, Query
    from dpcore_tables.store.encoded import Rows

__all__ = ["UnboundedCells", "UnboundedRows", "bounded_rows"]


class UnboundedCells:
    """Some rows' cells of the columns in waiting, as the source has them.

    ``columns`` : float64 of shape (n_rows,) each; NaN for an empty cell.
    """

    def __init__(self, columns: Sequence[np.ndarray]) -> None:
        self._columns = columns

    def column(self, j: int) -> np.ndarray:
        """Return the cells of the j-th column in waiting, in C order."""
        return np.ascontiguousarray(self._columns[j])


class UnboundedRows:
    """An engine over the cells in waiting of encoded rows; no other query can be asked of it."""

    def __init__(self, dataset: Dataset) -> None:
        X, y, places = dataset.X, dataset.y, _places(dataset.schema)
        self._columns = [
            y if isinstance(column, Label) else _numbers_of(X)[:, places[column.name]]
            for column in dataset.schema.unbounded
        ]

    def blocks(self) -> Iterator[UnboundedCells]:
        for begin in range(0, len(self._columns[0]), Table.BLOCK_ROWS):
            yield UnboundedCells(
                [cells[begin : begin + Table.BLOCK_ROWS] for cells in self._columns]
            )

    def answer(self, query: Query) -> np.ndarray:
        total = query.start()
        for block in self.blocks():
            total += query.answer_block(block)  # type: ignore[arg-type]
        return total


def bounded_rows(dataset: Dataset, schema: Schema) -> Dataset:
    """Return the data set as the bounded schema encodes it, to the bit, with the hat functions of
    the numbers to which the schema gives some."""
    if not dataset.schema.unbounded:
        return replace(dataset, X=curved(dataset.X, schema), schema=schema)
    y = dataset.y
    if dataset.schema.label in dataset.schema.unbounded:
        y = Table.freeze(schema.label.target_of(y))
    X, places = dataset.X, _places(dataset.schema)
    if places:
        X = _encoded(X, schema, places)
    if schema.curve_features:
        X = curved(X, schema)
    return replace(dataset, X=X, y=y, schema=schema)


def _encoded(X: Rows, schema: Schema, places: Mapping[str, int]) -> Rows:
    numbers = _numbers_of(X).copy()
    for column in schema.features:
        if column.name in places:
            cells = numbers[:, places[column.name]]
            held = held_of(column.encoding)
            numbers[:, places[column.name]] = Table.on_grid(features_of(held, cells)[0])
    rows: Any = numbers.astype(np.float32)
    if isinstance(X, CodedRows):
        rows = CodedRows(X.layout, rows, X.codes)
    frozen: Rows = Table.layout_of(rows).freeze(rows)
    return frozen


def _numbers_of(X: Rows) -> np.ndarray:
    numbers = X.numeric if isinstance(X, CodedRows) else X
    assert isinstance(numbers, np.ndarray)
    return numbers


def _places(schema: Schema) -> dict[str, int]:
    """Return the place of each feature in waiting among the stored numbers."""
    places, at = {}, 0
    for column in schema.features if schema.width is None else ():
        for part in held_of(column.encoding).parts:
            if part.in_waiting:
                places[column.name] = at
            at += 0 if part.is_code else part.width
    return places
