"""The cells of columns as plain numbers, under a schema: each is a function of that cell, of the
schema and of the declared type of the column (``dpcore.data.cells.typed``). A cell never affects
another row.

A row that does not satisfy the schema is refused with its place (for the owner's eyes: this is
loading), or mapped to no row. Either way the result is a function of each row alone. Rows are
dropped where the number of rows is private (add-or-remove-one): replace-one makes it public.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dpcore.data.cells.columns import Columns
from dpcore.data.cells.targets import target_of
from dpcore.data.cells.typed import Cells, UnreadTypeError, empty_cells, to_codes, to_numbers
from dpcore.data.loader import cell_reader
from dpcore.data.schema.columns import Column, Drop, FeatureColumn, Label
from dpcore.data.schema.features.transforms import Hash, Lookup, Number
from dpcore.data.schema.plan import ColumnPlan, column_plan
from dpcore.data.schema.toml_writer import format_value
from dpcore.data.schema.vocabulary import ABSENT, UNKNOWN
from dpcore.errors import BadRowError, DataError, InvalidInputError, replacing

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from dpcore.data.readers import BadRows
    from dpcore.data.readers.raw_table import RawTable
    from dpcore.data.schema.notation import Notation
    from dpcore.data.schema.schema import Schema
    from dpcore.privacy.units import Units

__all__ = ["NO_NUMBER", "Reading", "conform", "convert_column", "unread_told"]

NO_NUMBER = (
    "the cell is not a finite number (if it is a word for no value, list it in missing = [...] of "
    "the column or of the schema)"
)
_MOST_SHOWN = 8
_NO_ID = "the cell is no id of a unit: expected text or a whole number"
_EMPTY_ID = (
    "the cell is empty, and is to hold the id of a unit (where a row without one is to be a unit "
    'by itself, a schema says so: unit = {name}, rows_per_unit = K, unit_missing = "row")'
)

Reading = tuple[np.ndarray, np.ndarray | None, str]
"""Cells as numbers, which of them are faults (bool or None), and the reason.

