"""Charge, then draw, for all runs over one table: a run's whole budget is on disk before it asks.

A reservation is the charge. It is one transaction with the file's write lock: what the filter holds
is decided and written before anybody else may decide, so that runs that race never pass the cap
together. After a crash it remains, whole, until a recorded command closes the run as spent.

What comes back when a run ends is what its reservation had above what its releases were charged,
and only where these were charged in the ledger's own unit (``dpcore.ledger.cost``). No charge of a
release ever does.
"""

from __future__ import annotations

import datetime
import os
import secrets
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dpcore.accountants.additive import ticks_up
from dpcore.accountants.reserve import deltas_of
from dpcore.errors import BudgetExceededError, InvalidInputError, LedgerError
from dpcore.exact.rounding import exact
from dpcore.ledger.chain import Chain
from dpcore.ledger.cost import cost_of
from dpcore.ledger.reference import entry_of, reference_of
from dpcore.ledger.remaining import budget_that_holds, epsilon_that_fits, shown_down
from dpcore.ledger.run_log import RunLog
from dpcore.ledger.state import (
    DIED,
    OPEN,
    State,
    state_after,
    state_of,
    totals_and_run,
    totals_of,
)
from dpcore.session.one_process import OneProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpcore.ledger.chain import Entry
    from dpcore.ledger.cost import Cost, Run
    from dpcore.ledger.state import RunState
    from dpcore.ledger.terms import Terms

__all__ = ["Found", "Reservation", "TableLedger"]

_Decision = tuple[str, str, dict[str, Any]]


