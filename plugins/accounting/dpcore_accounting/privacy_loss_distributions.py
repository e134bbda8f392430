"""Distributions of one release's privacy loss on multiples of a step, in which nothing is lost.

With H at the knots x_0 < ... < x_n alone, the line through these points as a function of e^x is the
curve of a worse pair (H is convex in e^x), whose loss is one of the knots, or infinite with
probability H(x_n) (Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022, "connect the dots"). Its
slopes say that it is at x_i or above with probability

    S_i = H(x_(i-1)) + (H(x_(i-1)) - H(x_i)) / (e^(x_i - x_(i-1)) - 1),    S_0 = 1.

Proof: the loss is above x_i with P(L > x_i), and between x_(i-1) and x_i it goes to the upper end
with the share that keeps both probabilities of the interval; in H(x) = P(L > x) - e^x Q(L > x) that
sum is the value above.

What releases come to together,  E max(0, 1 - e^(epsilon - sum of losses)),  grows with every loss:
so a distribution that is at any point or above it with at least these probabilities gives at least
as much. Here H(x_(i-1)) is rounded up, H(x_i) down, and the S_i are never below those after them.
Nothing that is rounded loses probability to a lower loss.

**Where H is not convex**, of bounds that are no curve themselves, that is the distribution of a
pair that is worse than the largest convex function G at or below H at the knots, and a curve that
is at or below H, as it is convex, is at or below G. S_i is where the line through two neighbouring
points of H, as a function of e^x, meets 0. Between two knots at which G = H, G is one line, and H
above it falls at least as steeply to the second of them: so the line there meets 0 at least as
high, and the S_i before it, never below, do too.

Knots are dense around 0 and further apart in proportion to x: an interval adds to the variance of
the loss at most a quarter of its length squared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore_accounting.privacy_loss_curves import Curve
from dpcore_accounting.reproducible.array_functions import array_exp, array_expm1

__all__ = ["DENSITY", "PrivacyLossDistribution", "loss_distribution"]

DENSITY = 32
"""Knots to a factor e of |x|, and steps from 0 to where that begins, at least."""
_MARGIN = 1 + 2.0**-48
_FARTHEST = 700.0
"""A loss whose e^x is a float."""


@dataclass(frozen=True, eq=False)
class PrivacyLossDistribution:
    """A distribution of one loss, from above.

    Parameters
    ----------
    steps : int64, increasing; the losses over the step.
    losses : float64, exact: the step is a power of 2.
    probabilities : float64, >= 0; they may sum to a little more than 1 - ``infinite``.
    infinite : of a loss above all of them.
    """

    steps: np.ndarray
    losses: np.ndarray
    probabilities: np.ndarray
    infinite: float


def loss_distribution(
    curve: Curve, step: float, negligible: float, density: int = DENSITY
) -> PrivacyLossDistribution:
    """Return the distribution on multiples of ``step``, a power of 2, up to where no more than
    ``negligible`` is left beside what no loss is above."""
    knots = _knots(math.floor(curve.least / step), math.ceil(curve.most / step), density)
    x = knots * step
    low, high = _bounds(curve, x)
    cut = int(np.argmax(high <= high[-1] + negligible))
    knots, x, low, high = knots[: cut + 1], x[: cut + 1], low[: cut + 1], high[: cut + 1]
    rest = np.clip(high[:-1] - low[1:], 0.0, None) / array_expm1(np.diff(x))
    reached = np.append(1.0, np.minimum(1.0, (high[:-1] + rest) * _MARGIN))
    infinite = float(high[-1])
    reached = np.maximum.accumulate(np.append(reached, infinite)[::-1])[::-1]
    probabilities = -np.diff(reached) * _MARGIN
    some = probabilities > 0
    return PrivacyLossDistribution(knots[some], x[some], probabilities[some], infinite)


def _bounds(curve: Curve, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper bounds of H, between 0 and 1 and falling, where e^x or e^-x is out of
    a float's range too: a step may be longer than any loss."""
    low, high = curve.bounds(np.clip(x, -_FARTHEST, _FARTHEST))
    low[x > _FARTHEST], high[x < -_FARTHEST] = 0.0, 1.0
    return low, high


def _knots(least: int, most: int, density: int) -> np.ndarray:
    """Return whole numbers, the ends and 0 included."""
    sides = [np.arange(density + 1, dtype=np.int64)]
    longest = max(-least, most, 1)
    if longest > density:
        count = math.ceil(math.log(longest / density) * (density + 1)) + 1
        grown = density * array_exp(np.arange(1, count + 1) / density)
        sides.append(np.ceil(np.minimum(grown, longest)).astype(np.int64))
    side = np.concatenate(sides)
    both = np.concatenate((-side[::-1], side, [least, most]))
    return np.unique(both[(both >= least) & (both <= most)])
