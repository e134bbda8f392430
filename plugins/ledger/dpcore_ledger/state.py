"""The state of a ledger after its entries: budgets, what of them is gone, and runs.

Every entry carries the sums after it. Whoever reserves takes them from the last entry, whose digest
vouches for them, and need not add up all runs; whoever reads the whole ledger does, and refuses one
in which an entry says another sum.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpcore.errors import LedgerError, replacing
from dpcore_ledger.chain import Entry
from dpcore_ledger.row_parts import Part, most_seen
from dpcore_ledger.stores.store import COPY
from dpcore_ledger.terms import Terms

if TYPE_CHECKING:
    from dpcore.plugin.parts import AdditiveAccountant

__all__ = [
    "DIED",
    "OPEN",
    "UNTOLD",
    "RunState",
    "State",
    "charges_of",
    "seen_of",
    "state_after",
    "state_of",
    "totals_and_run",
    "totals_of",
]

OPEN, DIED = "open", "died"
UNTOLD = (OPEN, DIED)
"""Outcomes of a run that has not said what is known of its guarantee."""
_KINDS = {"opened", "raised", "reserved", "released", "closed", "model", "outside"}
Charges = dict[Part | None, tuple[int, int]]
"""Ticks of the filter, and of the part of delta aside, by the part of the rows; ``None``: all."""

_NEWER = "The ledger has an entry {!r}: take a newer dpcore."


@dataclass
class RunState:
    """A run: its reservation, and how it ended.

    Parameters
    ----------
    number : 1 for the first reservation of the ledger, and so on.
    entry : the number of the entry that reserved it, by which other entries name it.
    budget : the place of the budget that it was charged to.
    reserved : its whole budget, in ticks of the filter and of the part of delta aside; of a run
        that is charged release by release, what was charged.
    ticks, aside_ticks : what counts as its cost now: all of that until it is closed.
    outcome : ``OPEN`` until it is closed; it may still run, or have died.
    found : what is known of its guarantee since it was closed (``table_ledger.Found``).
    models : digests of the files that its model was saved in.
    part : whose rows it was over; ``None`` for all.
    """

    number: int
    entry: int
    at: str
    budget: int
    reserved: tuple[int, int]
    ticks: int
    aside_ticks: int
    stated: dict[str, Any]
    outcome: str = OPEN
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
    runs : by the numbers of the entries that reserved them.
    tables : digests of the schemas, and public numbers of rows, that runs were over.
    outside : entries of runs without a guarantee.
    charged : what counts in each budget.
    sources : numbers of the entries that opened a budget or were over a new table.
    n_runs : how many runs there were, also where ``runs`` has not all of them.
    """

    id: str
    budgets: list[Terms]
    runs: dict[int, RunState]
    tables: list[dict[str, Any]]
    outside: list[Entry]
    charged: list[Charges] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    n_runs: int = 0

    def spent(self, budget: int, part: Part | None = None) -> AdditiveAccountant:
        """Return a budget's filter after all runs that were charged to it: as a further run over a
        part finds it, ``None`` for all rows."""
        return self.budgets[budget].spent(*seen_of(self.charged[budget], part))

    def carried(self) -> dict[str, Any]:
        """Return what an entry says of the sums after it."""
        sums = [
            [[part and part.to_dict(), str(ticks), str(aside)] for part, (ticks, aside) in each]
            for each in (charges.items() for charges in self.charged)
        ]
        return {"charged": sums, "sources": self.sources}

    def _charge(self, run: RunState, ticks: int, aside_ticks: int) -> None:
        charges = self.charged[run.budget]
        before = charges.get(run.part, (0, 0))
        charges[run.part] = before[0] + ticks, before[1] + aside_ticks

    def parts(self, budget: int) -> list[Part]:
        """Return the parts that runs of a budget were over, in the order of the first ones."""
        return [part for part in self.charged[budget] if part is not None]


def seen_of(charges: Charges, part: Part | None = None) -> tuple[int, int]:
    """Return the most that a row sees of a budget's charges (``dpcore_ledger.row_parts``): ticks of
    the filter and of the part of delta aside."""
    ticks = most_seen(((of, each[0]) for of, each in charges.items()), part)
    return ticks, most_seen(((of, each[1]) for of, each in charges.items()), part)


def charges_of(after: dict[str, Any]) -> list[Charges]:
    """Return what counts in each budget, as an entry carries it."""
    return [
        {part and Part(**part): (int(ticks), int(aside)) for part, ticks, aside in charges}
        for charges in after["charged"]
    ]