class TableLedger:
    """A ledger's file. Every method reads it anew, and raises LedgerError as ``Chain`` does."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._chain = Chain(path)
        self.path = self._chain.address

    @classmethod
    def create(cls, path: str | os.PathLike[str], terms: Terms) -> TableLedger:
        """Return the ledger in a new file, with nothing charged."""
        ledger = cls(path)
        id = secrets.token_hex(16)
        body = {"id": id, "terms": terms.to_dict()}
        opened = "opened", _now(), body
        state = state_after(State(id, [], {}, [], []), 1, opened)
        ledger._chain.created("opened", _now(), {**body, "after": state.carried()})
        return ledger

    def close(self) -> None:
        """Close the file, which then is whole by itself; the next call opens it anew."""
        self._chain.store.stays_open = False
        self._chain.store.close()

    def state(self) -> State:
        """Return all that was charged, and to what."""
        return state_of(self._chain.entries())

    def raise_cap(self, terms: Terms) -> None:
        """Open a further budget. What is promised is the sum; raised in the light of what was
        released, it is no promise that was fixed beforehand.

        Raises InvalidInputError where it is of another relation or unit.
        """

        def decide(state: State) -> _Decision:
            first = state.budgets[0]
            if (terms.relation, terms.unit) != (first.relation, first.unit):
                raise InvalidInputError("Expected the relation and unit of the ledger's budget.")
            return "raised", _now(), {"terms": terms.to_dict()}

        self.add(decide)

    def reserve(
        self,
        run: Run,
        stated: dict[str, Any],
        table: dict[str, Any] | None = None,
        confirmed: bool = False,
    ) -> Reservation:
        """Return the reservation of a run's whole budget, on disk.

        ``stated`` : public facts for the table of runs. ``table`` : the digest of its schema and
        its public number of rows; the ledger is of the first one's rows. ``confirmed`` : whether
        another one is of the same, which is recorded.

        Raises BudgetExceededError, with what remains and would fit, and InvalidInputError for a run
        that the ledger cannot hold or another table; nothing is charged then.
        """
        found: list[tuple[Cost, State]] = []

        def decide(state: State) -> _Decision:
            if table is not None:
                self.require_table(state, table, confirmed)
            budget, cost = _that_holds(state, run, self.path)
            found.append((cost, state))
            figures = {"ticks": str(cost.ticks), "aside_ticks": str(cost.aside_ticks)}
            body = {"budget": budget, **figures, "stated": stated, "table": table}
            body |= {} if run.part is None else {"part": run.part.to_dict()}
            body["nonce"] = secrets.token_hex(16)  # Of two copies of a file each has its own.
            return "reserved", _now(), {**body, "confirmed": confirmed}

        self._chain.store.stays_open = True  # Until the run is closed, which writes again.
        try:
            entry = self.add(decide, totals_of)
        except BaseException:
            self.close()
            raise
        return Reservation(self, entry, *found[-1])

    def require_table(self, state: State, table: dict[str, Any], confirmed: bool) -> None:
        """Raise InvalidInputError for another table, unless it is ``confirmed`` to be the same."""
        # A number of rows is compared where both have one: it is public under replace-one alone.
        is_known = any(
            all(old.get(key, value) == value for key, value in table.items())
            for old in state.tables
        )
        if state.tables and not is_known and not confirmed:
            raise InvalidInputError(
                f"The ledger {self.path!r} is of a table with another schema or number of rows. "
                "Nothing was charged. For another table, open another ledger; if these are the "
                "same rows, say so by --same-table (same_table=True), which is recorded."
            )

    def outside(self, stated: dict[str, Any]) -> None:
        """Note a run that guarantees nothing, and that no budget can hold."""
        self.add(lambda _: ("outside", _now(), {"stated": stated}), totals_of)

    def close_as_spent(self, run: int) -> RunState:
        """Close a run that has died, by its number, and return it: its whole reservation is spent.

        Raises InvalidInputError, with the open runs, where there is no such run or it is closed.
        """
        found: list[RunState] = []

        def decide(state: State) -> _Decision:
            still_open = [each for each in state.runs.values() if each.outcome == OPEN]
            found[:] = [each for each in still_open if each.number == run]
            if not found:
                others = ", ".join(str(each.number) for each in still_open) or "none"
                raise InvalidInputError(
                    f"The ledger {self.path!r} has no open run {run}. Open runs: {others}."
                )
            (of_it,) = found
            kind, at, body = _closed(of_it.entry, DIED, of_it.ticks, of_it.aside_ticks)
            return kind, at, {**body, **asdict(Found())}

        self.add(decide)
        return found[0]

    def note_model(self, reference: Mapping[str, Any], digest: str) -> None:
        """Note the SHA-256 of a file that the model of a run, by its reference, was saved in."""
        body = {"run": entry_of(reference), "digest": digest}
        self.add(lambda _: ("model", "", body))

    def add(
        self,
        decide: Callable[[State], _Decision],
        read: Callable[[list[Entry]], State] = state_of,
    ) -> Entry:
        """Return a new entry, decided in the light of the state that ``read`` makes of all before
        it, with the sums after it."""

        def decided(entries: list[Entry]) -> _Decision:
            state = read(entries)
            kind, at, body = decide(state)
            after = state_after(state, len(entries) + 1, (kind, at, body)).carried()
            return kind, at, {**body, "after": after}

        return self._chain.added(decided)


@dataclass(frozen=True)
class Found:
    """The guarantee of a run that has ended, beside its figures.

    Parameters
    ----------
    why_not_private : reasons, as clauses, why it has none after all.
    most_rows, typed_by, parts : its conditions, as ``PrivacyStatement`` has them.
    """

    why_not_private: tuple[str, ...] = ()
    most_rows: int | None = None
    typed_by: str | None = None
    parts: tuple[str, ...] = ()


_NOTHING = Found()


class Reservation(OneProcess):
    """A run's place in a ledger, its whole budget charged.

    Parameters
    ----------
    entry : the reservation as it is stored.
    state : of the ledger with it.
    """

    def __init__(self, ledger: TableLedger, entry: Entry, cost: Cost, state: State) -> None:
        super().__init__()
        self._ledger, self._cost, self._entry = ledger, cost, entry
        self._filter = state.budgets[entry.body["budget"]].filter
        self.log = RunLog(ledger._chain.store, entry.number, entry.digest)
        self.reference = reference_of(state.id, state.runs[entry.number].number, entry)
        """The place of the run in the ledger, which a model keeps."""

    def close(self, outcome: str, found: Found = _NOTHING) -> None:
        """Close the run, which makes no more releases: its log refuses them from now on. A child of
        the process that made it closes nothing: it does not know what its parent released."""
        if not self._is_here:
            return
        number, log = self._entry.number, self.log

        def decide(state: State) -> _Decision:
            run = state.runs[number]
            # Whoever closed it before, as spent, is right: it may have been told to be dead.
            if run.outcome != OPEN:
                raise LedgerError(f"Run {run.number} of the ledger was closed while it ran.")
            kind, at, body = _closed(number, outcome, *self._counted(found))
            ended = {"releases": len(log), "last": log.last, **asdict(found)}
            return kind, at, {**body, **ended}

        try:
            log.close()
            self._ledger.add(decide, lambda entries: totals_and_run(entries, number))
        finally:
            self._ledger.close()

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
        ticks = sum(ticks_up(self._filter.cost(event)) for event in events)
        aside = ticks_up(deltas_of(Counter(events)))
        return ticks * self._cost.times, aside


def _that_holds(state: State, run: Run, path: str) -> tuple[int, Cost]:
    """Return the first budget that holds a run, and its cost there. A budget's filter may hold no
    run of such a kind, and that of a later one hold it."""
    refused = []
    for budget, terms in enumerate(state.budgets):
        try:
            cost = cost_of(run, terms)
        except InvalidInputError as error:
            refused.append(error)
            continue
        if budget_that_holds(state, cost, budget, run.part):
            return budget, cost
    if len(refused) == len(state.budgets):
        raise refused[0]
    raise BudgetExceededError(_refusal(state, run, path))


def _refusal(state: State, run: Run, path: str) -> str:
    left = epsilon_that_fits(state, run)
    fits = f"a run of epsilon {left:.4g} would fit" if left else "no run fits any more"
    used = [state.spent(budget, run.part) for budget in range(len(state.budgets))]
    remain = " and ".join(f"{shown_down(filter.remaining)} {filter.unit}" for filter in used)
    where = "" if run.part is None else f" for {run.part.name}"
    return (
        f"The run's epsilon of {exact(run.accountant.epsilon)} does not fit into the ledger "
        f"{path!r}, of whose budget {remain} remains{where}: {fits}. Nothing was charged."
    )


def _closed(entry: int, outcome: str, ticks: int, aside_ticks: int) -> _Decision:
    figures = {"ticks": str(ticks), "aside_ticks": str(aside_ticks)}
    # Without a time: how long a run takes is in no file.
    return "closed", "", {"run": entry, "outcome": outcome, **figures}


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
