"""The run of a search: rows in, the best model and its statement out.

All that can be refused is refused before the charge. After it, whatever a try raises is its
outcome, below every score, and not the search's: an error, and what it says, would tell of one try.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.plugin import Solution
from dpcore.plugin.commands import LedgerRequest, Run
from dpcore.plugin.ledgers import Found, LedgerEntry
from dpcore.plugin.parts import (
    ApproximateDpEvent,
    NoiseSource,
    PrivacyStatement,
    PureDpEvent,
    float_up,
)
from dpcore_tuning.beside import Beside, Sides
from dpcore_tuning.candidate_fits import SEEDS, CandidateFits, constant_of
from dpcore_tuning.scores import HeldOutLosses
from dpcore_tuning.search import WholeBudget
from dpcore_tuning.stopping_cost import left_of
from dpcore_tuning.text import description_of

if TYPE_CHECKING:
    from dpcore.plugin.commands import DataRequest
    from dpcore.plugin.parts import Dataset, Model
    from dpcore_tuning.candidate_fits import CandidateFit
    from dpcore_tuning.search import Search

__all__ = ["tune", "tune_dataset", "tune_run"]

_NONE = "No try came to a model: this one is a public constant."


def tune(search: Search, request: DataRequest, charges: Any, table_ledger: LedgerRequest) -> Any:
    """Return the training of a search on the data that were asked for, without its seconds: they
    would tell how many tries there were."""
    by = partial(tune_run, search)
    return Run.train(search.plans[0], request, None, charges, table_ledger, by)


def tune_dataset(
    search: Search,
    dataset: Dataset,
    why_not_private: tuple[str, ...] = (),
    parts: tuple[str, ...] = (),
    charges: Any = None,
    table_ledger: LedgerRequest | None = None,
    kept_fraction: float = 1.0,
    held_out: Dataset | None = None,
) -> Model:
    """Return the best model of a search on a data set: ``tune_run`` in the place of a ``Run``."""
    told: dict[str, Any] = {} if charges is None else {"charges": charges}
    told |= {"table_ledger": table_ledger, "held_out": held_out, "kept_fraction": kept_fraction}
    return tune_run(search, Run(search.plans[0], dataset, why_not_private, parts, **told))


def tune_run(search: Search, run: Run) -> Model:
    """Return the best model of a search in the place of a fit of the run's plan, its first.

    ``run.held_out`` : rows for the steps that ask such. Raises InvalidInputError for what does not
    fit the rows, LedgerError or BudgetExceededError where a ledger cannot hold the search, all
    before anything is charged.
    """
    plan, dataset, charges = run.plan, run.dataset, run.charges
    reasons = (*plan.why_not_private(), *run.why_not_private)
    run.costs_at_most(search.epsilon, search.delta)
    with charges.told():
        noise = NoiseSource.of_seed(plan.settings.seed)
        sides = _sides(search, run, noise)
        beside = Beside(search, sides, noise)
        tries = CandidateFits(beside.search, sides, noise)
        whole = WholeBudget(search.epsilon, search.delta)
        with run.charged(f"search of {plan.entry.name}", whole) as charged:
            charged.log.charge(_entry(search))
            charges.follow(lambda: (search.epsilon, search.epsilon, "epsilon"))
            ran = _ran(tries, beside)
            charged.found = lambda: _found(ran, dataset, reasons, run.parts)
            ran.finish()
            return _model(ran, _stated(ran, dataset, charged.found(), charged.reference))


def _sides(search: Search, run: Run, noise: NoiseSource) -> Sides:
    """Return the rows split, by a seed of the search's where that is seeded."""
    rows: Any = run.dataset
    search.relation.require_all(rows.rows_dropped)
    seed = None if run.plan.settings.seed is None else noise.integers_below(SEEDS)
    return Sides.of(search, rows, run.held_out, run.kept_fraction, seed)


@dataclass(eq=False)
class _Ran:
    """A search whose fits are made. ``best`` : ``None`` where no try came to a model. ``known`` :
    the run of its steps."""

    tries: CandidateFits
    beside: Beside
    best: CandidateFit | None
    known: Any

    @property
    def search(self) -> Search:
        return self.beside.search

    @property
    def place(self) -> int:
        """The candidate that steps of the result are checked for."""
        return 0 if self.best is None else self.best.place

    @property
    def solution(self) -> Solution:
        """The coefficients that are released, or else the public constant."""
        if self.best is None:
            return Solution(constant_of(self.known.facts.schema.w_shape), _NONE)
        return Solution(self.best.model.w, self.best.model.status)

    def finish(self) -> None:
        """Run the steps of the result."""
        self.known = self.beside.after(self.known, self.place, self.solution)


