"""The ledger: the charges of a run, entry by entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcore.privacy.events import DpEvent

__all__ = ["LedgerEntry"]


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One charge: made before its noise was drawn, and never taken back.

    ``cost`` is in the accountant's unit, rounded up; book-keeping, not a guarantee of its own.
    """

    index: int
    kind: str
    mechanism: str
    event: DpEvent
    cost: float
