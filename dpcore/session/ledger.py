"""The ledger of a budget: its charges, entry by entry, of a session and of users alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from dpcore.noise.entropy import Unshareable

if TYPE_CHECKING:
    from dpcore.privacy.events import DpEvent

__all__ = ["Ledger", "LedgerEntry", "LedgerWithin"]

Entry = TypeVar("Entry")
_Charged = TypeVar("_Charged", contravariant=True)


class Charging(Protocol[_Charged]):
    """Whatever writes charges down: a ledger, or a run's place in that of a table."""

    def charge(self, entry: _Charged, /) -> None: ...


class Ledger(Unshareable, Generic[Entry]):
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


class LedgerWithin(Ledger[Entry]):
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
