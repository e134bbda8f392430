"""The fits of a search over rows split in two, and the best of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dpcore.errors import InvalidInputError, replacing
from dpcore.plugin.commands import Run
from dpcore.plugin.parts import ChargeLog, PrivacyStatement
from dpcore_tuning.beside import released_weights
from dpcore_tuning.held_out import HeldOut
from dpcore_tuning.repetition import best_of_random_tries

if TYPE_CHECKING:
    from dpcore.plugin.parts import Engine, Model, NoiseSource
    from dpcore_tuning.beside import Sides
    from dpcore_tuning.search import Search

__all__ = ["SEEDS", "CandidateFit", "CandidateFits", "constant_of"]

SEEDS = 2**31
Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class CandidateFit:
    """A model with its score, of the candidate at a place."""

    model: Model
    place: int
    score: float = 0.0


def constant_of(shape: tuple[int, ...]) -> np.ndarray:
    """Return the coefficients of the public model where there is no other: all 0."""
    return np.zeros(shape)


class CandidateFits:
    """The fits of a search, checked by a dry run: nothing of the rows is asked before ``begin``.

    Parameters
    ----------
    noise : of the search; a try has a source of its own, by a seed of it where that is seeded.
    """

    def __init__(self, search: Search, sides: Sides, noise: NoiseSource) -> None:
        self._search, self._sides, self._noise = search, sides, noise
        runs = [sides.run(plan, sides.scored) for plan in search.plans]
        begun = [run.begun(run.ready()) for run in runs]
        first = begun[0]
        problem = first.facts.problem
        n = None if problem.n is None else sides.scored.n_units
        self._of_scored = replace(problem, n=n)
        self.l2, self.n0 = problem.l2, problem.n0 if problem.n is None else None
        self.capacity = problem.unsure_capacity
        self.filter = first.accountant
        """The filter of one fit, empty."""
        self._over(first.rows.over_none("held-out", search.plans[0])).dry_run()
        # What refuses a fit of no rows, up to its first release, refuses now.
        sessions = [one.dry_run(one.accountant, ChargeLog()) for one in begun]
        limits = [one.most_rows for one in sessions if one.most_rows is not None]
        self.most_rows = min(limits, default=None)
        """Of every candidate's first release, tried or not: which were tried is not to show."""
        self.foreign = {part for one in sessions for part in one.foreign_parts}
        targets = {
            part for p in search.plans for part in (PrivacyStatement.part_of(p.loss), *p.targets)
        }
        self.foreign.update(PrivacyStatement.foreign_parts(targets))
        self.why_not_private: set[str] = set()
        """Reasons of any fit that was made, released or not: one voids the guarantee of all."""

    def _over(self, scored: Engine) -> HeldOut:
        first, measure = self._search.plans[0], self._search.measure
        return HeldOut(scored, first, self._of_scored, measure, self._noise)

    def begin(self, known: Any) -> None:
        """Take the rows as they are after the steps before the fits, and the weights that these
        released."""
        self._rows = known.rows.dataset
        self._table = known.rows.table or self._rows.table()
        scored = replace(known.rows, held_out=self._sides.scored)
        self._held = self._over(scored.over("held-out", self._search.plans[0]))
        weights, label = released_weights(known), self._rows.schema.label
        own: dict[str, Any] = {"also": ()}
        if weights and self._search.plans[0].settings.weight_bound is not None:
            # A run whose rows have weights takes those of classes from its settings.
            own["class_weight"] = dict(zip(label.names, weights, strict=True))
        plans = (replace(p, settings=replace(p.settings, **own)) for p in self._search.plans)
        self._plans = [plan.with_weights(weights) if weights else plan for plan in plans]

    def best(self) -> CandidateFit | None:
        """Return the best of them; ``None`` where no try came to a model."""
        distribution = self._search.distribution
        if distribution is None:
            return self._chosen()
        return best_of_random_tries(distribution, len(self._plans), self._tried, self._noise)

    def _chosen(self) -> CandidateFit | None:
        """Return one of the list, in which a fit that failed is the public constant. Its algorithm
        is named: whether an answer that it asked ended in an error may depend on a row."""
        models = [_outcome(partial(self._fit, place)) for place in range(len(self._plans))]
        failed = [plan for plan, model in zip(self._plans, models, strict=True) if model is None]
        named = [(PrivacyStatement.part_of(plan.optimizer), plan.entry.target) for plan in failed]
        self.foreign.update(
            PrivacyStatement.foreign_parts({part for pair in named for part in pair})
        )
        zero = constant_of(self._rows.schema.w_shape)
        coefficients = [zero if model is None else model.w for model in models]
        place = self._held.choose(coefficients, self._search.epsilon)
        model = models[place]
        return None if model is None else CandidateFit(model, place)

    def _tried(self, place: int) -> CandidateFit | None:
        def attempt() -> CandidateFit:
            model = self._fit(place)
            score = self._held.score(model.w, self._plans[place].accountant)
            return CandidateFit(model, place, score)

        return _outcome(attempt)

    def _fit(self, place: int) -> Model:
        plan = self._plans[place]
        if plan.settings.seed is not None:
            own = replace(plan.settings, seed=self._noise.integers_below(SEEDS))
            plan = replace(plan, settings=own)
        # The search's charge, of the whole budget, is that of all of its fits.
        told: Any = {"kept_fraction": self._sides.share, "table_ledger": None}
        model = Run(plan, self._rows, table=self._table, **told).model()
        self.why_not_private.update(model.privacy["why_not_private"])
        self._note_parts(model.privacy)
        return model

    def _note_parts(self, stated: Mapping[str, Any]) -> None:
        """Note the parts and the number of rows that a fit's own statement names, whichever fit is
        released: of a list all fits are made. Of random tries these names would tell what was
        tried, so that a try that asks a part which no candidate's first release names fails."""
        if self._search.distribution is None:
            limits = self.most_rows, stated.get("most_rows")
            self.foreign.update(stated["parts_not_from_dpcore"])
            self.most_rows = min((most for most in limits if most is not None), default=None)
        elif not self.foreign.issuperset(stated["parts_not_from_dpcore"]):
            raise InvalidInputError("A part that is not from dpcore acted after the first release.")


def _outcome(attempt: Callable[[], Outcome]) -> Outcome | None:
    """Return what a try comes to; ``None`` where it raises. Its warnings are not shown. An
    interrupt, from outside, ends the search, without what it says of the try."""
    with (
        replacing(BaseException, by=lambda error: type(error)()),
        suppress(Exception, SystemExit),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        return attempt()
    return None
