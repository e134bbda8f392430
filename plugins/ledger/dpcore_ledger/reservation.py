"""A run's place in a ledger: its whole budget charged, its releases logged, its end written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.errors import LedgerError
from dpcore.plugin.ledgers import Found
from dpcore.plugin.parts import AdditiveAccountant, OneProcess, ReservingAccountant
from dpcore_ledger.held import Held
from dpcore_ledger.reference import reference_of
from dpcore_ledger.run_log import RunLog
from dpcore_ledger.standing import standing_of_run
from dpcore_ledger.state import OPEN, State, state_of, totals_and_run
from dpcore_ledger.stores import part_at
from dpcore_ledger.stores.store import COPY

if TYPE_CHECKING:
    from dpcore.plugin import Accountant
    from dpcore.plugin.ledgers import LedgerEntry
    from dpcore_ledger.chain import Entry
    from dpcore_ledger.cost import Cost
    from dpcore_ledger.decided import DecidedEntries

__all__ = ["Reservation", "close_in", "closing"]


_NOTHING = Found()


class Reservation(OneProcess):
    """A run's place in a ledger, its whole budget charged.

    Parameters
    ----------
    own : the run's filter, empty, which its releases are held to (``dpcore_ledger.held``).
    entry : the reservation as it is stored.
    state : of the ledger with it.
    """

    def __init__(
        self, ledger: DecidedEntries, own: Accountant, entry: Entry, cost: Cost, state: State
    ) -> None:
        super().__init__()
        self._ledger, self._cost, self._entry = ledger, cost, entry
        self._filter = state.budgets[entry.body["budget"]].filter
        self.log = RunLog(ledger.store, entry.number, entry.digest, Held.of(own))
        run = state.runs[entry.number].number
        self.reference = reference_of(state.id, run, entry, part_at(ledger.path))
        """The place of the run in the ledger, which a model keeps."""

    def charge(self, entry: LedgerEntry) -> None:
        """Log a release, before anything is drawn for it; ``log`` says what it raises."""
        self.log.charge(entry)

    def close(self, outcome: str, found: Found = _NOTHING) -> None:
        """Close the run, which makes no more releases: its log refuses them from now on. A child of
        the process that made it closes nothing: it does not know what its parent released.

        Where the ledger's connection was lost, or the answer to this very entry, it is tried once
        more over a new one. Raises LedgerError where that fails too: the reservation stays, whole.
        """
        if self._is_here:
            close = partial(self._close, outcome, found)
            close_in(self._ledger, self._entry, outcome, close)

    def standing(self) -> str:
        """Return what the ledger has of the run now, in a sentence."""
        return standing_of_run(self._ledger.chain, self._entry, self.reference["run"])

    def _read(self, entries: list[Entry]) -> State:
        number = self._entry.number
        if entries[number - 1 : number] != [self._entry]:
            raise LedgerError(
                f"The ledger {self._ledger.path!r} has no run {self.reference['run']} like this "
                f"one any more: another copy took its place. {COPY}"
            )
        return totals_and_run(entries, number)

    def _close(self, outcome: str, found: Found) -> None:
        number, log = self._entry.number, self.log

        def decide(state: State) -> tuple[str, str, dict[str, Any]]:
            run = state.runs[number]
            # Whoever closed it before, as spent, is right: it may have been told to be dead.
            if run.outcome != OPEN:
                raise LedgerError(f"Run {run.number} of the ledger was closed while it ran.")
            kind, at, body = closing(number, outcome, *self._counted(found))
            return kind, at, {**body, "releases": log.written, "last": log.last, **asdict(found)}

        log.close()
        self._ledger.add(decide, self._read, tells=False)

    def _counted(self, found: Found) -> tuple[int, int]:
        """Return what counts as the run's cost once it is closed."""
        if found.why_not_private:
            return self._cost.ticks, self._cost.aside_ticks
        return self._spent()

    def _spent(self) -> tuple[int, int]:
        """Return what the run's releases cost in the ledger's own filter, each charged to it; the
        whole reservation of a run whose own filter is of another unit."""
        entries = self.log.entries
        if not entries:
            return 0, 0
        # What parts of the rows cost together is not the sum of their releases' costs.
        if self._cost.times is None or any(entry.part is not None for entry in entries):
            return self._cost.ticks, self._cost.aside_ticks
        events = [entry.event for entry in entries]
        ticks = sum(AdditiveAccountant.ticks_up(self._filter.cost(event)) for event in events)
        aside = AdditiveAccountant.ticks_up(ReservingAccountant.deltas_of(Counter(events)))
        return ticks * self._cost.times, aside


def close_in(ledger: DecidedEntries, entry: Entry, outcome: str, close: Callable[[], None]) -> None:
    """Close the run of an entry by ``close``, and close the ledger.

    Where that fails it is looked up over a new connection whether the run has this outcome, which
    nobody else writes; if not, it is tried once more.
    """
    try:
        if _succeeds(close):
            return
        ledger.close()
        run = state_of(ledger.chain.settled()).runs.get(entry.number)
        if run is None or run.outcome != outcome:
            close()
    finally:
        ledger.close()


def _succeeds(close: Callable[[], None]) -> bool:
    try:
        close()
    except LedgerError:
        return False
    return True


def closing(
    entry: int, outcome: str, ticks: int, aside_ticks: int
) -> tuple[str, str, dict[str, Any]]:
    """Return kind, time and body of what closes the run that an entry reserved, so far as all have
    it."""
    numbers = {"ticks": str(ticks), "aside_ticks": str(aside_ticks)}
    # Without a time: how long a run takes is in no file.
    return "closed", "", {"run": entry, "outcome": outcome, **numbers}
