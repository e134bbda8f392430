"""Partitions of one frame, each turned into rows by whoever has it.

A partition's types are not the frame's: pandas takes them from the cells of that partition alone,
so that a number that is missing in one makes fractions of its whole numbers, and those of another
stay whole. So a column whose type in a partition has no reading under the schema
(``dpcore_tables.cells.typed``) is looked at cell by cell, and every other type gives a cell what it
gives it by itself: nothing but the schema and the cell decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DataError
from dpcore.plugin.columns import FeatureColumn, Label
from dpcore.plugin.parts import Dataset, Table
from dpcore.plugin.readers import UnitIds
from dpcore_tables.cells.cell_values import convert_column
from dpcore_tables.cells.ids import ids_of
from dpcore_tables.cells.objects import as_objects
from dpcore_tables.cells.typed import UnreadTypeError
from dpcore_tables.files.stream import encode_piece
from dpcore_tables.memory.frames import frame_cells, frame_names, frame_table
from dpcore_tables.raw.raw_table import RawTable, check_names

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin.engines import BadRows
    from dpcore_tables.cells.typed import Cells

__all__ = ["encoded_parts", "part_of_units", "require_claimed"]

_ROWS = 8 * Table.BLOCK_ROWS


def require_claimed(names: list[str], claimed: Any, schema: Schema) -> Schema:
    """Return the schema without wildcards, of a frame whose columns the schema can read.

    ``claimed`` : a frame of no rows, with the types that the columns are claimed to have: those of
    a frame are the caller's claim, and what the schema cannot read is refused, as for one at hand.
    """
    schema = schema.for_names(names)
    encode_piece(frame_table(claimed, schema, True, True, str), schema)
    return schema


def encoded_parts(
    frame: Any,
    schema: Schema,
    name: str,
    *,
    bad_rows: BadRows = "refuse",
    ids: UnitIds | None = None,
) -> Iterator[tuple[Any, np.ndarray | None]]:
    """Yield the encoded rows (X, y) of a partition, some of them at a time, as
    ``dpcore_tables.files.stream.encoded_batches`` does those of a file; one piece at least.

    ``schema`` : without wildcards. ``name`` : what errors call the partition. ``ids`` : gets those
    of the rows' units, where the schema has units.
    Raises DataError (for the owner's eyes) for other columns than the schema's and for the first
    row that does not satisfy it.
    """
    names = frame_names(frame)
    wanted = check_names(names, schema, name)
    columns: dict[str, FeatureColumn | Label | None] = {schema.unit or "": None}
    columns |= {column.name: column for column in schema.features}
    columns[schema.label.name] = schema.label
    for begin in range(0, max(1, len(frame)), _ROWS):
        part = frame.iloc[begin : begin + _ROWS]
        cells = {
            name: _readable(frame_cells(part, names.index(name)), columns[name], schema)
            for name in wanted
        }

        def where(row: int, begin: int = begin) -> str:
            return f"row {begin + row + 1}"

        table = RawTable(cells, len(part), name, where)
        yield encode_piece(table, schema, bad_rows=bad_rows, ids=ids)


def part_of_units(frame: Any, schema: Schema, name: str, coins: Callable[[int], bytes]) -> Dataset:
    """Return the rows of a partition, at most ``rows_per_unit`` of each unit, by ``coins`` as
    ``Dataset.from_rows`` takes them. Raises as ``encoded_parts``."""
    from dpcore_tables.files import assemble

    ids = UnitIds()
    rows = assemble(encoded_parts(frame, schema, name, ids=ids))
    return Dataset.from_rows(name, rows, schema, ids=ids, coins=coins)


def _readable(cells: Cells, column: FeatureColumn | Label | None, schema: Schema) -> Cells:
    """Return the cells as they are, or each by itself where their type has no reading. ``column`` :
    ``None`` for the ids of units."""
    if isinstance(cells, np.ndarray):
        return cells
    with suppress(DataError, UnreadTypeError):
        # Of no cell: a type has a reading, or none, before any cell is looked at.
        if column is None:
            ids_of(cells.slice(0, 0), schema.notation)
        else:
            convert_column(cells.slice(0, 0), column, schema.notation, "")
        return cells
    return as_objects(cells.to_pylist())
