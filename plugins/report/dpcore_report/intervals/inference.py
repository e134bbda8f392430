"""Intervals of a model's coefficients: sums at the model, for a share of the run's budget.

Sums of gradients and of curvatures at the model say where the minimum is
(``dpcore_report.intervals.first_step``): clipping and few steps leave models off it. There the
intervals are taken, by the same sums and that of squared gradients. None is clipped: at a released
point the bounds of their rows are proved (``dpcore_report.intervals.slopes``). What follows from
them costs nothing (``dpcore_report.intervals.one_step``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpcore.plugin import ClippedGradientSum, ordered_dot, round_parameters
from dpcore.plugin.parts import LossFacts, Model
from dpcore.plugin.steps import Outcome, Section, StepSession, mechanism_for
from dpcore_baselines.queries.standardized import StandardizedGradientSum
from dpcore_report.intervals.centring import centring_of
from dpcore_report.intervals.first_step import nearer
from dpcore_report.intervals.one_step import TOO_LONG, Sums, one_step
from dpcore_report.intervals.row_products import ON_DIAGONAL, By, RowProducts, matrix_of
from dpcore_report.intervals.slopes import largest_slope

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin import Gaussian, Geometric, Problem
    from dpcore.plugin.parts import Mechanism, Query
    from dpcore.plugin.steps import PublicFacts, ResultView
    from dpcore_report.intervals.centring import Centring

__all__ = ["Inference", "inference_of", "why_none"]

_PARTS = (Fraction(2, 20), Fraction(3, 20), Fraction(5, 20), Fraction(8, 20), Fraction(2, 20))
"""The parts of the share that each sum takes, as ``_Noise`` has them. Noise of the last curvatures
is what leaves no interval first; noise of squares counts least."""
_MOST_FEATURES = 256
_LONGEST = 2.0**8
"""A row's gradient above which exact sums would be on a coarse grid."""
_UP = 1.0 + 2.0**-20
"""More than what bounds of norms are rounded up by."""


def why_none(facts: PublicFacts) -> dict[str, bool]:
    """Return the reasons for which there may be no intervals, and whether each holds."""
    plan, problem = facts.plan, facts.problem
    concordance = LossFacts.of(plan.loss).self_concordance
    return {
        f"the loss {plan.settings.loss} states no self_concordance, which they rest on": concordance
        is None
        or not np.isfinite(largest_slope(problem, np.zeros(problem.n_features))),
        f"a model has more than {_MOST_FEATURES} coefficients": problem.n_features > _MOST_FEATURES,
        "l2 is above 0 and no number of rows is public (`rows` in the schema)": problem.l2 > 0
        and problem.n_public is None,
    }


def inference_of(share: float | Fraction, facts: PublicFacts) -> Inference:
    """Return the releases of the sums for a share of the budget."""
    exactly, problem, schema = (
        StepSession.exact_share(share, "Intervals"),
        facts.problem,
        facts.schema,
    )
    noise = _Noise(*(mechanism_for(facts.accountant, exactly * p) for p in _PARTS))
    centring = centring_of(schema, problem) if noise.gradient.needs == "l2" else None
    return Inference(exactly, problem, schema, noise, centring)


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

    @property
    def stated(self) -> dict[str, Any]:
        """The share of the budget."""
        return {"share": float(self.share)}

    @property
    def releases(self) -> Sequence[tuple[Query, Mechanism]]:
        """All five, at zero."""
        zero, noise = np.zeros(self.problem.n_features), self.noise
        queries = (
            self._gradient_query(zero, noise.first_gradient),
            self._products_query(zero, "curvature", noise.first_curvature),
            self._gradient_query(zero, noise.gradient),
            self._products_query(zero, "curvature", noise.curvature),
            self._products_query(zero, "slope", noise.squares),
        )
        return tuple(zip(queries, noise, strict=True))

    def run(self, session: StepSession, view: ResultView) -> Outcome:
        """Return what is known of the model."""
        w = Model.check_coefficients(view.solution.w, self.schema.w_shape, view.plan.entry.name)
        return Outcome(Section(self.estimates(session, w)))

    def estimates(self, session: StepSession, w: np.ndarray) -> dict[str, Any]:
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
        concordance = LossFacts.of(problem.loss).self_concordance or 0.0
        of_rows = self._row_norm, problem.rows_per_unit or 1
        found = one_step(self._point(w), last, regulariser, concordance, *of_rows)
        if found.estimate is None or found.covariance is None:
            return {"why_not": found.why_not}
        covariance = back @ found.covariance @ back.T
        return {"estimate": (back @ found.estimate).tolist(), "covariance": covariance.tolist()}

    def _at_model(
        self, session: StepSession, w: np.ndarray
    ) -> tuple[tuple[np.ndarray, float], tuple[np.ndarray, float]]:
        """Return the sums of gradients and of curvatures at a model, each with its deviation."""
        gradient = self._gradient(session, w, self.noise.first_gradient)
        return gradient, self._products(session, w, "curvature", self.noise.first_curvature)

    def _last(self, session: StepSession, w: np.ndarray) -> Sums:
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
        self, session: StepSession, w: np.ndarray, mechanism: Gaussian | Geometric
    ) -> tuple[np.ndarray, float]:
        """Return the noisy sum of gradients at a point, and the deviation of an entry."""
        query = self._gradient_query(w, mechanism)
        return session.release(query, mechanism), session.deviation(query, mechanism)

    def _gradient_query(self, w: np.ndarray, mechanism: Any) -> Query:
        problem, norm, multiplier = self.problem, mechanism.needs, mechanism.noise_multiplier
        width = np.sqrt(problem.n_features) if norm == "l1" else 1.0
        # No row's gradient is longer, so that none is clipped.
        clip = self._longest(self._on_grid(w)) * width * _UP
        if self.centring is None:
            return ClippedGradientSum(problem, w, clip, norm, multiplier)
        mapped = self.centring.standardization
        return StandardizedGradientSum(problem, w, mapped, clip, multiplier)

    def _products(
        self, session: StepSession, w: np.ndarray, by: By, mechanism: Gaussian | Geometric
    ) -> tuple[np.ndarray, float]:
        """Return a noisy matrix of products, and the deviation of an entry on its diagonal."""
        query = self._products_query(w, by, mechanism)
        found = matrix_of(session.release(query, mechanism), self.problem.n_features)
        return found, session.deviation(query, mechanism) / ON_DIAGONAL

    def _products_query(self, w: np.ndarray, by: By, mechanism: Any) -> Query:
        asked = mechanism.needs, mechanism.noise_multiplier, self.centring
        return RowProducts(self.problem, w, by, *asked)
