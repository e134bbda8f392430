"""A private evaluation: counts of rows held out, released for a share of the run's own budget.

The release comes last, and its share is set aside first: the optimizer has a filter that was
charged the event already, and can spend what is left of it. When the run is over, the whole
filter is charged every event of the run's ledger, which the sum in any order fits, and then the
event of the counts, at the door and before they are drawn. So one filter bounds both, by its own
theorem, and the statement's epsilon and delta are of both.

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
    rehearse_run,
    require_share,
)
from dpcore.model.model import check_coefficients
from dpcore.noise.source import SeededNoise
from dpcore.registry.declarations import engine_facts
from dpcore.session.in_turn import SessionAndLast
from dpcore.session.ledger import Ledger, LedgerEntry
from dpcore.session.session import TableSession

if TYPE_CHECKING:
    from dpcore.data.dataset import Dataset
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.doors import OnRelease, Released
    from dpcore.fitting.plan import Plan
    from dpcore.fitting.public_facts import Ready
    from dpcore.noise.source import NoiseSource
    from dpcore.protocols import Accountant
    from dpcore.protocols.problem import Solution

__all__ = [
    "Evaluation",
    "evaluated",
    "evaluation_of",
    "parted",
    "require_held_out",
    "without_share",
]


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


def evaluation_of(ready: Ready, held_out: Dataset | None) -> Evaluation | None:
    """Return the evaluation that a plan asks for, ``None`` where it asks for none.

    ``ready`` : its accountant planned. Raises InvalidInputError, before anything is charged, where
    the plan has no budget to share, or the counts are not of its model.
    """
    plan = ready.plan
    if not plan.settings.evaluates or held_out is None:
        return None
    what = "The counts of a private evaluation are released from the rows"
    require_share(plan, what, "Leave the evaluation out")
    reasons = {
        "rows have weights": held_out.weights is not None,
        "no row is held out": plan.relation.size_is_public and held_out.n_units < 1,
    }
    for reason, holds in reasons.items():
        if holds:
            raise InvalidInputError(f"There is no private evaluation where {reason}.")
    n = None if ready.problem.n is None else held_out.n_units
    problem = replace(ready.problem, n=n)
    mechanism, stated = _mechanism(plan)
    asked = problem, np.zeros(held_out.schema.w_shape), norm_of(mechanism)
    is_real = held_out.schema.label.is_real
    query = PredictionMoments(*asked) if is_real else ScoreCounts(*asked)
    return Evaluation(held_out, stated, query, mechanism)


def _mechanism(plan: Plan) -> tuple[Any, dict[str, float]]:
    """Return the mechanism for the share or the epsilon that was asked for, and what is stated: the
    share, rounded up, and, where it was asked for, that epsilon."""
    share, epsilon = plan.settings.evaluate_share, plan.settings.evaluate_epsilon
    if epsilon is None:
        assert share is not None
        return mechanism_for(plan.accountant, Fraction(share)), {"share": share}
    mechanism = mechanism_of_epsilon(plan.accountant, epsilon)
    cost = plan.accountant.cost(mechanism.nominal_event(mechanism.noise_multiplier))
    return mechanism, {
        "share": float_up(cost / Fraction(plan.accountant.budget)),
        "epsilon": epsilon,
    }


def without_share(evaluation: Evaluation | None, ready: Ready, rows: Dataset) -> Accountant:
    """Return the run's filter as ``Evaluation.set_aside``; the plan's own where there is none."""
    return ready.plan.accountant if evaluation is None else evaluation.set_aside(ready, rows)


def evaluated(
    evaluation: Evaluation | None,
    ready: Ready,
    trained: Released,
    solution: Solution,
    *last: Any,
) -> tuple[Released, dict[str, Any] | None]:
    """Return what ``Evaluation.release`` does; the run alone where there is none."""
    if evaluation is None:
        return trained, None
    return evaluation.release(ready, trained, solution, *last)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One release of counts of rows held out, and the figures that follow.

    Parameters
    ----------
    held_out : rows in waiting, where bounds are private.
    stated : of it in the privacy statement: the share of the budget, and epsilon, where asked for.
    query : of a model of zeros, in whose place the fitted one is put.
    mechanism : costs the share of the whole budget, at most.
    """

    held_out: Dataset
    stated: dict[str, float]
    query: ScoreCounts | PredictionMoments
    mechanism: Any

    def set_aside(self, ready: Ready, rows: Dataset) -> Accountant:
        """Return the run's filter without the share, after a rehearsal of all that follows, over
        none of the rows that are trained on. Bounds that are private are released after it."""
        plan, nobodys, ledger = ready.plan, SeededNoise(0), Ledger[LedgerEntry]()
        none = rehearsed_rows(self.held_out, self.held_out.schema)
        engine = engine_at_hand(plan.engine, none.table(), none.schema, 1)
        facts: dict[str, Any] = {"problem": self.query.problem, "ledger": ledger}
        first = TableSession(engine, plan.accountant, plan.relation, nobodys, **facts)
        self._figures(first, self.query, none.schema, log_odds=True)
        trained = rehearsed_rows(rows, rows.schema)
        rehearse_run(ready, trained.table(), trained.schema, first, ledger)
        return first.accountant

    def release(
        self,
        ready: Ready,
        trained: Released,
        solution: Solution,
        noise: NoiseSource,
        on_release: OnRelease,
        ledger: Ledger[LedgerEntry],
        schema: Schema,
    ) -> tuple[Released, dict[str, Any]]:
        """Return the sessions of the run, this release's included, and the figures of its model.

        ``trained`` : the closed session of the run, whose ledger this is. ``schema`` : its model's.
        """
        plan, rows = ready.plan, encoded_rows(self.held_out, schema)
        w = check_coefficients(solution.w, rows.schema.w_shape, plan.entry.name)
        accountant: Any = plan.accountant
        for entry in ledger.entries:
            accountant = accountant.compose(entry.event)
        engine = engine_at_hand(plan.engine, rows.table(), rows.schema, plan.settings.threads)
        facts: dict[str, Any] = {"problem": self.query.problem, "ledger": ledger}
        last = TableSession(engine, accountant, plan.relation, noise, on_release, **facts)
        try:
            asked = replace(self.query, w=w)
            log_odds = plan.settings.loss == "logistic"
            figures = self._figures(last, asked, rows.schema, log_odds=log_odds)
        finally:
            last.close()
        return SessionAndLast(trained, last), figures

    def _figures(
        self,
        session: TableSession,
        query: ScoreCounts | PredictionMoments,
        schema: Schema,
        *,
        log_odds: bool,
    ) -> dict[str, Any]:
        deviation = deviation_of(self.mechanism, query, query.problem)
        counts = session.release(query, self.mechanism).reshape(query.shape)
        label, many = schema.label, query.problem.rows_per_unit or 1
        if label.is_real:
            return figures_of_errors(counts, label.bounds, deviation, many)
        names = tuple(map(str, label.names))
        return figures_of_counts(counts, names, deviation, many, log_odds=log_odds)
