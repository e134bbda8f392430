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

from dpcore.errors import InvalidInputError
from dpcore.evaluation.error_figures import figures_of_errors
from dpcore.evaluation.error_sums import ErrorSums
from dpcore.evaluation.figures import figures_of_counts
from dpcore.evaluation.score_counts import ScoreCounts
from dpcore.fitting.engines import engine_at_hand
from dpcore.fitting.shares import deviation_of, mechanism_for, norm_of, rehearse_run, require_share
from dpcore.model.model import check_coefficients
from dpcore.noise.source import SeededNoise
from dpcore.registry.declarations import engine_facts
from dpcore.session.in_turn import SessionAndLast
from dpcore.session.ledger import Ledger, LedgerEntry
from dpcore.session.session import TableSession

if TYPE_CHECKING:
    from dpcore.data.blocks.table import Table
    from dpcore.data.dataset import Dataset
    from dpcore.fitting.doors import OnRelease, Released
    from dpcore.fitting.loading import DataRequest
    from dpcore.fitting.plan import Plan
    from dpcore.fitting.private_bounds import Bounded
    from dpcore.fitting.public_facts import Ready
    from dpcore.noise.source import NoiseSource
    from dpcore.protocols.problem import Solution

__all__ = ["Evaluation", "evaluated", "evaluation_of", "require_held_out", "without_share"]


def require_held_out(plan: Plan, request: DataRequest) -> None:
    """Raise InvalidInputError where an evaluation is asked for and no rows are held out for it."""
    if plan.settings.evaluate_share is None:
        return
    if request.test_fraction is None:
        raise InvalidInputError(
            "Expected --test-fraction beside --evaluate-share: rows of the same table are held out "
            "for it."
        )
    if engine_facts(plan.engine).reads_files:
        raise InvalidInputError(
            "Expected no --evaluate-share with an engine that reads the files itself: it holds no "
            "rows out."
        )


def evaluation_of(ready: Ready, held_out: Dataset | None) -> Evaluation | None:
    """Return the evaluation that a plan asks for, ``None`` where it asks for none.

    ``ready`` : its accountant planned. Raises InvalidInputError, before anything is charged, where
    the plan has no budget to share, or the counts are not of its model.
    """
    share, plan = ready.plan.settings.evaluate_share, ready.plan
    if share is None or held_out is None:
        return None
    what = "The counts of a private evaluation are released from the rows"
    require_share(plan, what, "Leave out --evaluate-share")
    reasons = {
        "each class has a fit of its own": ready.fits > 1,
        "bounds are private": bool(held_out.schema.unbounded),
        "rows have weights": held_out.weights is not None,
        "no row is held out": plan.relation.size_is_public and held_out.n_units < 1,
    }
    for reason, holds in reasons.items():
        if holds:
            raise InvalidInputError(f"There is no private evaluation where {reason}.")
    n = None if ready.problem.n is None else held_out.n_units
    problem = replace(ready.problem, n=n)
    mechanism = mechanism_for(plan.accountant, Fraction(share))
    asked = problem, np.zeros(problem.w_shape), norm_of(mechanism)
    is_real = held_out.schema.label.is_real
    query = ErrorSums(*asked) if is_real else ScoreCounts(*asked)
    return Evaluation(held_out, share, query, mechanism)


def without_share(
    evaluation: Evaluation | None, ready: Ready, bounded: Bounded, table: Table | None
) -> Bounded:
    """Return the run's budget as ``Evaluation.set_aside``; all of it where there is none."""
    return bounded if evaluation is None else evaluation.set_aside(ready, bounded, table)


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
    share : of the budget.
    query : of a model of zeros, in whose place the fitted one is put.
    mechanism : costs the share of the whole budget, at most.
    """

    held_out: Dataset
    share: float
    query: ScoreCounts | ErrorSums
    mechanism: Any

    @property
    def stated(self) -> dict[str, Any]:
        """The share, for the statement."""
        return {"share": self.share}

    def set_aside(self, ready: Ready, bounded: Bounded, table: Table | None) -> Bounded:
        """Return the run's budget without the share, after a rehearsal of all that follows, over
        no rows. ``table`` : of the rows trained on."""
        schema, plan = self.held_out.schema, ready.plan
        ledger, nobodys = Ledger[LedgerEntry](), SeededNoise(0)
        none = self.held_out.table().without_rows()
        asked = engine_at_hand(plan.engine, none, schema, 1), bounded.accountant, plan.relation
        facts: dict[str, Any] = {"problem": self.query.problem, "ledger": ledger}
        first = TableSession(*asked, nobodys, **facts)
        self._figures(first, self.query, log_odds=True)
        if table is not None:
            rehearse_run(ready, table.without_rows(), schema, first, ledger)
        return replace(bounded, accountant=first.accountant)

    def release(
        self,
        ready: Ready,
        trained: Released,
        solution: Solution,
        noise: NoiseSource,
        on_release: OnRelease,
        ledger: Ledger[LedgerEntry],
    ) -> tuple[Released, dict[str, Any]]:
        """Return the sessions of the run, this release's included, and the figures of its model.

        ``trained`` : the closed session of the run, whose ledger this is.
        """
        plan, rows = ready.plan, self.held_out
        w = check_coefficients(solution.w, rows.schema.w_shape, plan.entry.name)
        accountant: Any = plan.accountant
        for entry in ledger.entries:
            accountant = accountant.compose(entry.event)
        engine = engine_at_hand(plan.engine, rows.table(), rows.schema, plan.settings.threads)
        facts: dict[str, Any] = {"problem": self.query.problem, "ledger": ledger}
        last = TableSession(engine, accountant, plan.relation, noise, on_release, **facts)
        try:
            asked = replace(self.query, w=w)
            figures = self._figures(last, asked, log_odds=plan.settings.loss == "logistic")
        finally:
            last.close()
        return SessionAndLast(trained, last), figures

    def _figures(
        self, session: TableSession, query: ScoreCounts | ErrorSums, *, log_odds: bool
    ) -> dict[str, Any]:
        deviation = deviation_of(self.mechanism, query, query.problem)
        counts = session.release(query, self.mechanism).reshape(query.shape)
        label, many = self.held_out.schema.label, query.problem.rows_per_unit or 1
        if label.is_real:
            return figures_of_errors(counts, label.scale[1], deviation, many)
        names = tuple(map(str, label.names))
        return figures_of_counts(counts, names, deviation, many, log_odds=log_odds)
