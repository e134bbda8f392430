"""A private evaluation: counts of rows held out, released for a share of the run's own budget.

A row, or a unit, is trained on or held out by coins that do not depend on any row (by its place,
where the number of rows is public), so one of the two parts would be enough to charge for
(``dpcore.tuning.held_out``). The sum is charged all the same: the figures and the model are then
covered whoever held the rows out, also where the split was somebody's choice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.bounds.waiting import encoded_rows, rehearsed_rows
from dpcore.errors import InvalidInputError
from dpcore.evaluation.error_figures import figures_of_errors
from dpcore.evaluation.figures import figures_of_counts
from dpcore.evaluation.prediction_moments import PredictionMoments
from dpcore.evaluation.score_counts import ScoreCounts
from dpcore.exact.rounding import float_up
from dpcore.fitting.engines import engine_at_hand
from dpcore.fitting.loading import split
from dpcore.fitting.shares import (
    deviation_of,
    mechanism_for,
    mechanism_of_epsilon,
    norm_of,
    require_share,
)
from dpcore.fitting.steps import Outcome, Phase
from dpcore.model.model import check_coefficients
from dpcore.registry.declarations import engine_facts

if TYPE_CHECKING:
    from dpcore.data.dataset import Dataset
    from dpcore.data.schema.label import Label
    from dpcore.fitting.plan import Plan
    from dpcore.fitting.steps import RunView
    from dpcore.protocols import Accountant, Engine
    from dpcore.protocols.problem import Problem
    from dpcore.session.session import TableSession

__all__ = ["Evaluation", "HeldOutCounts", "parted", "require_held_out"]


def require_held_out(plan: Plan, test_fraction: float | None) -> None:
    """Raise InvalidInputError where an evaluation is asked for and no rows are held out for it."""
    if not plan.settings.evaluates:
        return
    name = "evaluate_share" if plan.settings.evaluate_epsilon is None else "evaluate_epsilon"
    asked = f"--{name.replace('_', '-')} ({name}=)"
    if test_fraction is None:
        raise InvalidInputError(
            f"Expected --test-fraction (test_fraction=) beside {asked}: rows of the same table are "
            "held out for it."
        )
    if engine_facts(plan.engine).reads_files:
        raise InvalidInputError(
            f"Expected no {asked} with an engine that reads the files itself: it holds no rows out."
        )


def parted(plan: Plan, rows: Any, test_fraction: float | None) -> tuple[Dataset, Dataset | None]:
    """Return the rows to train on and those held out for an evaluation, ``None`` where none is
    asked for. ``rows`` : a Dataset, or, of an engine that reads them itself, their facts.

    Raises InvalidInputError for rows held out for nothing.
    """
    if test_fraction is None:
        return rows, None
    if not plan.settings.evaluates:
        raise InvalidInputError(
            "Expected evaluate_share or evaluate_epsilon beside test_fraction: rows are held out "
            "for a private evaluation. For exact figures of a model, hold rows out beforehand."
        )
    return split(rows, test_fraction, plan.relation, plan.settings.seed)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Figures of the model on rows held out.

    Parameters
    ----------
    held_out : rows in waiting, where bounds are private.
    share : of the budget.
    epsilon : of the release by itself, in place of a share.
    """

    held_out: Dataset
    share: float | None = None
    epsilon: float | None = None

    def check(self, view: RunView) -> HeldOutCounts:
        """Return the release of the counts (``RunStep``)."""
        plan, held_out = view.ready.plan, self.held_out
        what = "The counts of a private evaluation are released from the rows"
        require_share(plan, what, "Leave the evaluation out")
        reasons = {
            "rows have weights": held_out.weights is not None,
            "no row is held out": plan.relation.size_is_public and held_out.n_units < 1,
        }
        for reason, holds in reasons.items():
            if holds:
                raise InvalidInputError(f"There is no private evaluation where {reason}.")
        problem = view.ready.problem
        problem = replace(problem, n=None if problem.n is None else held_out.n_units)
        mechanism, stated = self._mechanism(plan.accountant)
        asked = problem, np.zeros(held_out.schema.w_shape), norm_of(mechanism)
        is_real = held_out.schema.label.is_real
        query = PredictionMoments(*asked) if is_real else ScoreCounts(*asked)
        return HeldOutCounts(held_out, stated, query, mechanism)

    def _mechanism(self, accountant: Accountant) -> tuple[Any, dict[str, float]]:
        """Return the mechanism for the share or the epsilon that was asked for, and what is stated:
        the share, rounded up, and, where it was asked for, that epsilon."""
        if self.epsilon is None:
            assert self.share is not None
            return mechanism_for(accountant, Fraction(self.share)), {"share": self.share}
        mechanism = mechanism_of_epsilon(accountant, self.epsilon)
        cost = accountant.cost(mechanism.nominal_event(mechanism.noise_multiplier))
        share = float_up(cost / Fraction(accountant.budget))
        return mechanism, {"share": share, "epsilon": self.epsilon}


@dataclass(frozen=True, eq=False)
class HeldOutCounts:
    """One release of counts of rows held out, and the figures that follow (``Request``).

    Parameters
    ----------
    stated : of it in the privacy statement: the share of the budget, and epsilon, where asked for.
    query : of a model of zeros, in whose place the fitted one is put.
    mechanism : costs the share of the whole budget, at most.
    """

    held_out: Dataset
    stated: dict[str, float]
    query: ScoreCounts | PredictionMoments
    mechanism: Any
    name = "evaluation"
    phase = Phase.RESULT

    @property
    def share(self) -> Fraction:
        """The share that is stated."""
        return Fraction(self.stated["share"])

    @property
    def problem(self) -> Problem:
        """The public facts of the rows held out."""
        return self.query.problem

    def over(self, view: RunView) -> Engine:
        """Return an engine over the rows held out, encoded as those of the run are."""
        plan, rows = view.ready.plan, encoded_rows(self.held_out, view.dataset.schema)
        return engine_at_hand(plan.engine, rows.table(), rows.schema, plan.settings.threads)

    def over_none(self, view: RunView) -> Engine:
        """Return one over none of them. Bounds that are private are released after it."""
        none = rehearsed_rows(self.held_out, self.held_out.schema)
        return engine_at_hand(view.ready.plan.engine, none.table(), none.schema, 1)

    def rehearse(self, session: TableSession, view: RunView) -> None:
        """Make the release of a model of zeros."""
        none = rehearsed_rows(self.held_out, self.held_out.schema)
        self._figures(session, self.query, none.schema.label, log_odds=True)

    def run(self, session: TableSession, view: RunView) -> Outcome:
        """Return the figures of the model."""
        plan, solution = view.ready.plan, view.solution
        assert solution is not None
        w = check_coefficients(solution.w, view.dataset.schema.w_shape, plan.entry.name)
        asked, log_odds = replace(self.query, w=w), plan.settings.loss == "logistic"
        label = view.dataset.schema.label
        return Outcome(view, figures=self._figures(session, asked, label, log_odds=log_odds))

    def _figures(
        self,
        session: TableSession,
        query: ScoreCounts | PredictionMoments,
        label: Label,
        *,
        log_odds: bool,
    ) -> dict[str, Any]:
        deviation = deviation_of(self.mechanism, query, query.problem)
        counts = session.release(query, self.mechanism).reshape(query.shape)
        many = query.problem.rows_per_unit or 1
        if label.is_real:
            return figures_of_errors(counts, label.bounds, deviation, many)
        names = tuple(map(str, label.names))
        return figures_of_counts(counts, names, deviation, many, log_odds=log_odds)
