"""Columns of cells to plain numbers under a schema, row by row: a cell never affects another row.

A row that does not satisfy the schema is refused with its place (for the owner's eyes: this is
loading), or mapped to no row. Either way the result is a function of each row alone. Rows are
dropped where the number of rows is private (add-or-remove-one): replace-one makes it public.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.data.cells.readings import convert_column, why_no_value
from dpcore.data.readers import BadRows
from dpcore.data.readers.raw_table import RawTable
from dpcore.data.schema.columns import FeatureColumn, Label
from dpcore.data.schema.schema import Schema
from dpcore.errors import BadRowError

__all__ = ["Columns", "conform"]


@dataclass(frozen=True)
class Columns:
    """Cells as numbers, by column name.

    ``values[name]`` : ndarray of shape (n_rows,): what ``dpcore.data.cells.readings`` makes of a
    column's cells; float64 for the label, -1 and +1 or the target scaled to [-1, 1], absent where
    it was not asked for. ``kept`` : bool, one for each row that was given, None if all were kept.
    """

    values: dict[str, np.ndarray]
    n_rows: int
    kept: np.ndarray | None = None


def conform(
    raw: RawTable, schema: Schema, *, labelled: bool = True, bad_rows: BadRows = "refuse"
) -> Columns:
    """Return the cells of every row that satisfies the schema.

    Raises DataError with file, line and column for the first row that does not, or drops such rows
    if ``bad_rows`` is ``"drop"``.
    """
    values: dict[str, np.ndarray] = {}
    bad = np.zeros(raw.n_rows, dtype=bool)
    faults: list[tuple[FeatureColumn | Label, str, np.ndarray]] = []
    wanted: list[FeatureColumn | Label] = [*schema.features]
    wanted += [schema.label] if labelled else []
    for column in wanted:
        given = raw.columns[column.name]
        numbers, fault, reason = convert_column(given, column, schema.notation, raw.source)
        values[column.name] = numbers
        if fault is not None and fault.any():
            faults.append((column, reason, fault))
            bad |= fault
    if not faults:
        return Columns(values, raw.n_rows)
    if bad_rows != "drop":
        raise _first_fault(raw, faults, schema)
    kept = ~bad
    return Columns({name: cells[kept] for name, cells in values.items()}, int(kept.sum()), kept)


def _first_fault(
    raw: RawTable, faults: list[tuple[FeatureColumn | Label, str, np.ndarray]], schema: Schema
) -> BadRowError:
    row, column, reason = min(
        ((int(np.argmax(fault)), column, reason) for column, reason, fault in faults),
        key=lambda entry: entry[0],
    )
    if not isinstance(column, Label):
        cells = raw.columns[column.name]
        reason = why_no_value(cells, row, column, schema.notation) or reason
    return BadRowError(f"{raw.source}, {raw.where(row)}, column {column.name!r}: {reason}.")
