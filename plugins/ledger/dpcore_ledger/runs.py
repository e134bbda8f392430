"""The ledger of a table as the core's runs use it: what they state, in the ledger's own terms."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore_ledger.by_release import ByRelease, opened_run
from dpcore_ledger.cost import Run
from dpcore_ledger.reservation import Reservation
from dpcore_ledger.row_parts import Part
from dpcore_ledger.stores.address import Address, is_address
from dpcore_ledger.table_ledger import TableLedger

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin.ledgers import TableRun

__all__ = ["LedgerOfRuns"]

_DIGITS = 9


class LedgerOfRuns:
    """The ledger of a table, as ``dpcore.session.ledger.TableLedger`` has it."""

    def __init__(self, address: str, analyst: str = "", same_table: bool = False) -> None:
        self._ledger, self._analyst, self._same_table = TableLedger(address), analyst, same_table

    @classmethod
    def check_address(cls, address: str) -> None:
        """Raise InvalidInputError for an address in a database that is none, or has a password."""
        if is_address(address):
            Address.of(address)

    def reserve(self, run: TableRun) -> Reservation:
        """Return the reservation of a run's whole budget, on disk. Raises as
        ``TableLedger.reserve``."""
        return self._ledger.reserve(*self._described(run), self._same_table)

    def by_release(self, run: TableRun) -> ByRelease:
        """Return the place of a run that is charged release by release. Raises as
        ``opened_run``."""
        return opened_run(self._ledger, *self._described(run), self._same_table)

    def outside(self, why_not_private: tuple[str, ...], run: TableRun | None = None) -> None:
        """Note what guarantees nothing, and that no budget can hold."""
        stated = {"analyst": self._analyst} if run is None else self._stated(run)
        self._ledger.outside({**stated, "why_not_private": list(why_not_private)})

    def note_model(self, reference: Mapping[str, Any], out: Path) -> None:
        """Note the SHA-256 of the file that the model of a run is in now."""
        self._ledger.note_model(reference, hashlib.sha256(out.read_bytes()).hexdigest())

    def _stated(self, run: TableRun) -> dict[str, Any]:
        return {
            "analyst": self._analyst,
            "algorithm": run.name,
            "epsilon": run.accountant.epsilon,
            "delta": run.accountant.delta,
            "accountant": run.accountant.name,
            "relation": run.relation.value,
        }

    def _described(self, run: TableRun) -> tuple[Run, dict[str, Any], dict[str, Any]]:
        """Return a run as the ledger's filter counts it, what is stated of it, and its table."""
        table: dict[str, Any] = {"schema": digest_of_schema(run.schema)}
        if run.n is not None:
            table["n"] = run.n
        unit = None if run.schema.units is None else run.schema.units.column
        own = Run(run.accountant, run.relation.value, unit, _part_of(run, table["schema"]))
        return own, self._stated(run), table


def _part_of(run: TableRun, schema: str) -> Part | None:
    """Return whose rows a run is over, ``None`` for all. ``schema`` : the digest of the table's."""
    part, read_by = run.part, schema
    if part is None:
        return None
    if part.query:
        read_by = hashlib.sha256(f"{schema} {part.query}".encode("ascii")).hexdigest()
    return Part(read_by, part.column, part.name)


def digest_of_schema(schema: Schema) -> str:
    """Return the SHA-256 of a schema, without the ledger that it names, and without a number of
    knots and what they add to a row's norm. Hats follow from a number as it is read, and a run may
    give some to a table without."""
    keys = {key: value for key, value in schema.to_dict().items() if key != "ledger"}
    if "columns" in keys:
        columns = keys["columns"]
        keys["columns"] = [_as_read(column) for column in columns]
        n_curves = sum(new != old for new, old in zip(keys["columns"], columns, strict=True))
        if "row_norm" in keys and n_curves:
            square = max(0.0, keys["row_norm"] ** 2 - n_curves)
            keys["row_norm"] = round(math.sqrt(square), _DIGITS)
    return hashlib.sha256(json.dumps(keys, sort_keys=True, default=str).encode()).hexdigest()


def _as_read(column: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a column by which its cells are read."""
    is_curve = isinstance(column.get("knots"), int)
    return {key: of for key, of in column.items() if not (is_curve and key == "knots")}
