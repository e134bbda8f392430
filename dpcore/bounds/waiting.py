"""Rows whose numbers wait for bounds: asked for their counts as they are, then encoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.data.blocks.coded import CodedRows
from dpcore.data.blocks.layouts import layout_of
from dpcore.data.cells.encode import on_grid
from dpcore.data.cells.features import features_of
from dpcore.data.schema.columns import Numeric
from dpcore.exact.grid import BLOCK_ROWS

if TYPE_CHECKING:
    from dpcore.data.blocks.layouts import Rows
    from dpcore.data.dataset import Dataset
    from dpcore.data.schema.schema import Schema
    from dpcore.protocols import Query

__all__ = ["WaitingCells", "WaitingRows", "bounded_schema", "encoded_rows"]


class WaitingCells:
    """Some rows' cells of the columns in waiting, as the source has them.

    ``numbers`` : float64 of shape (n_rows, n_stored). ``places`` : of the columns among them.
    """

    def __init__(self, numbers: np.ndarray, places: tuple[int, ...]) -> None:
        self._numbers = numbers
        self._places = places

    def column(self, j: int) -> np.ndarray:
        """Return the cells of the j-th column in waiting, float64; NaN for an empty one."""
        return np.ascontiguousarray(self._numbers[:, self._places[j]])


class WaitingRows:
    """An engine over the cells in waiting of encoded rows; no other query can be asked of it."""

    def __init__(self, X: Rows, schema: Schema) -> None:
        self._numbers = _numbers_of(X)
        self._places = tuple(_places(schema).values())

    def blocks(self) -> Iterator[WaitingCells]:
        for begin in range(0, self._numbers.shape[0], BLOCK_ROWS):
            yield WaitingCells(self._numbers[begin : begin + BLOCK_ROWS], self._places)

    def answer(self, query: Query) -> np.ndarray:
        total = query.start()
        for block in self.blocks():
            total += query.answer_block(block)  # type: ignore[arg-type]
        return total


def bounded_schema(schema: Schema, bounds: Mapping[str, tuple[float, float]]) -> Schema:
    """Return the schema with these bounds of its columns in waiting."""
    found = {column.name: column.between(*bounds[column.name]) for column in schema.unbounded}
    columns = (found.get(column.name, column) for column in schema.columns)
    return replace(schema, columns=tuple(columns))


def encoded_rows(dataset: Dataset, schema: Schema) -> Dataset:
    """Return the data set as the bounded schema encodes it, to the bit; the same one if none of its
    columns waits. The rows in waiting stay as they are."""
    if not dataset.schema.unbounded:
        return dataset
    X, numbers = dataset.X, _numbers_of(dataset.X).copy()
    columns = {column.name: column for column in schema.features}
    for name, place in _places(dataset.schema).items():
        column = columns[name]
        assert isinstance(column, Numeric)
        numbers[:, place] = on_grid(features_of(column, numbers[:, place])[0])
    rows: Any = numbers
    if isinstance(X, CodedRows):
        rows = CodedRows(X.layout, numbers.astype(np.float32), X.codes)
    return replace(dataset, X=layout_of(rows).freeze(rows), schema=schema)


def _numbers_of(X: Rows) -> np.ndarray:
    numbers = X.numeric if isinstance(X, CodedRows) else X
    assert isinstance(numbers, np.ndarray)
    return numbers


def _places(schema: Schema) -> dict[str, int]:
    """Return the place of each column in waiting among the stored numbers."""
    places, at = {}, 0
    for part in schema.parts:
        if part.in_waiting:
            places[part.names[0]] = at
        at += 0 if part.is_code else len(part.names)
    return places
