"""Charge, then draw, for all runs over one table: a run's whole budget is on disk before it asks.

A reservation is the charge. It is one transaction with the file's write lock: what the filter holds
is decided and written before anybody else may decide, so that runs that race never pass the cap
together. After a crash it remains, whole, until a recorded command closes the run as spent.

What comes back when a run ends is what its reservation had above what its releases were charged,
and only where these were charged in the ledger's own unit (``dpcore_ledger.cost``). No charge of a
release ever does.
"""

from __future__ import annotations

import datetime
import os
import secrets
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpcore.errors import BudgetExceededError, InvalidInputError, LedgerError
from dpcore.plugin.ledgers import Found
from dpcore.plugin.parts import PrivacyStatement, exact
from dpcore_ledger.cost import cost_of
from dpcore_ledger.decided import DecidedEntries
from dpcore_ledger.reference import entry_of
from dpcore_ledger.remaining import budget_that_holds, epsilon_that_fits, shown_down
from dpcore_ledger.reservation import Reservation, closing
from dpcore_ledger.state import DIED, OPEN, State, state_after, totals_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcore_ledger.chain import Entry
    from dpcore_ledger.cost import Cost, Run
    from dpcore_ledger.decided import Decision
    from dpcore_ledger.state import RunState
    from dpcore_ledger.terms import Terms

__all__ = ["TableLedger"]


class TableLedger(DecidedEntries):
    """A ledger's file. Every method reads it anew, and raises LedgerError as ``Chain`` does."""

    @classmethod
    def create(cls, path: str | os.PathLike[str], terms: Terms) -> TableLedger:
        """Return the ledger in a new file, with nothing charged."""
        ledger = cls(path)
        id = secrets.token_hex(16)
        body = {"id": id, "terms": terms.to_dict()}
        opened = "opened", _now(), body
        state = state_after(State(id, [], {}, [], []), 1, opened)
        ledger.chain.created("opened", _now(), {**body, "after": state.carried()})
        return ledger

    def raise_cap(self, terms: Terms) -> None:
        """Open a further budget. What is promised is the sum; raised in the light of what was
        released, it is no promise that was fixed beforehand.

        Raises InvalidInputError where it is of another relation or unit.
        """

        def decide(state: State) -> Decision:
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
        that the ledger cannot hold or another table; nothing is charged then. Raises LedgerError
        as ``add``.
        """
        found: list[tuple[Cost, State]] = []

        def decide(state: State) -> Decision:
            if table is not None:
                self.require_table(state, table, confirmed)
            budget, cost = _that_holds(state, run, self.path)
            found.append((cost, state))
            numbers = {"ticks": str(cost.ticks), "aside_ticks": str(cost.aside_ticks)}
            body = {"budget": budget, **numbers, "stated": stated, "table": table}
            body |= {} if run.part is None else {"part": run.part.to_dict()}
            body["nonce"] = secrets.token_hex(16)  # Of two copies of a file each has its own.
            return "reserved", _now(), {**body, "confirmed": confirmed}

        self.store.stays_open = True  # Until the run is closed, which writes again.
        try:
            entry = self.add(decide, totals_of)
            self._require_kept(entry)
        except BaseException:
            self.close()
            raise
        return Reservation(self, run.accountant, entry, *found[-1])

    def _require_kept(self, entry: Entry) -> None:
        """Raise LedgerError where a store of somebody's own has not kept the entry."""
        if (
            not PrivacyStatement.is_ours(type(self.store).__module__)
            and entry not in self.chain.entries()
        ):
            raise LedgerError(
                f"The store of the ledger {self.path!r} did not keep the run's reservation: its "
                "package is at fault, and nothing was asked of the rows."
            )

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

        def decide(state: State) -> Decision:
            still_open = [each for each in state.runs.values() if each.outcome == OPEN]
            found[:] = [each for each in still_open if each.number == run]
            if not found:
                others = ", ".join(str(each.number) for each in still_open) or "none"
                raise InvalidInputError(
                    f"The ledger {self.path!r} has no open run {run}. Open runs: {others}."
                )
            (of_it,) = found
            kind, at, body = closing(of_it.entry, DIED, of_it.ticks, of_it.aside_ticks)
            return kind, at, {**body, **asdict(Found())}

        self.add(decide)
        return found[0]

    def note_model(self, reference: Mapping[str, Any], digest: str) -> None:
        """Note the SHA-256 of a file that the model of a run, by its reference, was saved in."""
        body = {"run": entry_of(reference), "digest": digest}
        self.add(lambda _: ("model", "", body))


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


_NONE_FITS = "no run of this kind fits at its delta; a smaller delta may leave room for one"


def _refusal(state: State, run: Run, path: str) -> str:
    left = epsilon_that_fits(state, run)
    fits = f"a run of epsilon {left:.4g} would fit" if left else _NONE_FITS
    used = [state.spent(budget, run.part) for budget in range(len(state.budgets))]
    remain = " and ".join(f"{shown_down(filter.remaining)} {filter.unit}" for filter in used)
    where = "" if run.part is None else f" for {run.part.name}"
    return (
        f"The run's epsilon of {exact(run.accountant.epsilon)} does not fit into the ledger "
        f"{path!r}: {remain} of its budget remains{where}, and {fits}. Nothing was charged."
    )


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
