"""The cells of columns as plain numbers, under a schema: each is a function of that cell, of the
schema and of the declared type of the column (``dpcore_tables.cells.typed``). A cell never affects
another row.

A row that does not satisfy the schema is refused with its place (for the owner's eyes: this is
loading), or mapped to no row. Either way the result is a function of each row alone. Rows are
dropped where the number of rows is private (add-or-remove-one): replace-one makes it public.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dpcore.errors import BadRowError, DataError, replacing
from dpcore.plugin.columns import ColumnPlan, Drop, FeatureColumn, Label, transforms
from dpcore_tables.cells.columns import Columns, Reading
from dpcore_tables.cells.error_hints import advice_on
from dpcore_tables.cells.ids import ids_of
from dpcore_tables.cells.numbers_of_kinds import numbers_of
from dpcore_tables.cells.typed import Cells, UnreadTypeError, empty_cells, to_codes, to_numbers
from dpcore_tables.cells.weights import NO_WEIGHT, as_number, no_weights

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from dpcore import Schema
    from dpcore.plugin.columns import Notation
    from dpcore.plugin.engines import BadRows
    from dpcore.plugin.parts import Units
    from dpcore_tables.raw.raw_table import RawTable

__all__ = ["validate_rows", "convert_column", "unread_told"]

_NO_ID = "the cell is no id of a unit: expected text or a whole number"
_EMPTY_ID = (
    "the cell is empty, and is to hold the id of a unit (where a row without one is to be a unit "
    'by itself, a schema says so: unit = {name}, rows_per_unit = K, unit_missing = "row")'
)


def validate_rows(
    raw: RawTable,
    schema: Schema,
    *,
    labelled: bool = True,
    bad_rows: BadRows = "refuse",
    weight: str | None = None,
) -> Columns:
    """Return the cells of every row that satisfies the schema. ``weight`` : the column of weights.

    Raises DataError with file, line and column for the first row that does not, or drops such rows
    if ``bad_rows`` is ``"drop"``.
    """
    _require_lengths(raw, schema, labelled=labelled, weight=weight)
    values: dict[str, np.ndarray] = {}
    faults: list[tuple[FeatureColumn | Label | Drop, str, np.ndarray]] = []
    plans = schema.plans if labelled else schema.plans[:-1]
    for plan in plans:
        numbers, fault, reason = _told(raw.columns[plan.name], plan, raw.source)
        values[plan.name] = numbers
        if fault is not None and fault.any():
            faults.append((plan.column, reason, fault))
    ids = None
    if labelled and schema.unit is not None:
        ids = _ids(raw, schema.units, schema.notation, faults)
    weights = None if weight is None else _weights(raw, weight, schema.notation, faults)
    if not faults:
        return Columns(values, raw.n_rows, ids=ids, weights=weights)
    if bad_rows != "drop":
        raise _first_fault(raw, faults, schema)
    kept = ~np.logical_or.reduce([fault for _, _, fault in faults])
    values = {name: cells[kept] for name, cells in values.items()}
    of_rows = (None if each is None else each[kept] for each in (ids, weights))
    return Columns(values, int(kept.sum()), kept, *of_rows)


def _require_lengths(raw: RawTable, schema: Schema, *, labelled: bool, weight: str | None) -> None:
    """Refuse columns of other lengths: a cell of one would be in another row, or in several, and a
    row would no longer bound what a person contributes."""
    plans = schema.plans if labelled else schema.plans[:-1]
    names = [plan.name for plan in plans]
    names += [schema.unit] if labelled and schema.unit is not None else []
    names += [] if weight is None else [weight]
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
    return _told(cells, ColumnPlan.of(column, notation), source)


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
        unknown, codes = numbers < 0, np.maximum(numbers, transforms.Lookup.UNKNOWN)
        if plan.empty_level is not None:
            codes[unknown & empty_cells(cells, plan.notation)] = plan.empty_level
        is_fault = isinstance(plan.reading, transforms.Lookup) and plan.reading.unknown == "fault"
        return codes, codes < 0 if is_fault else None, reason
    if isinstance(plan.reading, (transforms.Lookup, transforms.Hash)):
        numbers = np.where(numbers < 0, np.nan, numbers)
    bad = ~np.isfinite(numbers)
    if plan.takes_empty and bad.any():
        bad &= ~empty_cells(cells, plan.notation)
    return numbers, bad, reason


def _label(cells: Cells, plan: ColumnPlan) -> Reading:
    """Return labels as rows hold them, which are faults, and the reason."""
    is_real = isinstance(plan.reading, transforms.Number)
    return plan.labels(to_numbers(cells, plan.notation) if is_real else to_codes(cells, plan))


def _read_feature(cells: Cells, plan: ColumnPlan) -> tuple[np.ndarray, str]:
    if isinstance(plan.reading, transforms.Number):
        return to_numbers(cells, plan.notation), transforms.Number.FAULT
    if isinstance(plan.reading, transforms.Lookup):
        return to_codes(cells, plan), "the cell is none of the levels"
    return numbers_of(cells, plan)


def _ids(
    raw: RawTable,
    units: Units | None,
    notation: Notation,
    faults: list[tuple[FeatureColumn | Label | Drop, str, np.ndarray]],
) -> np.ndarray:
    """Return the ids of the rows' units, and add rows without a needed id, or with a cell that is
    no id, to the faults."""
    assert units is not None
    with unread_told(raw.source, units.column):
        ids, bad = ids_of(raw.columns[units.column], notation)
    empty = np.fromiter((id is None for id in ids), bool, len(ids)) & ~bad
    missing = empty & (units.missing == "refuse")
    quoted = json.dumps(units.column, ensure_ascii=False)
    reasons = {_EMPTY_ID.format(name=quoted): missing, _NO_ID: bad}
    faults += [(Drop(units.column), text, fault) for text, fault in reasons.items() if fault.any()]
    return ids


def _weights(
    raw: RawTable,
    name: str,
    notation: Notation,
    faults: list[tuple[FeatureColumn | Label | Drop, str, np.ndarray]],
) -> np.ndarray:
    """Return the weights of the rows, and add rows with a cell that is none to the faults."""
    weights = convert_column(raw.columns[name], as_number(name), notation, raw.source)[0]
    bad = no_weights(weights)
    faults += [(Drop(name), NO_WEIGHT, bad)] if bad.any() else []
    return weights


def _first_fault(
    raw: RawTable,
    faults: list[tuple[FeatureColumn | Label | Drop, str, np.ndarray]],
    schema: Schema,
) -> BadRowError:
    row, column, reason = min(
        ((int(np.argmax(fault)), column, reason) for column, reason, fault in faults),
        key=lambda entry: entry[0],
    )
    if not isinstance(column, (Label, Drop)):
        cells = raw.columns[column.name]
        reason = advice_on(cells, row, column, schema.notation) or reason
    return BadRowError(f"{raw.source}, {raw.where(row)}, column {column.name!r}: {reason}.")
