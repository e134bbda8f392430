"""Counts of a source's cells by what a schema does to them, which encoded rows have lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin.columns import FeatureColumn, Label, Numeric
from dpcore.plugin.parts import Table
from dpcore.plugin.readers import ArraySource
from dpcore_tables.cells.cell_values import convert_column
from dpcore_tables.cells.typed import Cells, empty_cells
from dpcore_tables.files.stream import open_rows
from dpcore_tables.memory.frames import frame_table, is_frame
from dpcore_tables.raw.raw_matrix import RawMatrix

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore_tables.raw.raw_table import RawTable

__all__ = ["BINS", "RawCells", "checked_names", "raw_cells", "raw_pieces"]

BINS = ("below", "above", "unknown", "empty")
"""Where a cell of a column may fall that is not as the schema has it; in one of them at most.

``below`` and ``above`` its bounds, to which it is clamped; ``unknown``: none of its categories or
classes, or no number; ``empty``. The features of a row without names fall ``above`` where the row
is scaled down, and are ``unknown`` where one is not finite.
"""
_FEATURES = "the features of a row"


class RawCells:
    """A piece of a source's rows: a block that counts cells, each by itself alone."""

    def __init__(self, raw: RawTable | RawMatrix, schema: Schema) -> None:
        self._raw = raw
        self._schema = schema

    def counts(self) -> np.ndarray:
        """Return the number of rows and, for each of ``checked_names``, that of each of ``BINS``:
        int64 of shape (1 + 4 n_checked,)."""
        raw, schema = self._raw, self._schema
        if isinstance(raw, RawMatrix):
            labels = raw.one_label_each()
            parts = [_of_rows(raw, schema), _of_cells(labels, schema.label, schema, raw)]
            return np.array([raw.X.shape[0], *np.ravel(parts)], dtype=np.int64)
        columns: list[FeatureColumn | Label] = [*schema.features, schema.label]
        parts = [_of_cells(raw.columns[c.name], c, schema, raw) for c in columns]
        return np.array([raw.n_rows, *np.ravel(parts)], dtype=np.int64)


def raw_cells(source: Any, schema: Schema) -> Iterator[RawCells]:
    """Yield the rows of a file, a piece at a time, or those of a frame. Raises as
    ``encoded_batches`` does for a file, not for a cell."""
    for raw in raw_pieces(source, schema):
        yield RawCells(raw, schema)


def raw_pieces(source: Any, schema: Schema) -> Iterator[RawTable | RawMatrix]:
    """Yield the rows of a file or a frame before any schema is applied."""
    if is_frame(source):
        yield frame_table(source, schema, True, True, ArraySource.place)
    else:
        # Their owner looks at them, and whatever is released of a query's rows is refused.
        yield from open_rows(source, schema, promised=False).pieces()


def checked_names(schema: Schema) -> tuple[tuple[str, str], ...]:
    """Return name and kind of what ``RawCells`` counts, in its order: public."""
    label = (schema.label.name, "numeric label" if schema.label.is_real else "label")
    if schema.width is not None:
        return ((_FEATURES, "numeric"), label)
    return (*((column.name, column.kind) for column in schema.features), label)


def _of_cells(
    given: Cells, column: FeatureColumn | Label, schema: Schema, raw: RawTable | RawMatrix
) -> list[int]:
    if isinstance(column, Label) and column.lower is not None and column.upper is not None:
        column = Numeric(column.name, column.lower, column.upper, missing=column.missing)
    cells, fault, _ = convert_column(given, column, schema.notation, raw.source)
    empty = empty_cells(given, schema.notation.with_words(column.missing))
    outside = cells < 0 if fault is None else fault
    below = above = np.zeros_like(empty)
    if not isinstance(column, Label) and column.bounds is not None:
        lower, upper = column.bounds
        counted = outside | empty
        below, above = ~counted & (cells < lower), ~counted & (cells > upper)
    # No cell is in two of them: the sensitivity of CellCounts rests on that.
    return [int(bin.sum()) for bin in (below, above, outside & ~empty, empty)]


def _of_rows(raw: RawMatrix, schema: Schema) -> list[int]:
    layout: Any = Table.layout_of(raw.X)
    finite = layout.finite_rows(raw.X)
    X = raw.X[finite] * schema.feature_scale
    longer = layout.longer_rows(X, schema.row_norm, schema.intercept)
    return [0, int(longer.sum()), int((~finite).sum()), 0]
