"""The state of a ledger after its entries: budgets, what of them is gone, and runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpcore.errors import LedgerError
from dpcore.ledger.parts import Part, most_seen
from dpcore.ledger.terms import Terms

if TYPE_CHECKING:
    from dpcore.accountants.additive import AdditiveAccountant
    from dpcore.ledger.chain import Entry

__all__ = ["RunState", "State", "state_of"]


@dataclass
class RunState:
    """A run: its reservation, and how it ended.

    Parameters
    ----------
    budget : the place of the budget that it was charged to.
    reserved : its whole budget, in ticks of the filter and of the part of delta aside; of a run
        that is charged release by release, what was charged.
    ticks, aside_ticks : what counts as its cost now: all of that until it is closed.
    outcome : ``"open"`` until it is closed; it may still run, or have died.
    found : what is known of its guarantee since it was closed (``table_ledger.Found``).
    models : digests of the files that its model was saved in.
    part : whose rows it was over; ``None`` for all.
    """

    number: int
    at: str
    budget: int
    reserved: tuple[int, int]
    ticks: int
    aside_ticks: int
    stated: dict[str, Any]
    outcome: str = "open"
    found: dict[str, Any] = field(default_factory=dict)
    models: list[str] = field(default_factory=list)
    part: Part | None = None


@dataclass
class State:
    """All of a ledger.

    Parameters
    ----------
    id : random, of the file.
    budgets : the first, and those that raises opened.
    runs : by the numbers of their reservations.
    tables : digests of the schemas, and public numbers of rows, that runs were over.
    outside : entries of runs without a guarantee.
    """

    id: str
    budgets: list[Terms]
    runs: dict[int, RunState]
    tables: list[dict[str, Any]]
    outside: list[Entry]
    digest: str

    def spent(self, budget: int, part: Part | None = None) -> AdditiveAccountant:
        """Return a budget's filter after all runs that were charged to it: as a further run over a
        part finds it, ``None`` for all rows."""
        of_it = [run for run in self.runs.values() if run.budget == budget]
        ticks = most_seen(((run.part, run.ticks) for run in of_it), part)
        aside = most_seen(((run.part, run.aside_ticks) for run in of_it), part)
        return self.budgets[budget].spent(ticks, aside)

    def parts(self, budget: int) -> list[Part]:
        """Return the parts that runs of a budget were over, in the order of the first ones."""
        of_it = [run.part for run in self.runs.values() if run.budget == budget]
        return list(dict.fromkeys(part for part in of_it if part is not None))


def state_of(entries: list[Entry]) -> State:
    """Return the state after entries whose digests were verified; LedgerError for one of a kind
    that this version does not know."""
    first, *others = entries
    state = State(first.body["id"], [], {}, [], [], entries[-1].digest)
    for entry in (first, *others):
        _take(state, entry)
    return state


def _take(state: State, entry: Entry) -> None:
    body = entry.body
    match entry.kind:
        case "opened" | "raised":
            state.budgets.append(Terms.from_dict(body["terms"]))
        case "reserved":
            if body["table"] is not None and body["table"] not in state.tables:
                state.tables.append(body["table"])
            cost = _cost(body)
            part = Part(**body["part"]) if "part" in body else None
            state.runs[entry.number] = RunState(
                entry.number, entry.at, body["budget"], cost, *cost, body["stated"], part=part
            )
        case "released":
            run = state.runs[body["run"]]
            ticks, aside_ticks = _cost(body)
            run.ticks, run.aside_ticks = run.ticks + ticks, run.aside_ticks + aside_ticks
            run.reserved = run.ticks, run.aside_ticks
        case "closed":
            run = state.runs[body["run"]]
            run.outcome = body["outcome"]
            names = ("why_not_private", "most_rows", "typed_by", "parts")
            run.found = {name: body[name] for name in names if body[name]}
            # An entry could only ever count less than its reservation.
            ticks, aside_ticks = _cost(body)
            run.ticks, run.aside_ticks = min(run.ticks, ticks), min(run.aside_ticks, aside_ticks)
        case "model":
            state.runs[body["run"]].models.append(body["digest"])
        case "outside":
            state.outside.append(entry)
        case kind:
            raise LedgerError(f"The ledger has an entry {kind!r}: take a newer dpcore.")


def _cost(body: dict[str, Any]) -> tuple[int, int]:
    cost = int(body["ticks"]), int(body["aside_ticks"])
    if min(cost) < 0:
        raise LedgerError("The ledger has a cost below nought, which no run has: it was altered.")
    return cost
