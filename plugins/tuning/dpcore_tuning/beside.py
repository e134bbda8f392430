"""The steps beside a search: those before its fits run once, those of the result on the model that
is released.

Each has its share of the filter of the whole, as beside a fit (``dpcore.fitting.steps.run``): all
that steps state is charged to it first, for every candidate, and the search is within what the most
expensive leave (``dpcore_tuning.stopping_cost``; of a list, each fit has an equal part of it). The
steps run under the whole filter, which was charged the search: it holds both, whichever candidate
comes out. Within a try a step would be released as often as there are tries, and tell their number.

A unit is trained on, scored, or held out for figures of the model, by coins that do not depend on
any row. Steps ask the rows trained on, or those held out; scores are of the others, whose whole
budget is the search's (``dpcore_tuning.held_out``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from dpcore.accountants.equal_parts import require_within
from dpcore.errors import InvalidInputError
from dpcore.fitting.planning.public_facts import check_dataset
from dpcore.fitting.reporting import summarise, why_released
from dpcore.fitting.request.run_request import Run
from dpcore.fitting.rows.unbounded import rehearsed_rows
from dpcore.fitting.run_state import RunDoor, RunState
from dpcore.fitting.steps.checked import checked, foreign_parts_of, steps_of, weighted
from dpcore.fitting.steps.run import charged_for_step, run_before, run_one, stated_of
from dpcore.plugin.parts import AdditiveAccountant, Ledger
from dpcore.plugin.steps import Phase, ResultView
from dpcore.session.charges import Charges
from dpcore_tuning.stopping_cost import left_of

if TYPE_CHECKING:
    from dpcore.fitting.planning.ready import Ready
    from dpcore.plugin import Solution
    from dpcore.plugin.parts import Dataset, NoiseSource
    from dpcore_tuning.search import Search

__all__ = ["Beside", "Sides", "released_weights"]


@dataclass(frozen=True, eq=False)
class Sides:
    """The rows of a search, in waiting where bounds are private.

    Parameters
    ----------
    fitted, scored : those trained on, and those that scores are of.
    held_out : for figures of the model that is released; ``None`` for none.
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

    def none(self) -> tuple[Dataset, Dataset]:
        """Return none of the rows trained on, and none of those scored, encoded."""
        schema = self.fitted.schema
        return rehearsed_rows(self.fitted, schema), rehearsed_rows(self.scored, schema)


class Beside:
    """The steps beside a search, checked for every candidate, and charged to the whole filter.

    ``search`` : with fits that are within what the steps leave. Raises InvalidInputError where a
    step does not fit, or leaves too little.
    """

    def __init__(self, search: Search, sides: Sides, noise: NoiseSource) -> None:
        schema = sides.fitted.schema
        has_steps = any(True for _ in steps_of(search.plans[0].settings, schema))
        plans = search.plans if has_steps else search.plans[:1]
        ready = [check_dataset(plan, sides.fitted, sides.share) for plan in plans]
        self._states = [_begun(search, one, sides) for one in ready]
        of_each = [
            checked(steps_of(state.facts.plan.settings, schema), state.facts)
            for state in self._states
        ]
        # Before the fits there is one run, with what the first candidate's steps ask for.
        before = tuple(step for step in of_each[0] if step.phase is not Phase.RESULT)
        self.steps = [
            (*before, *(step for step in steps if step.phase is Phase.RESULT)) for steps in of_each
        ]
        self._door = RunDoor(noise, None, Charges(), Ledger())
        self.left: Any = search.whole
        self._first = self._states[0]
        self.search = self._within(search, ready) if has_steps else search

    def _within(self, search: Search, ready: list[Ready]) -> Search:
        """Return the search within what its steps leave, each candidate's l2 as it was with all of
        the budget: a fit's own is so beside steps too."""
        pairs = zip(self.steps, self._states, strict=True)
        charged_for = [reduce(charged_for_step, steps, state) for steps, state in pairs]
        left: list[Any] = [state.accountant for state in charged_for]
        if not all(isinstance(one, AdditiveAccountant) for one in left):
            raise InvalidInputError(
                f"A search in parts of the {search.whole.name} accountant takes no steps: name "
                "another one, such as --accountant zcdp (accountant='zcdp')."
            )
        self.left = min(left, key=left_of)
        plans = [
            replace(plan, settings=replace(plan.settings, l2=one.problem.l2))
            for plan, one in zip(search.plans, ready, strict=True)
        ]
        priced = replace(search, plans=tuple(plans)).within(self.left)
        if search.law is None:
            for one in left:
                require_within(priced.plans[0].accountant, one, len(plans))
        # The filter of the steps was charged the search: it refuses whatever would pass the whole.
        charged = replace(self.left, spent_ticks=self.left.budget_ticks - self.left.spent_ticks)
        self._first = replace(self._first, accountant=charged)
        return priced

    def before(self) -> RunState:
        """Return the run after the steps before the fits, which do not depend on a candidate."""
        return run_before(self.steps[0], self._first, self._door)

    def after(self, known: RunState, place: int, solution: Solution) -> RunState:
        """Return the run after the steps of the result, on the solution of a candidate."""
        if not self.steps[0]:
            return replace(known, solution=solution)
        own = replace(self._states[place].facts, schema=known.facts.schema)
        state = weighted(replace(known, facts=own, solution=solution), released_weights(known))
        for step in self.steps[place]:
            if step.phase is Phase.RESULT:
                view = ResultView.of(state.facts, state.solution)
                state = run_one(step, state, self._door, view)
        return state

    def stated(self, known: RunState, place: int) -> dict[str, dict[str, Any]]:
        """Return the entries of the privacy statement, by name."""
        return stated_of(self.steps[min(place, len(self.steps) - 1)], known)

    @property
    def parts(self) -> set[str]:
        """The parts of somebody's own, of any candidate's steps or released by them."""
        found = {part for steps in self.steps for part in foreign_parts_of(steps)}
        return found.union(self._door.parts.foreign)

    @property
    def most_rows(self) -> int | None:
        """The most rows that its releases hold for, where they say so."""
        return self._door.parts.most_rows

    @property
    def why_not_private(self) -> list[str]:
        """Reasons of what was released that void the guarantee."""
        door = self._door
        asked = self._states[0].facts.plan, door.ledger.entries, door.parts.not_private
        return list(why_released(*asked))

    @property
    def charges(self) -> tuple[dict[str, Any], ...]:
        """The releases of the steps, kind by kind, in the unit of the whole filter."""
        return summarise(self._door.ledger.entries)


def _begun(search: Search, ready: Ready, sides: Sides) -> RunState:
    """Return the run of a candidate before its steps, whose filter is that of the whole."""
    plan = replace(ready.plan, accountant=search.whole)
    begun = RunState.of(Run(plan, sides.fitted, held_out=sides.held_out), replace(ready, plan=plan))
    return replace(begun, rehearses=False)


def released_weights(known: RunState) -> tuple[float, ...]:
    """Return the weights of classes that a step released; ``()`` where none did."""
    plan = known.facts.plan
    weights: tuple[float, ...] = getattr(plan.loss, "weights", ())
    return weights if plan.settings.are_weighted else ()
