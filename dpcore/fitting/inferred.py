"""Intervals of a model's coefficients: sums at the model, for a share of the run's budget.

As of a private evaluation (``dpcore.fitting.evaluated``), the share is set aside before the run,
the releases come last, over the rows of the run, and one filter bounds all: by its own theorem, in
which the releases may be chosen from earlier ones. Sums of gradients and of curvatures at the model
say where the minimum is (``dpcore.inference.first_step``): clipping and few steps leave models off
it. There the intervals are taken, by the same sums and that of squared gradients. None is clipped:
at a released point the bounds of their rows are proved (``dpcore.inference.slopes``). What follows
from them costs nothing (``dpcore.inference.one_step``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.exact.grid import round_parameters
from dpcore.exact.reproducible import ordered_dot
from dpcore.fitting.engines import engine_at_hand
from dpcore.fitting.shares import deviation_of, mechanism_for, norm_of, rehearse_run, require_share
from dpcore.inference.centring import centring_of
from dpcore.inference.first_step import nearer
from dpcore.inference.one_step import TOO_LONG, Sums, one_step
from dpcore.inference.row_products import ON_DIAGONAL, By, RowProducts, matrix_of
from dpcore.inference.slopes import largest_slope
from dpcore.losses.facts import loss_facts
from dpcore.model.model import check_coefficients
from dpcore.noise.source import SeededNoise
from dpcore.queries.gradient import ClippedGradientSum
from dpcore.queries.standardized import StandardizedGradientSum
from dpcore.registry.declarations import engine_facts
from dpcore.session.in_turn import SessionAndLast
from dpcore.session.ledger import Ledger, LedgerEntry
from dpcore.session.session import TableSession

if TYPE_CHECKING:
    from dpcore.data.blocks.table import Table
    from dpcore.data.files import RowFacts
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.doors import OnRelease, Released
    from dpcore.fitting.evaluated import Evaluation
    from dpcore.fitting.plan import Plan
    from dpcore.fitting.private_bounds import Bounded
    from dpcore.fitting.public_facts import Ready
    from dpcore.inference.centring import Centring
    from dpcore.mechanisms.gaussian import Gaussian
    from dpcore.mechanisms.geometric import Geometric
    from dpcore.noise.source import NoiseSource
    from dpcore.protocols import Accountant, Query
    from dpcore.protocols.problem import Problem, Solution

__all__ = ["Inference", "inference_of", "inferred", "shares_of", "without_intervals"]

_PARTS = (Fraction(2, 20), Fraction(3, 20), Fraction(5, 20), Fraction(8, 20), Fraction(2, 20))
"""The parts of the share that each sum takes, as ``_Noise`` has them. Noise of the last curvatures
is what leaves no interval first; noise of squares counts least."""
_MOST_FEATURES = 256
_LONGEST = 2.0**8
"""A row's gradient above which exact sums would be on a coarse grid."""
_UP = 1.0 + 2.0**-20
"""More than what bounds of norms are rounded up by."""


def inference_of(
    ready: Ready, dataset: RowFacts, evaluation: Evaluation | None
) -> Inference | None:
    """Return the inference that a plan asks for, ``None`` where it asks for none.

    ``ready`` : its accountant planned. ``evaluation`` : takes a share too. Raises
    InvalidInputError, before anything is charged, where the plan has no budget to share, or its
    model has no intervals.
    """
    share, plan, problem = ready.plan.settings.intervals_share, ready.plan, ready.problem
    if share is None:
        return None
    what = "The sums behind intervals are released from the rows"
    require_share(plan, what, "Leave out --intervals-share (intervals_share=)")
    taken = 0.0 if evaluation is None else evaluation.stated["share"]
    if taken + share >= 1:
        raise InvalidInputError(
            f"The evaluation would take {taken:.3g} of the budget and the intervals {share:.3g}: "
            "expected shares that add up to less than 1, so that the fit has the rest."
        )
    facts = loss_facts(plan.loss)
    reasons = {
        "each class has a fit of its own, or margins of its own": ready.fits > 1
        or problem.n_margins > 1,
        "rows or classes have weights": facts.largest_weight != 1.0
        or facts.weighs_rows
        or plan.settings.class_weight is not None,
        f"the loss {plan.settings.loss} states no self_concordance": facts.self_concordance is None
        or not np.isfinite(largest_slope(problem, np.zeros(problem.n_features))),
        "bounds are private": bool(dataset.schema.unbounded),
        "the engine reads the files itself": engine_facts(plan.engine).reads_files,
        f"a model has more than {_MOST_FEATURES} coefficients": problem.n_features > _MOST_FEATURES,
        "l2 is above 0 and no number of rows is public (`rows` in the schema)": problem.l2 > 0
        and problem.n_public is None,
    }
    for reason, holds in reasons.items():
        if holds:
            raise InvalidInputError(f"There are no intervals where {reason}.")
    noise = _Noise(*(mechanism_for(plan.accountant, Fraction(share) * p) for p in _PARTS))
    in_l2 = norm_of(noise.gradient) == "l2"
    centring = centring_of(dataset.schema, problem) if in_l2 else None
    return Inference(share, problem, dataset.schema, noise, centring)


