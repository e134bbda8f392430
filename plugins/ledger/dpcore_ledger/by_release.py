"""A run that is charged release by release: each is on disk before anything is drawn for it.

Nothing is reserved, and nothing comes back. The ledger's filter adds up the events themselves, each
rounded up: to it the releases of all runs are one adaptive sequence, whatever filter a run has
beside, and an interactive mechanism is charged whole when it opens (concurrent composition, Haney
et al. 2023; ``dpcore_ledger.cost``). A release that was charged and not drawn, as after a crash,
stays charged. Where a neighbour of the ledger is several steps of the run's relation, an event
counts as so many.

A release from a part of a session's rows counts as one from all rows.
"""

from __future__ import annotations

import datetime
import secrets
from collections import Counter
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.errors import (
    BudgetExceededError,
    InvalidInputError,
    LedgerError,
    UnsupportedEventError,
)
from dpcore.plugin.ledgers import LedgerEntry
from dpcore.plugin.parts import AdditiveAccountant, ChargeLog, OneProcess, ReservingAccountant
from dpcore_ledger.cost import Cost, grown, times_of
from dpcore_ledger.reference import reference_of
from dpcore_ledger.remaining import budget_that_holds, shown_down
from dpcore_ledger.reservation import close_in
from dpcore_ledger.standing import standing_of_run
from dpcore_ledger.state import OPEN
from dpcore_ledger.stores import part_at

if TYPE_CHECKING:
    from dpcore.plugin.ledgers import Found
    from dpcore.plugin.parts import DpEvent
    from dpcore_ledger.chain import Entry
    from dpcore_ledger.cost import Run
    from dpcore_ledger.decided import Decision
    from dpcore_ledger.state import State
    from dpcore_ledger.table_ledger import TableLedger
    from dpcore_ledger.terms import Terms

__all__ = ["ByRelease", "opened_run"]


def opened_run(
    ledger: TableLedger,
    run: Run,
    stated: dict[str, Any],
    table: dict[str, Any],
    confirmed: bool = False,
) -> ByRelease:
    """Return a run's place in a ledger, with nothing charged yet: its releases are charged to the
    budget that was opened last.

    Raises InvalidInputError as ``TableLedger.reserve``.
    """
    found: list[tuple[State, Terms, int]] = []

    def decide(state: State) -> Decision:
        ledger.require_table(state, table, confirmed)
        terms = state.budgets[-1]
        found.append((state, terms, times_of(run, terms)))
        body = {"budget": len(state.budgets) - 1, "ticks": "0", "aside_ticks": "0"}
        at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        body |= {"stated": stated, "table": table, "confirmed": confirmed}
        return "reserved", at, {**body, "nonce": secrets.token_hex(16)}

    entry = ledger.add(decide)
    return ByRelease(ledger, entry, *found[-1])


class _Log(ChargeLog[LedgerEntry]):
    """A run's charges, each on disk before anything is drawn for it."""

    def __init__(self, ledger: TableLedger, entry: Entry, terms: Terms, times: int) -> None:
        super().__init__()
        self._ledger, self._entry, self._terms, self._times = ledger, entry, terms, times

    def charge(self, entry: LedgerEntry) -> None:
        """Write an entry down, for good. Raises BudgetExceededError where the ledger does not hold
        it, LedgerError where it cannot be written; nothing is drawn then."""
        cost = _cost_of(entry.event, self._terms, self._times)
        number, budget = self._entry.number, self._entry.body["budget"]

        def decide(state: State) -> Decision:
            if state.runs[number].outcome != OPEN:
                raise LedgerError("The run was closed in its ledger: it makes no more releases.")
            if not budget_that_holds(state, cost, budget):
                left = state.spent(budget)
                raise BudgetExceededError(
                    f"The release does not fit into the ledger {self._ledger.path!r}, of whose "
                    f"budget {shown_down(left.remaining)} {left.unit} remains. It was not made, "
                    "nor charged."
                )
            numbers = {"ticks": str(cost.ticks), "aside_ticks": str(cost.aside_ticks)}
            made = {"kind": entry.kind, "mechanism": entry.mechanism}
            return "released", "", {"run": number, **numbers, **made}

        self._ledger.add(decide)
        super().charge(entry)


class ByRelease(OneProcess):
    """A run's place in a ledger, charged release by release (``log``).

    ``reference`` : as that of ``Reservation``.
    """

    def __init__(
        self, ledger: TableLedger, entry: Entry, state: State, terms: Terms, times: int
    ) -> None:
        super().__init__()
        self._ledger, self._entry = ledger, entry
        self.log: ChargeLog[LedgerEntry] = _Log(ledger, entry, terms, times)
        run = state.runs[entry.number].number
        self.reference = reference_of(state.id, run, entry, part_at(ledger.path))

    def charge(self, entry: LedgerEntry) -> None:
        """Charge a release, before anything is drawn for it: ``log`` says what it raises."""
        self.log.charge(entry)

    def close(self, outcome: str, found: Found) -> None:
        """Close the run, which makes no more releases; all that was charged stays."""
        if self._is_here:
            close = partial(self._close, outcome, found)
            close_in(self._ledger, self._entry, outcome, close)

    def standing(self) -> str:
        """Return what the ledger has of the run now, in a sentence."""
        return standing_of_run(self._ledger.chain, self._entry, self.reference["run"])

    def _close(self, outcome: str, found: Found) -> None:
        number = self._entry.number

        def decide(state: State) -> Decision:
            run = state.runs[number]
            if run.outcome != OPEN:
                raise LedgerError(f"Run {run.number} of the ledger was closed while it ran.")
            numbers = {"ticks": str(run.ticks), "aside_ticks": str(run.aside_ticks)}
            return "closed", "", {"run": number, "outcome": outcome, **numbers, **asdict(found)}

        self._ledger.add(decide, tells=False)


def _cost_of(event: DpEvent, terms: Terms, times: int) -> Cost:
    """Return the cost of an event in the ledger's filter."""
    filter = terms.filter
    if not filter.supports(event):
        raise UnsupportedEventError(
            f"The ledger's {filter.name} filter cannot hold a {type(event).__name__}. {_RESERVE}"
        )
    cost = Cost(
        AdditiveAccountant.ticks_up(filter.cost(event)),
        AdditiveAccountant.ticks_up(ReservingAccountant.deltas_of(Counter((event,)))),
    )
    factor = grown(terms, times)
    if factor is None or (times > 1 and cost.aside_ticks):
        raise InvalidInputError(
            f"The ledger is under {terms.relation}, where its filter cannot hold such a release of "
            f"the session. {_RESERVE}"
        )
    return Cost(cost.ticks * factor, cost.aside_ticks)


_RESERVE = "Open the session with an epsilon, which is then reserved in the ledger as a whole."
