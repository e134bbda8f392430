"""A public ball that holds the minimiser, and what a row's loss can be in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import InvalidInputError, Problem, ordered_norm
from dpcore.plugin.parts import LossFacts, sealed
from dpcore_accuracy_first.objectives.radial_penalty import OUTSIDE, RadialPenalty

if TYPE_CHECKING:
    from dpcore.plugin import Loss

__all__ = ["PublicBall", "loss_at_zero", "paper_slack", "penalty_of"]

_UP = 1.0 + 2.0**-40


@sealed
@dataclass(frozen=True, slots=True)
class PublicBall:
    """The ball of ``radius`` about 0, from public facts.

    The minimiser of ``sum of losses + (n l2 / 2) ||w||^2`` satisfies n l2 ||w||^2 = sum of
    -m l'(m), m a row's margin. By convexity -m l'(m) <= l(0) - l(m) <= l(0); a loss may state a
    smaller ``radial_slope`` (logistic: W(1/e) = .2785 instead of .6931), and for squared loss
    (y - m) m <= y^2/4 <= 1/4.

    Of several classes m is a row's margins, a vector of norm at most ||w|| ||x||, ||w|| that of all
    its numbers (Frobenius), and m l'(m) a product of two vectors: the same holds with the loss at
    margins of 0 (softmax: log K), and no loss is more than l(0) + lipschitz ||m||.

    Where n is private, l2 is that of the schema's n0 rows and a radial penalty keeps the minimiser
    within the ball whatever n is; the radius is larger by an eighth.

    Parameters
    ----------
    radius : l2 norm, rounded up.
    low, high : bounds of a row's loss at any ``w`` of the ball, rounded outward.
    slope : bound of ``|l'|`` there.

    Raises InvalidInputError for a radius or a slope that is not > 0, whose square would hide
    the minus, and for bounds in another order.
    """

    radius: float
    low: float
    high: float
    slope: float

    def __post_init__(self) -> None:
        in_order = -math.inf < self.low <= self.high < math.inf
        if not (in_order and 0 < self.radius < math.inf and 0 < self.slope < math.inf):
            raise InvalidInputError("Expected radius and slope > 0, and low <= high, all finite.")

    @classmethod
    def of(cls, problem: Problem, slack: float = 0.0) -> PublicBall:
        """Return the ball of a problem, its radius larger by ``slack``.

        Raises InvalidInputError for l2 = 0, a loss without a bound, or a radius at which margins
        are no longer exact.
        """
        facts = LossFacts.of(problem.loss)
        if facts.weighs_rows:
            raise InvalidInputError("No public ball is known for rows of weights of their own.")
        if not problem.l2 > 0:
            raise InvalidInputError("A public ball needs strong convexity; pass --l2 above 0.")
        radius = math.sqrt(_pull(problem, facts) / problem.l2)
        radius = (radius * (OUTSIDE if problem.n is None else 1.0) + slack) * _UP
        margin = radius * problem.row_norm * _UP
        if radius * problem.raw_norm_bound > 2.0 ** (Problem.MARGIN_BITS - 1):
            raise InvalidInputError(
                f"l2={problem.l2:g} is too small for rows of norm {problem.raw_norm_bound:g}: the "
                "ball that holds the minimiser is too large for exact margins. Raise --l2."
            )
        low, high = _range(problem, facts, margin)
        slope = problem.loss.lipschitz
        if not math.isfinite(slope):
            slope = (margin + 1.0) * _UP
        return cls(radius, low, high, slope)

    @property
    def spread(self) -> float:
        """Bound of the difference of two rows' losses at one ``w`` of the ball."""
        return (self.high - self.low) * _UP

    def project(self, w: np.ndarray) -> np.ndarray:
        """Return the point of the ball nearest to ``w``, a released value."""
        norm = ordered_norm(w)
        return w if norm <= self.radius else w * (self.radius / norm)


def penalty_of(problem: Problem) -> RadialPenalty:
    """Return the public term of the objective that keeps its minimiser within the ball."""
    pull = _pull(problem, LossFacts.of(problem.loss))
    return RadialPenalty.of(problem, PublicBall.of(problem).radius, pull)


def paper_slack(problem: Problem) -> float:
    """Return by how much the paper's ball is larger. Its radius is sqrt(2 l(0) / l2), from (l2 / 2)
    ||theta*||^2 <= L(0): sqrt(2 ln 2 / l2) for logistic, sqrt(1 / l2) for squared loss with |y| <=
    1 (sections 3.1 and 3.2)."""
    at_zero = loss_at_zero(problem)
    return max(0.0, math.sqrt(2 * at_zero / problem.l2) - PublicBall.of(problem).radius)


def loss_at_zero(problem: Problem) -> float:
    """Return the largest loss of a row whose margins are 0: 1/2 for squared loss, as |y| <= 1."""
    return 0.5 if LossFacts.of(problem.loss).quadratic else _at_zero(problem)


def _pull(problem: Problem, facts: LossFacts) -> float:
    """Return the maximum of -m l'(m) over margins and labels, rounded up."""
    if facts.quadratic:
        return 0.25
    if not (facts.classification and facts.convex):
        raise InvalidInputError(f"No public ball is known for the loss {problem.loss.name}.")
    return _at_zero(problem) * _UP if facts.radial_slope is None else facts.radial_slope


def _at_zero(problem: Problem) -> float:
    """Return the largest loss of a row whose margins are 0; of several classes rounded up."""
    if problem.n_margins == 1:
        return float(_values(problem.loss, [0.0]).max())
    values = np.empty(problem.n_margins)
    at = np.zeros((problem.n_margins, problem.n_margins))
    problem.loss.value(at, np.arange(float(problem.n_margins)), values)
    return float(values.max()) + 2.0**-30


def _range(problem: Problem, facts: LossFacts, margin: float) -> tuple[float, float]:
    """Return bounds of a row's loss at margins up to ``margin`` in l2, rounded outward."""
    loss = problem.loss
    if facts.quadratic:
        return 0.0, 0.5 * (margin + 1.0) ** 2 * _UP
    if problem.n_margins > 1:
        if not math.isfinite(facts.lipschitz):
            raise InvalidInputError(f"No public ball is known for the loss {loss.name}.")
        return 0.0, (_at_zero(problem) + facts.lipschitz * margin) * _UP
    # Convex, so never above its value at either end; for either label, which may weigh differently.
    ends, error = _values(loss, [-margin, margin]), 2.0**-30 * max(1.0, facts.largest_weight)
    high = float(ends.max()) * _UP + error
    if not facts.nonincreasing:
        return 0.0, high
    # It is smallest at the margin's end.
    return max(0.0, float(ends.min()) * (1 - 2.0**-30) - error), high


def _values(loss: Loss, margins: list[float]) -> np.ndarray:
    """Return the losses at each margin, with the label -1 and with +1."""
    z = np.array(margins * 2)
    y = np.repeat([-1.0, 1.0], len(margins))
    out = np.empty(z.size)
    loss.value(z, y, out)
    return out
