"""The ledger of a budget: its charges, entry by entry, of a session and of users alike. With it is
the contract of a table's ledger with a run.

A package keeps ledgers of tables and registers them (``register_ledgers``). Such a ledger sees no
row. It decides what runs over one table may cost together, so that the statement names a ledger of
others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from dpcore.noise.entropy import Unshareable
from dpcore.privacy.exact_copies import exact_copy

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema
    from dpcore.privacy.events import DpEvent
    from dpcore.privacy.sensitivity import NeighboringRelation
    from dpcore.privacy.unit_of_privacy import RowPart
    from dpcore.protocols import Accountant

__all__ = [
    "Found",
    "ChargeLog",
    "LedgerEntry",
    "LedgerWithin",
    "RunCharges",
    "TableLedger",
    "TableRun",
    "copied",
]

Entry = TypeVar("Entry")
_Charged = TypeVar("_Charged", contravariant=True)


class Charging(Protocol[_Charged]):
    """Whatever writes charges down: a ledger, or a run's place in that of a table."""

    def charge(self, entry: _Charged, /) -> None: ...


class ChargeLog(Unshareable, Generic[Entry]):
    """Charges in their order, in memory: each written before its noise is drawn, none taken back.

    A ledger that is to outlive the process is a subclass whose ``charge`` writes a file first. It
    can be neither copied nor pickled: each copy would be spent by itself.
    """

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def charge(self, entry: Entry) -> None:
        """Write an entry down, for good. Whatever this raises, nothing is drawn then."""
        self._entries.append(entry)


class LedgerWithin(ChargeLog[Entry]):
    """The ledger of one session of several in a run, or of a run whose table has a ledger: a charge
    is written in the whole's first."""

    def __init__(self, whole: Charging[Entry]) -> None:
        super().__init__()
        self._whole = whole

    def charge(self, entry: Entry) -> None:
        self._whole.charge(entry)
        super().charge(entry)


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A session's charge.

    ``cost`` is in the accountant's unit, rounded up; book-keeping, not a guarantee of its own.
    ``part`` : the name of the part whose rows were asked; ``None`` for all rows.
    """

    index: int
    kind: str
    mechanism: str
    event: DpEvent
    cost: float
    part: str | None = None


def copied(entries: Iterable[LedgerEntry]) -> tuple[LedgerEntry, ...]:
    """Return copies of charges: what is done to them is not done to these."""
    return tuple(replace(entry, event=exact_copy(entry.event)) for entry in entries)


@dataclass(frozen=True)
class TableRun:
    """A run before it begins, by public facts.

    Parameters
    ----------
    name : that of its algorithm.
    accountant : its filter, empty.
    relation : its own.
    schema : that of the rows.
    n : the number of rows or units, where that is public.
    part : whose rows it is over; ``None`` for all.
    """

    name: str
    accountant: Accountant
    relation: NeighboringRelation
    schema: Schema
    n: int | None = None
    part: RowPart | None = None


@dataclass(frozen=True)
class Found:
    """The guarantee of a run that has ended, beside its values.

    Parameters
    ----------
    why_not_private : reasons, as clauses, why it has none after all.
    most_rows, typed_by, parts : its conditions, as ``PrivacyStatement`` has them.
    """

    why_not_private: tuple[str, ...] = ()
    most_rows: int | None = None
    typed_by: str | None = None
    parts: tuple[str, ...] = ()


class RunCharges(Protocol):
    """The place of a run in a ledger.

    Parameters
    ----------
    reference : what its model keeps of it, as JSON-able data: the ledger's ``id``, the number of
        the ``run``, and what the ledger itself looks it up by.
    """

    reference: dict[str, Any]

    def charge(self, entry: LedgerEntry) -> None:
        """Write a release down, for good, before anything is drawn for it.

        Raises LedgerError where it cannot be written or the run is closed, BudgetExceededError
        where the ledger does not hold it: nothing is drawn then.
        """

    def close(self, outcome: str, found: Found) -> None:
        """Close the run, which makes no more releases. Raises LedgerError where that cannot be
        written: all that was charged stays."""

    def standing(self) -> str:
        """Return what the ledger has of the run now, in a sentence."""


class TableLedger(Protocol):
    """The ledger of a table, at the path of a file or an address; nothing is opened yet.

    Parameters
    ----------
    address : as the caller, a schema or ``DPCORE_LEDGER`` names it.
    analyst, same_table : as ``LedgerRequest`` has them.
    """

    def __init__(self, address: str, analyst: str = "", same_table: bool = False) -> None: ...

    @classmethod
    def check_address(cls, address: str) -> None:
        """Raise InvalidInputError, which does not repeat it, for an address that is none, or that
        holds a secret: schemas and messages show it."""

    def reserve(self, run: TableRun) -> RunCharges:
        """Return the place of a run, its whole budget charged, on disk.

        Raises BudgetExceededError where the ledger does not hold it, InvalidInputError for a run
        that it cannot hold or another table, LedgerError; nothing is charged then.
        """

    def by_release(self, run: TableRun) -> RunCharges:
        """Return the place of a run that is charged nothing yet: each release is, by itself.
        Raises InvalidInputError and LedgerError as ``reserve``."""

    def outside(self, why_not_private: tuple[str, ...], run: TableRun | None = None) -> None:
        """Note what is computed of the rows without a guarantee, and charge nothing: a run, or
        values that are exact. Raises LedgerError where that cannot be written."""

    def note_model(self, reference: Mapping[str, Any], out: Path) -> None:
        """Note that the model of a run, by its reference, is in a file now. Raises LedgerError, or
        OSError for a file that cannot be read."""
