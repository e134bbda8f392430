"""The steps beside a search: those before its fits run once, those of the result on the model that
is released.

Each has its share of the filter of the whole, as beside a fit (``dpcore.fitting.steps.run``): all
that steps state is charged to it first, for every candidate, and the search is within what the most
expensive leave (``dpcore_tuning.stopping_cost``; of a list, each fit has an equal part of it). The
steps run under the whole filter, which was charged the search: it holds both, whichever candidate
comes out. Within a try a step would be released as often as there are tries, and tell their number.

A unit is trained on, scored, or held out for metrics of the model, by coins that do not depend on
any row. Steps ask the rows trained on, or those held out; scores are of the others, whose whole
budget is the search's (``dpcore_tuning.held_out``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore.plugin.commands import Run
from dpcore.plugin.parts import Account, AdditiveAccountant, ChargeLog, LossFacts
from dpcore.plugin.steps import Phase
from dpcore_tuning.stopping_cost import left_of

if TYPE_CHECKING:
    from dpcore.plugin import Solution
    from dpcore.plugin.commands import Plan
    from dpcore.plugin.parts import Dataset, NoiseSource
    from dpcore_tuning.search import Search

__all__ = ["Beside", "Sides", "released_weights"]


@dataclass(frozen=True, eq=False)
class Sides:
    """The rows of a search, in waiting where bounds are private.

    Parameters
    ----------
    fitted, scored : those trained on, and those that scores are of.
    held_out : for metrics of the model that is released; ``None`` for none.
    share : the public part of all rows that are trained on.
    """

    fitted: Dataset
    scored: Dataset
    held_out: Dataset | None
    share: float

    @classmethod
    def of(
        cls, search: Search, dataset: Dataset, held_out: Dataset | None, kept: float, seed: Any
    ) -> Sides:
        """Return the rows split; ``kept`` : the public part of all that ``dataset`` is."""
        fitted, scored = dataset.split(search.held_out, search.relation, seed)
        if search.relation.size_is_public and scored.n_units < 1:
            raise InvalidInputError("No row is held out: raise --held-out, or give more rows.")
        return cls(fitted, scored, held_out, kept * (1.0 - search.held_out))

    def run(self, plan: Plan, held_out: Dataset | None) -> Run:
        """Return the run of a candidate's plan over the rows trained on, and rows held out."""
        told: Any = {"held_out": held_out, "table_ledger": None}  # The search is charged as one.
        return Run(plan, self.fitted, kept_fraction=self.share, **told)


class Beside:
    """The steps beside a search, checked for every candidate, and charged to the whole filter.

    ``search`` : with fits that are within what the steps leave. Raises InvalidInputError where a
    step does not fit, or leaves too little.
    """

    def __init__(self, search: Search, sides: Sides, noise: NoiseSource) -> None:
        first = _Candidate.of(search, search.plans[0], sides)
        others = search.plans[1:] if first.steps.checked else ()
        self._of_each = [first, *(_Candidate.of(search, plan, sides) for plan in others)]
        # Before the fits there is one run, with what the first candidate's steps ask for.
        checked = first.steps.checked
        shared = tuple(step for step in checked if step.phase is not Phase.RESULT)
        self._of_each = [one.with_shared(shared) for one in self._of_each]
        self._sessions = first.run.sessions(noise, ChargeLog())
        self.left: Any = search.whole
        self._first = first.begun
        self.search = self._within(search) if self else search

    def __bool__(self) -> bool:
        return bool(self._of_each[0].steps.checked)

    def _within(self, search: Search) -> Search:
        """Return the search within what its steps leave, each candidate's l2 as it was with all of
        the budget: a fit's own is so beside steps too."""
        left: list[Any] = [one.steps.charged(one.begun).accountant for one in self._of_each]
        if not all(isinstance(one, AdditiveAccountant) for one in left):
            raise InvalidInputError(
                f"A search in parts of the {search.whole.name} accountant takes no steps: name "
                "another one, such as --accountant zcdp (accountant='zcdp')."
            )
        self.left = min(left, key=left_of)
        plans = [
            replace(plan, settings=replace(plan.settings, l2=one.begun.facts.problem.l2))
            for plan, one in zip(search.plans, self._of_each, strict=True)
        ]
        priced = replace(search, plans=tuple(plans)).within(self.left)
        if search.distribution is None:
            for one in left:
                Account.require_within(priced.plans[0].accountant, one, len(plans))
        # The filter of the steps was charged the search: it refuses whatever would pass the whole.
        charged = replace(self.left, spent_ticks=self.left.budget_ticks - self.left.spent_ticks)
        self._first = replace(self._first, accountant=charged)
        return priced

    def before(self) -> Any:
        """Return the run, a ``RunState``, after the steps before the fits, which do not depend on a
        candidate."""
        return self._of_each[0].steps.before(self._first, self._sessions)

    def after(self, known: Any, place: int, solution: Solution) -> Any:
        """Return the run after the steps of the result, on the solution of a candidate."""
        if not self:
            return replace(known, solution=solution)
        own = self._of_each[place]
        facts = replace(own.begun.facts, schema=known.facts.schema)
        state = replace(known, facts=facts, solution=solution).weighted(released_weights(known))
        return own.steps.run(Phase.RESULT, state, self._sessions)

    def stated(self, known: Any, place: int) -> dict[str, dict[str, Any]]:
        """Return the entries of the privacy statement, by name."""
        own = self._of_each[min(place, len(self._of_each) - 1)]
        entries: dict[str, dict[str, Any]] = own.steps.stated(known)
        return entries

    @property
    def parts(self) -> set[str]:
        """The parts of somebody's own, of any candidate's steps or released by them."""
        found = {part for one in self._of_each for part in one.steps.foreign_parts}
        return found.union(self._sessions.parts.foreign)

    @property
    def most_rows(self) -> int | None:
        """The most rows that its releases hold for, where they say so."""
        return self._sessions.parts.most_rows

    @property
    def why_not_private(self) -> list[str]:
        """Reasons of what was released that void the guarantee."""
        return list(self._sessions.why_not_private(self._first.facts.plan))

    @property
    def charges(self) -> tuple[dict[str, Any], ...]:
        """The releases of the steps, kind by kind, in the unit of the whole filter."""
        return self._sessions.summary()


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A candidate's run before its steps, whose filter is that of the whole, and these."""

    run: Run
    begun: Any
    steps: Any

    @classmethod
    def of(cls, search: Search, plan: Plan, sides: Sides) -> _Candidate:
        run = sides.run(plan, sides.held_out)
        ready = run.ready()
        whole = replace(ready.plan, accountant=search.whole)
        begun = replace(run.begun(replace(ready, plan=whole)), needs_dry_run=False)
        return cls(run, begun, run.steps(begun))

    def with_shared(self, before: tuple[Any, ...]) -> _Candidate:
        """Return the candidate with these steps before its own of the result."""
        after = self.steps.of_phase(Phase.RESULT)
        return replace(self, steps=replace(self.steps, checked=(*before, *after)))


def released_weights(known: Any) -> tuple[float, ...]:
    """Return the weights of classes that a step released; ``()`` where none did."""
    plan = known.facts.plan
    loss = plan.loss.loss if LossFacts.of(plan.loss).weighs_rows else plan.loss
    weights: tuple[float, ...] = getattr(loss, "weights", ())
    return weights if plan.settings.are_weighted else ()