def without_intervals(
    inference: Inference | None, ready: Ready, bounded: Bounded, table: Table | None
) -> Bounded:
    """Return the run's budget as ``Inference.set_aside``; all of it where there is none."""
    if inference is None or table is None:
        return bounded
    return replace(bounded, accountant=inference.set_aside(ready, bounded, table))


def inferred(
    inference: Inference | None, plan: Plan, table: Table | None, ran: Released, *last: Any
) -> tuple[Released, dict[str, Any] | None]:
    """Return what ``Inference.release`` does; the run alone where there is none."""
    if inference is None or table is None:
        return ran, None
    return inference.release(plan, table, ran, *last)


def shares_of(
    evaluation: Evaluation | None, inference: Inference | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return what is stated of the releases after a run, each ``None`` where there is none."""
    return (
        None if evaluation is None else evaluation.stated,
        None if inference is None else inference.stated,
    )


class _Noise(NamedTuple):
    """The mechanisms of the releases in their order: two at the model, three where it leads to."""

    first_gradient: Gaussian | Geometric
    first_curvature: Gaussian | Geometric
    gradient: Gaussian | Geometric
    curvature: Gaussian | Geometric
    squares: Gaussian | Geometric


@dataclass(frozen=True, eq=False)
class Inference:
    """Five releases of sums over the rows of a run, and the intervals that follow.

    Parameters
    ----------
    share : of the budget.
    noise : mechanisms that cost the share together, at most.
    centring : of the rows in all sums, ``None`` for none. Sums and steps are in its coordinates,
        and what is stated in the model's own.
    """

    share: float
    problem: Problem
    schema: Schema
    noise: _Noise
    centring: Centring | None

    @property
    def stated(self) -> dict[str, Any]:
        """The share, for the statement."""
        return {"share": self.share}

    def set_aside(self, ready: Ready, bounded: Bounded, table: Table) -> Accountant:
        """Return the filter without the share, after a rehearsal of all that follows, over no rows.

        ``table`` : of the rows trained on.
        """
        plan, none = ready.plan, table.without_rows()
        ledger = Ledger[LedgerEntry]()
        asked = engine_at_hand(plan.engine, none, self.schema, 1), bounded.accountant, plan.relation
        facts: dict[str, Any] = {"problem": self.problem, "ledger": ledger}
        first = TableSession(*asked, SeededNoise(0), **facts)
        at_zero = np.zeros(self.problem.n_features)
        self._at_model(first, at_zero)
        self._last(first, at_zero)
        rehearse_run(ready, none, self.schema, first, ledger)
        return first.accountant

    def release(
        self,
        plan: Plan,
        table: Table,
        ran: Released,
        solution: Solution,
        noise: NoiseSource,
        on_release: OnRelease,
        ledger: Ledger[LedgerEntry],
    ) -> tuple[Released, dict[str, Any]]:
        """Return the sessions of the run, this one included, and what is known of its model.

        ``ran`` : the closed session of the run, whose ledger this is.
        """
        w = check_coefficients(solution.w, self.schema.w_shape, plan.entry.name)
        accountant: Any = plan.accountant
        for entry in ledger.entries:
            accountant = accountant.compose(entry.event)
        engine = engine_at_hand(plan.engine, table, self.schema, plan.settings.threads)
        facts: dict[str, Any] = {"problem": self.problem, "ledger": ledger}
        last = TableSession(engine, accountant, plan.relation, noise, on_release, **facts)
        try:
            figures = self.figures(last, w)
        finally:
            last.close()
        return SessionAndLast(ran, last), figures

    def figures(self, session: TableSession, w: np.ndarray) -> dict[str, Any]:
        """Return what follows from released sums alone, JSON-able. ``w`` : the model's."""
        problem, back = self.problem, self._back
        regulariser = problem.l2 * (problem.n_public or 0) * back.T @ back
        if self._is_too_long(w):
            return {"why_not": TOO_LONG}
        (gradient, of_gradient), (curvature, of_curvature) = self._at_model(session, w)
        of_noise = of_gradient, of_curvature
        v = nearer(self._point(w), gradient, curvature, *of_noise, regulariser)
        w = ordered_dot(back, v)
        if self._is_too_long(w):
            return {"why_not": TOO_LONG}
        last = self._last(session, w)
        concordance = loss_facts(problem.loss).self_concordance or 0.0
        of_rows = self._row_norm, problem.rows_per_unit or 1
        found = one_step(self._point(w), last, regulariser, concordance, *of_rows)
        if found.estimate is None or found.covariance is None:
            return {"why_not": found.why_not}
        covariance = back @ found.covariance @ back.T
        return {"estimate": (back @ found.estimate).tolist(), "covariance": covariance.tolist()}

    def _at_model(
        self, session: TableSession, w: np.ndarray
    ) -> tuple[tuple[np.ndarray, float], tuple[np.ndarray, float]]:
        """Return the sums of gradients and of curvatures at a model, each with its deviation."""
        gradient = self._gradient(session, w, self.noise.first_gradient)
        return gradient, self._products(session, w, "curvature", self.noise.first_curvature)

    def _last(self, session: TableSession, w: np.ndarray) -> Sums:
        """Return the sums at a point from which intervals follow."""
        gradient, of_gradient = self._gradient(session, w, self.noise.gradient)
        curvature, of_curvature = self._products(session, w, "curvature", self.noise.curvature)
        squares, of_squares = self._products(session, w, "slope", self.noise.squares)
        return Sums(gradient, curvature, squares, of_gradient, of_curvature, of_squares)

    @property
    def _back(self) -> np.ndarray:
        """The matrix that makes of centred coordinates the model's own."""
        one = np.eye(self.problem.n_features)
        return one if self.centring is None else self.centring.standardization.pull_back(one).T

    @property
    def _row_norm(self) -> float:
        return self.problem.row_norm if self.centring is None else self.centring.row_norm

    def _on_grid(self, w: np.ndarray) -> np.ndarray:
        """Return the point at which queries take their sums."""
        return round_parameters(w, self.problem.raw_norm_bound)

    def _point(self, w: np.ndarray) -> np.ndarray:
        """Return that point in the coordinates of the sums."""
        return self._on_grid(w) if self.centring is None else self.centring.point(self._on_grid(w))

    def _longest(self, w: np.ndarray) -> float:
        """Return a bound of every row's gradient at a point."""
        return largest_slope(self.problem, w, self.centring) * self._row_norm

    def _is_too_long(self, w: np.ndarray) -> bool:
        return self._longest(w) > _LONGEST

    def _gradient(
        self, session: TableSession, w: np.ndarray, mechanism: Gaussian | Geometric
    ) -> tuple[np.ndarray, float]:
        """Return the noisy sum of gradients at a point, and the deviation of an entry."""
        problem, norm, multiplier = self.problem, norm_of(mechanism), mechanism.noise_multiplier
        width = np.sqrt(problem.n_features) if norm == "l1" else 1.0
        # No row's gradient is longer, so that none is clipped.
        clip = self._longest(self._on_grid(w)) * width * _UP
        query: Query
        if self.centring is None:
            query = ClippedGradientSum(problem, w, clip, norm, multiplier)
        else:
            mapped = self.centring.standardization
            query = StandardizedGradientSum(problem, w, mapped, clip, multiplier)
        return session.release(query, mechanism), deviation_of(mechanism, query, problem)

    def _products(
        self, session: TableSession, w: np.ndarray, by: By, mechanism: Gaussian | Geometric
    ) -> tuple[np.ndarray, float]:
        """Return a noisy matrix of products, and the deviation of an entry on its diagonal."""
        asked = norm_of(mechanism), mechanism.noise_multiplier, self.centring
        query = RowProducts(self.problem, w, by, *asked)
        found = matrix_of(session.release(query, mechanism), self.problem.n_features)
        return found, deviation_of(mechanism, query, self.problem) / ON_DIAGONAL