def state_of(entries: list[Entry]) -> State:
    """Return the state after entries whose digests were verified; LedgerError for one of a kind
    that this version does not know, or that says another sum than there is."""
    with _altered_told():
        state = State(entries[0].body["id"], [], {}, [], [])
        for entry in entries:
            body = entry.body
            _take(state, entry, body)
            if body["after"] != state.carried():
                raise LedgerError(f"Entry {entry.number} of the ledger does not add up. {COPY}")
        return state


def _altered_told() -> AbstractContextManager[None]:
    """Turn what entries raise whose digests are right and whose content is not into a
    LedgerError."""
    altered = LedgerError(f"The ledger has an entry that no run writes: it was altered. {COPY}")
    kinds = KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError
    return replacing(*kinds, by=lambda _: altered)


def totals_of(entries: list[Entry]) -> State:
    """Return the state without runs and entries outside: what was charged, as the last entry has
    it, to which budgets, and for which tables; LedgerError as ``state_of``, but for the sums."""
    for kind in {entry.kind for entry in entries} - _KINDS:
        raise LedgerError(_NEWER.format(kind))
    with _altered_told():
        after = entries[-1].body["after"]
        state = State(entries[0].body["id"], [], {}, [], [])
        for number in after["sources"]:
            _take(state, entries[number - 1], entries[number - 1].body)
        state.runs.clear()
        state.n_runs = _n_runs(entries)
        state.charged = charges_of(after)
        return state


def totals_and_run(entries: list[Entry], run: int) -> State:
    """Return the state as ``totals_of`` does, with the run in it that this entry reserved."""
    state = totals_of(entries)
    alone = State(state.id, state.budgets, {}, [], [], [{} for _ in state.budgets])
    alone.n_runs = _n_runs(entries[: run - 1])
    for entry in entries[run - 1 :]:
        if entry.number == run or (entry.kind == "closed" and entry.body["run"] == run):
            _take(alone, entry, entry.body)
    state.runs.update(alone.runs)
    return state


def _n_runs(entries: list[Entry]) -> int:
    return sum(entry.kind == "reserved" for entry in entries)


def state_after(state: State, number: int, decision: tuple[str, str, dict[str, Any]]) -> State:
    """Return the state with one entry more, which is not written yet."""
    kind, at, body = decision
    _take(state, Entry(number, kind, at, "", ""), body)
    return state


def _take(state: State, entry: Entry, body: dict[str, Any]) -> None:
    match entry.kind:
        case "opened" | "raised":
            state.budgets.append(Terms.from_dict(body["terms"]))
            state.charged.append({})
            state.sources.append(entry.number)
        case "reserved":
            if body["table"] is not None and body["table"] not in state.tables:
                state.tables.append(body["table"])
                state.sources.append(entry.number)
            cost = _cost(body)
            part = Part(**body["part"]) if "part" in body else None
            state.n_runs += 1
            place = state.n_runs, entry.number, entry.at, body["budget"]
            state.runs[entry.number] = RunState(*place, cost, *cost, body["stated"], part=part)
            state._charge(state.runs[entry.number], *cost)
        case "released":
            run, cost = state.runs[body["run"]], _cost(body)
            run.ticks, run.aside_ticks = run.ticks + cost[0], run.aside_ticks + cost[1]
            run.reserved = run.ticks, run.aside_ticks
            state._charge(run, *cost)
        case "closed":
            run = state.runs[body["run"]]
            run.outcome = body["outcome"]
            names = ("why_not_private", "most_rows", "typed_by", "parts")
            run.found = {name: body[name] for name in names if body[name]}
            before = run.ticks, run.aside_ticks
            # An entry could only ever count less than its reservation.
            ticks, aside_ticks = _cost(body)
            run.ticks, run.aside_ticks = min(run.ticks, ticks), min(run.aside_ticks, aside_ticks)
            state._charge(run, run.ticks - before[0], run.aside_ticks - before[1])
        case "model":
            state.runs[body["run"]].models.append(body["digest"])
        case "outside":
            state.outside.append(entry)
        case kind:
            raise LedgerError(_NEWER.format(kind))


def _cost(body: dict[str, Any]) -> tuple[int, int]:
    cost = int(body["ticks"]), int(body["aside_ticks"])
    if min(cost) < 0:
        raise LedgerError("The ledger has a cost below nought, which no run has: it was altered.")
    return cost
