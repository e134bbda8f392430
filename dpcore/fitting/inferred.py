"""Intervals of a model's coefficients: sums at the model, for a share of the run's budget.

Sums of gradients and of curvatures at the model say where the minimum is
(``dpcore.inference.first_step``): clipping and few steps leave models off it. There the intervals
are taken, by the same sums and that of squared gradients. None is clipped: at a released point the
bounds of their rows are proved (``dpcore.inference.slopes``). What follows from them costs nothing
(``dpcore.inference.one_step``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.exact.grid import round_parameters
from dpcore.exact.reproducible import ordered_dot
from dpcore.fitting.shares import deviation_of, mechanism_for, norm_of, require_share
from dpcore.fitting.steps import Outcome, Phase
from dpcore.inference.centring import centring_of
from dpcore.inference.first_step import nearer
from dpcore.inference.one_step import TOO_LONG, Sums, one_step
from dpcore.inference.row_products import ON_DIAGONAL, By, RowProducts, matrix_of
from dpcore.inference.slopes import largest_slope
from dpcore.losses.facts import loss_facts
from dpcore.model.model import check_coefficients
from dpcore.queries.gradient import ClippedGradientSum
from dpcore.queries.standardized import StandardizedGradientSum
from dpcore.registry.declarations import engine_facts

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.steps import RunView
    from dpcore.inference.centring import Centring
    from dpcore.mechanisms.gaussian import Gaussian
    from dpcore.mechanisms.geometric import Geometric
    from dpcore.protocols import Engine, Query
    from dpcore.protocols.problem import Problem
    from dpcore.session.session import TableSession

__all__ = ["Inference", "Intervals"]

_PARTS = (Fraction(2, 20), Fraction(3, 20), Fraction(5, 20), Fraction(8, 20), Fraction(2, 20))
"""The parts of the share that each sum takes, as ``_Noise`` has them. Noise of the last curvatures
is what leaves no interval first; noise of squares counts least."""
_MOST_FEATURES = 256
_LONGEST = 2.0**8
"""A row's gradient above which exact sums would be on a coarse grid."""
_UP = 1.0 + 2.0**-20
"""More than what bounds of norms are rounded up by."""


@dataclass(frozen=True)
class Intervals:
    """Intervals of the coefficients. ``share`` : of the budget."""

    share: float

    def check(self, view: RunView) -> Inference:
        """Return the releases of the sums (``RunStep``)."""
        plan, problem, share = view.ready.plan, view.ready.problem, self.share
        what = "The sums behind intervals are released from the rows"
        require_share(plan, what, "Leave out --intervals-share (intervals_share=)")
        taken = float(view.taken)
        if taken + share >= 1:
            raise InvalidInputError(
                f"The evaluation would take {taken:.3g} of the budget and the intervals "
                f"{share:.3g}: expected shares that add up to less than 1, so that the fit has the "
                "rest."
            )
        for reason, holds in _why_none(view).items():
            if holds:
                raise InvalidInputError(f"There are no intervals where {reason}.")
        noise = _Noise(*(mechanism_for(plan.accountant, Fraction(share) * p) for p in _PARTS))
        in_l2, schema = norm_of(noise.gradient) == "l2", view.dataset.schema
        centring = centring_of(schema, problem) if in_l2 else None
        return Inference(Fraction(share), problem, schema, noise, centring)


def _why_none(view: RunView) -> dict[str, bool]:
    """Return the reasons for which there may be no intervals, and whether each holds."""
    plan, problem = view.ready.plan, view.ready.problem
    facts = loss_facts(plan.loss)
    return {
        "each class has a fit of its own, or margins of its own": view.ready.fits > 1
        or problem.n_margins > 1,
        "rows or classes have weights": facts.largest_weight != 1.0
        or facts.weighs_rows
        or plan.settings.class_weight is not None,
        f"the loss {plan.settings.loss} states no self_concordance": facts.self_concordance is None
        or not np.isfinite(largest_slope(problem, np.zeros(problem.n_features))),
        "bounds are private": bool(view.dataset.schema.unbounded),
        "the engine reads the files itself": engine_facts(plan.engine).reads_files,
        f"a model has more than {_MOST_FEATURES} coefficients": problem.n_features > _MOST_FEATURES,
        "l2 is above 0 and no number of rows is public (`rows` in the schema)": problem.l2 > 0
        and problem.n_public is None,
    }


class _Noise(NamedTuple):
    """The mechanisms of the releases in their order: two at the model, three where it leads to."""

    first_gradient: Gaussian | Geometric
    first_curvature: Gaussian | Geometric
    gradient: Gaussian | Geometric
    curvature: Gaussian | Geometric
    squares: Gaussian | Geometric


@dataclass(frozen=True, eq=False)
class Inference:
    """Five releases of sums over the rows of a run, and the intervals that follow (``Request``).

    Parameters
    ----------
    noise : mechanisms that cost the share together, at most.
    centring : of the rows in all sums, ``None`` for none. Sums and steps are in its coordinates,
        and what is stated in the model's own.
    """

    share: Fraction
    problem: Problem
    schema: Schema
    noise: _Noise
    centring: Centring | None
    name = "intervals"
    phase = Phase.RESULT

    @property
    def stated(self) -> dict[str, Any]:
        """The share of the budget."""
        return {"share": float(self.share)}

    def over(self, view: RunView) -> Engine:
        """Return an engine over the rows of the run."""
        return view.over_rows()

    def over_none(self, view: RunView) -> Engine:
        """Return one over none of them."""
        return view.over_none()

    def rehearse(self, session: TableSession, view: RunView) -> None:
        """Make all releases at zero."""
        at_zero = np.zeros(self.problem.n_features)
        self._at_model(session, at_zero)
        self._last(session, at_zero)

    def run(self, session: TableSession, view: RunView) -> Outcome:
        """Return what is known of the model."""
        plan, solution = view.ready.plan, view.solution
        assert solution is not None
        w = check_coefficients(solution.w, self.schema.w_shape, plan.entry.name)
        return Outcome(view, figures=self.figures(session, w))

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