def _ran(tries: CandidateFits, beside: Beside) -> _Ran:
    known = beside.before()
    tries.begin(known)
    return _Ran(tries, beside, tries.best(), known)


def _found(ran: _Ran, dataset: Any, reasons: tuple[str, ...], parts: tuple[str, ...]) -> Found:
    """Return what is known of the guarantee, which all fits have to hold: parts and numbers of rows
    of every candidate, of the fit released and of the steps beside; where there is none, as many
    rows as any fit may have been for. A reason of any fit that was made, or of a step. The search
    itself, the query of its scores and what it rests on are parts."""
    tries, best, beside = ran.tries, ran.best, ran.beside
    held: Mapping[str, Any] = {"most_rows": tries.capacity}
    held = held if best is None else best.model.privacy
    used = {
        part for p in ran.search.plans for part in (PrivacyStatement.part_of(p.loss), *p.targets)
    }
    used |= {
        PrivacyStatement.part_of(ran.search),
        PrivacyStatement.part_of(HeldOutLosses),
        *parts,
        *beside.parts,
    }
    used |= set(ran.search.rests_on)
    foreign = {
        *PrivacyStatement.foreign_parts(used),
        *held.get("parts_not_from_dpcore", ()),
        *tries.foreign,
    }
    why = dict.fromkeys((*reasons, *sorted(tries.why_not_private), *beside.why_not_private))
    limits = (held.get("most_rows"), tries.most_rows, beside.most_rows)
    most_rows = min((most for most in limits if most is not None), default=None)
    return Found(tuple(why), most_rows, dataset.typed_by, tuple(sorted(foreign)))


def _stated(
    ran: _Ran, dataset: Any, found: Found, reference: dict[str, Any] | None
) -> PrivacyStatement:
    search, tries, best = ran.search, ran.tries, ran.best
    steps: dict[str, Any] = ran.beside.stated(ran.known, ran.place)
    releases = Counter({"search": 1})
    for entry in ran.beside.charges:
        releases[entry["kind"]] += entry["count"]
    stated: dict[str, Any] = {
        name: steps.pop(name) for name in PrivacyStatement.OF_DPCORE if name in steps
    }
    return PrivacyStatement(
        epsilon=search.epsilon,
        delta=search.delta,
        relation=search.relation.value,
        releases=dict(releases),
        parts_not_from_dpcore=found.parts,
        why_not_private=found.why_not_private,
        most_rows=found.most_rows,
        n0=tries.n0,
        capacity=tries.capacity if best is None else best.model.privacy["capacity"],
        typed_by=dataset.typed_by,
        units=dataset.schema.units,
        search=description_of(search, tries.filter, None if best is None else best.place),
        ledger=reference,
        steps=steps or None,
        **stated,
        **_book_keeping(ran),
    )


def _book_keeping(ran: _Ran) -> dict[str, Any]:
    """Return the filter, and what was spent of it: all. It is that of the whole where steps have a
    share of it, else what the search is as one release."""
    whole, each, epsilon = ran.search.whole, ran.tries.filter, ran.search.epsilon
    if not ran.beside:
        return {
            "accountant": each.name,
            "conversion": each.conversion,
            "unit": "epsilon",
            "budget": epsilon,
            "spent": epsilon,
        }
    return {
        "accountant": whole.name,
        "conversion": whole.conversion,
        "unit": whole.unit,
        "budget": whole.budget,
        "spent": whole.budget,
    }


def _entry(search: Search) -> LedgerEntry:
    """Return the one entry of a search: its whole budget."""
    pair = search.epsilon, search.delta
    event = ApproximateDpEvent(*pair) if search.delta else PureDpEvent(search.epsilon)
    return LedgerEntry(0, "search", "Search", event, search.epsilon)


def _model(ran: _Ran, statement: PrivacyStatement) -> Model:
    """Return the model with the statement of the search in the place of its try's own, and what the
    steps found."""
    search, known = ran.search, ran.known
    cost = float_up(left_of(ran.beside.left)) if ran.beside else search.epsilon
    summary = {"kind": "search", "mechanism": "Search", "count": 1, "cost": cost}
    ledger = (summary, *ran.beside.charges)
    if ran.best is None:
        solution = known.solution
        asked = search.plans[0], known.facts.schema, ran.tries.l2, solution, ledger, statement
        return Run.model_of(*asked, known)
    return replace(
        ran.best.model,
        w=known.solution.w,
        status=known.solution.status,
        privacy=statement.to_dict(),
        ledger=ledger,
        evaluation=known.step_data.get("evaluation"),
        intervals=known.step_data.get("intervals"),
        sections=known.sections,
    )
