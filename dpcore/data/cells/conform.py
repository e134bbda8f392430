"""Columns of cells to plain numbers under a schema, row by row: a cell never affects another row.

A row that does not satisfy the schema is refused with its place (for the owner's eyes: this is
loading), or mapped to no row. Either way the result is a function of each row alone. Rows are
dropped where the number of rows is private (add-or-remove-one): replace-one makes it public.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.data.cells.faults import advice_on
from dpcore.data.cells.ids import ids_of
from dpcore.data.cells.readings import convert_column, unread_told
from dpcore.data.readers import BadRows
from dpcore.data.readers.raw_table import RawTable
from dpcore.data.schema.columns import Column, Drop, FeatureColumn, Label
from dpcore.data.schema.notation import Notation
from dpcore.data.schema.schema import Schema
from dpcore.data.schema.toml_writer import format_value
from dpcore.errors import BadRowError
from dpcore.privacy.units import Units

__all__ = ["Columns", "conform"]

_NO_ID = "the cell is no id of a unit: expected text or a whole number"
_EMPTY_ID = (
    "the cell is empty, and is to hold the id of a unit (where a row without one is to be a unit "
    'by itself, a schema says so: unit = {name}, rows_per_unit = K, unit_missing = "row")'
)


@dataclass(frozen=True)
class Columns:
    """Cells as numbers, by column name.

    ``values[name]`` : ndarray of shape (n_rows,): what ``dpcore.data.cells.readings`` makes of a
    column's cells; float64 for the label, -1 and +1 or the target scaled to [-1, 1], absent where
    it was not asked for. ``kept`` : bool, one for each row that was given, None if all were kept.
    ``ids`` : of the rows' units, as ``dpcore.data.cells.ids`` has them; None where the schema has
    no units, or with the label.
    """

    values: dict[str, np.ndarray]
    n_rows: int
    kept: np.ndarray | None = None
    ids: np.ndarray | None = None


def conform(
    raw: RawTable, schema: Schema, *, labelled: bool = True, bad_rows: BadRows = "refuse"
) -> Columns:
    """Return the cells of every row that satisfies the schema.

    Raises DataError with file, line and column for the first row that does not, or drops such rows
    if ``bad_rows`` is ``"drop"``.
    """
    values: dict[str, np.ndarray] = {}
    bad = np.zeros(raw.n_rows, dtype=bool)
    faults: list[tuple[Column, str, np.ndarray]] = []
    wanted: list[FeatureColumn | Label] = [*schema.features]
    wanted += [schema.label] if labelled else []
    for column in wanted:
        given = raw.columns[column.name]
        numbers, fault, reason = convert_column(given, column, schema.notation, raw.source)
        values[column.name] = numbers
        if fault is not None and fault.any():
            faults.append((column, reason, fault))
            bad |= fault
    ids = None
    if labelled and schema.units is not None:
        ids, missing, fault = _ids(raw, schema.units, schema.notation)
        name = schema.units.column
        reasons = {_EMPTY_ID.format(name=format_value(name)): missing, _NO_ID: fault}
        for reason, fault in reasons.items():
            if fault.any():
                faults.append((Drop(name), reason, fault))
                bad |= fault
    if not faults:
        return Columns(values, raw.n_rows, ids=ids)
    if bad_rows != "drop":
        raise _first_fault(raw, faults, schema)
    kept = ~bad
    values = {name: cells[kept] for name, cells in values.items()}
    return Columns(values, int(kept.sum()), kept, None if ids is None else ids[kept])


def _ids(
    raw: RawTable, units: Units, notation: Notation
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the ids of the rows' units, which rows are bad for want of one, and which for a cell
    that is none."""
    with unread_told(raw.source, units.column):
        ids, bad = ids_of(raw.columns[units.column], notation)
    empty = np.fromiter((id is None for id in ids), bool, len(ids)) & ~bad
    return ids, empty & (units.missing == "refuse"), bad


def _first_fault(
    raw: RawTable, faults: list[tuple[Column, str, np.ndarray]], schema: Schema
) -> BadRowError:
    row, column, reason = min(
        ((int(np.argmax(fault)), column, reason) for column, reason, fault in faults),
        key=lambda entry: entry[0],
    )
    if not isinstance(column, (Label, Drop)):
        cells = raw.columns[column.name]
        reason = advice_on(cells, row, column, schema.notation) or reason
    return BadRowError(f"{raw.source}, {raw.where(row)}, column {column.name!r}: {reason}.")