Those of categories and buckets are int32, the level's position, -1 for none. All others are
float64: a number, the position of an ordinal level, 0 or 1 for false or true, the days of a date
since 1970-01-01; NaN where the cell is empty and the schema says what becomes of it.
"""


def conform(
    raw: RawTable, schema: Schema, *, labelled: bool = True, bad_rows: BadRows = "refuse"
) -> Columns:
    """Return the cells of every row that satisfies the schema.

    Raises DataError with file, line and column for the first row that does not, or drops such rows
    if ``bad_rows`` is ``"drop"``.
    """
    _require_lengths(raw, schema, labelled=labelled)
    values: dict[str, np.ndarray] = {}
    faults: list[tuple[Column, str, np.ndarray]] = []
    plans = schema.plans if labelled else schema.plans[:-1]
    for plan in plans:
        numbers, fault, reason = _told(raw.columns[plan.name], plan, raw.source)
        values[plan.name] = numbers
        if fault is not None and fault.any():
            faults.append((plan.column, reason, fault))
    ids = None
    if labelled and schema.unit is not None:
        ids = _ids(raw, schema.units, schema.notation, faults)
    if not faults:
        return Columns(values, raw.n_rows, ids=ids)
    if bad_rows != "drop":
        raise _first_fault(raw, faults, schema)
    kept = ~np.logical_or.reduce([fault for _, _, fault in faults])
    values = {name: cells[kept] for name, cells in values.items()}
    return Columns(values, int(kept.sum()), kept, None if ids is None else ids[kept])


def _require_lengths(raw: RawTable, schema: Schema, *, labelled: bool) -> None:
    """Refuse columns of other lengths: a cell of one would be in another row, or in several, and a
    row would no longer bound what a person contributes."""
    plans = schema.plans if labelled else schema.plans[:-1]
    names = [plan.name for plan in plans]
    names += [schema.unit] if labelled and schema.unit is not None else []
    for name in names:
        cells = raw.columns[name]
        if len(cells) != raw.n_rows or getattr(cells, "ndim", 1) != 1:
            raise DataError(f"{raw.source}: column {name!r} has not one cell for each row.")


def convert_column(
    cells: Cells, column: FeatureColumn | Label, notation: Notation, source: str
) -> Reading:
    """Return the reading of a column; DataError for a type that has none.

    ``notation`` : the table's, to which the column adds its own words for no value.
    """
    return _told(cells, column_plan(column, notation), source)


def unread_told(source: str, name: str, of: str = "") -> AbstractContextManager[None]:
    """Turn what a block raises of a column whose type or bytes it cannot read into a DataError.
    ``of`` : more of the sentence."""
    return replacing(
        UnreadTypeError,
        pa.ArrowException,
        UnicodeError,
        by=lambda error: _unread_error(source, name, of, error),
    )


def _told(cells: Cells, plan: ColumnPlan, source: str) -> Reading:
    try:
        return _read(cells, plan)
    except (UnreadTypeError, pa.ArrowException, UnicodeError) as error:
        caught: Exception = error
    of = f" as {plan.column.kind}: it is of type {getattr(cells, 'type', 'object')}"
    fault = _unread_error(source, plan.name, of, caught)
    del caught  # Its text may quote a cell: neither context nor a local variable.
    raise fault


def _unread_error(source: str, name: str, of: str, error: Exception) -> DataError:
    if isinstance(error, UnreadTypeError):
        return DataError(f"{source}: column {name!r} {error}")
    return DataError(f"{source}: column {name!r} cannot be read{of} ({type(error).__name__}).")


def _read(cells: Cells, plan: ColumnPlan) -> Reading:
    if plan.encoding is None:
        return _label(cells, plan)
    numbers, reason = _read_feature(cells, plan)
    if plan.encoding.is_code:
        unknown, codes = numbers < 0, np.maximum(numbers, UNKNOWN)
        if plan.empty_level is not None:
            codes[unknown & empty_cells(cells, plan.notation)] = plan.empty_level
        is_fault = isinstance(plan.reading, Lookup) and plan.reading.unknown == "fault"
        return codes, codes < 0 if is_fault else None, reason
    if isinstance(plan.reading, (Lookup, Hash)):
        numbers = np.where(numbers < 0, np.nan, numbers)
    bad = ~np.isfinite(numbers)
    if plan.takes_empty and bad.any():
        bad &= ~empty_cells(cells, plan.notation)
    return numbers, bad, reason


def _label(cells: Cells, plan: ColumnPlan) -> Reading:
    """Return labels as rows hold them, which are faults, and the reason."""
    column = plan.column
    assert isinstance(column, Label)
    if isinstance(plan.reading, Number):
        numbers = to_numbers(cells, plan.notation)
        return target_of(column, numbers), ~np.isfinite(numbers), "the label is not a finite number"
    places = to_codes(cells, plan)
    fault = places < 0 if plan.others is None else places == ABSENT
    places = np.where(places < 0, plan.others or 0, places)
    y = 2.0 * places - 1.0 if len(column.classes) == 2 else 1.0 * places
    return y, fault, _no_class(column, plan) if fault.any() else ""


def _no_class(column: Label, plan: ColumnPlan) -> str:
    """Return why a label is none, with the public classes."""
    if plan.others is not None:
        return f"the label is missing{', or no number' if column.takes_numbers else ''}"
    values = column.values
    shown = [*map(repr, values[:_MOST_SHOWN]), *(["..."] if len(values) > _MOST_SHOWN else [])]
    return (
        f"the label is not one of the classes {', '.join(shown)}, which `classes` sets: list it "
        "there, or let a schema's `other` name a class for all other values"
    )


def _read_feature(cells: Cells, plan: ColumnPlan) -> tuple[np.ndarray, str]:
    if isinstance(plan.reading, Number):
        return to_numbers(cells, plan.notation), NO_NUMBER
    if isinstance(plan.reading, Lookup):
        return to_codes(cells, plan), "the cell is none of the levels"
    return cell_reader().numbers(cells, plan)


def _ids(
    raw: RawTable,
    units: Units | None,
    notation: Notation,
    faults: list[tuple[Column, str, np.ndarray]],
) -> np.ndarray:
    """Return the ids of the rows' units, and add rows without a needed id, or with a cell that is
    no id, to the faults."""
    assert units is not None
    with unread_told(raw.source, units.column):
        ids, bad = cell_reader().ids(raw.columns[units.column], notation)
    empty = np.fromiter((id is None for id in ids), bool, len(ids)) & ~bad
    missing = empty & (units.missing == "refuse")
    reasons = {_EMPTY_ID.format(name=format_value(units.column)): missing, _NO_ID: bad}
    faults += [(Drop(units.column), text, fault) for text, fault in reasons.items() if fault.any()]
    return ids


def _first_fault(
    raw: RawTable, faults: list[tuple[Column, str, np.ndarray]], schema: Schema
) -> BadRowError:
    row, column, reason = min(
        ((int(np.argmax(fault)), column, reason) for column, reason, fault in faults),
        key=lambda entry: entry[0],
    )
    if not isinstance(column, (Label, Drop)):
        cells = raw.columns[column.name]
        with suppress(InvalidInputError):  # Where nothing is installed that knows better.
            reason = cell_reader().advice(cells, row, column, schema.notation) or reason
    return BadRowError(f"{raw.source}, {raw.where(row)}, column {column.name!r}: {reason}.")
