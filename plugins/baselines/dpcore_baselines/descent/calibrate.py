"""Log odds that come true, from a run's released values: what clipping and noise did to margins.

**Clipping.** A row of margin z and standardised length L adds phi times the slope sigma(z) - t, cut
to the size c = clip / L, t = 1 for a positive row and 0 for others. If a share q of the rows of
margin z is positive, the mean of these slopes is (1 - q) A(z) - q B(z), with

    A(z) = E min(sigma(z + e), c),    B(z) = E min(1 - sigma(z + e), c),

where e is how far an iterate's margin is from the averaged one's. It is 0 where q = A / (A + B), so
where descent came to rest rows of margin z are positive at this rate, and not at sigma(z): for
small c and no e it is sigma(z) / (sigma(z) + c) at negative z, log(1 / c) closer to even odds.
**Noise.** Gradients are released at iterates, which wander about their average with the noise; the
mean gradient there is 0, so e counts: its variance follows from the released iterates, and A and B
are as much flatter as margins are uncertain, which is the probit correction (MacKay 1992).

So the line a + b z of calibrated log odds solves E (1, z) (A - (A + B) sigma(a + b z)) = 0: these
are the clipped gradients along the model and the intercept, of rows that are positive at the rate
sigma(a + b z), and the equations of a logistic regression of A / (A + B) on z with weights A + B.
0 <= b <= 1: the log odds of A / (A + B) grow with z by at most 1 (E sigma (1 - sigma) <= E sigma E
(1 - sigma), by Jensen's inequality), hence so does the line nearest to them.

Margins are taken to be normal, and all rows of the typical length: the variance of phi.v is that of
uncorrelated columns of equal variance, and its mean follows from the released moments, as far as
their noise lets it be told from the intercept. Everything here is post-processing of releases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import ordered_dot, ordered_sum
from dpcore.plugin.parts import LossFacts
from dpcore_accounting.reproducible.array_functions import array_exp

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore_baselines.queries.standardization import Standardization

__all__ = ["MeanRow", "calibrated_line", "can_be_calibrated", "with_line"]

_NODES = np.linspace(-4.0, 4.0, 65)
_LEAST_SPREAD = 2.0**-10
_STEPS, _LONGEST, _PART = 50, 1.0, 0.25
"""Newton steps: no longer than 1 in the log odds at the mean, and than 1/4 in b."""
_FLAT, _RAREST = 2.0**-900, 2.0**-53
_LEAST_SLOPE = 2.0**-6
"""Where all rows are clipped margins have no scale, yet an order, which is kept."""


@dataclass(frozen=True)
class MeanRow:
    """The mean of standardised rows by released moments, with its noise, and their typical length.

    Parameters
    ----------
    columns : the map. ``length`` : the typical length of a row under it, at least 1.
    mean : of the rows, float64 of shape (n_features,), and ``noise`` : the deviation of its noise;
        both 0 at the constant column.
    """

    columns: Standardization
    length: float
    mean: np.ndarray
    noise: np.ndarray

    @classmethod
    def of(
        cls, columns: Standardization, length: float, means: np.ndarray, deviation: float
    ) -> MeanRow:
        """Return what the released means of the rows as they are say, of noise ``deviation``."""
        varies = np.arange(means.size) != columns.constant
        noise = columns.scales / 2.0**6 * deviation
        return cls(columns, length, varies * columns.map_gradient(means), varies * noise)

    def margins(self, v: np.ndarray, spread: np.ndarray) -> tuple[float, float, float]:
        """Return mean and deviation of the margins phi.v, and the deviation between the margins of
        iterates and of their average; ``spread`` : the variances of the iterates' coordinates."""
        constant = self.columns.constant
        assert constant is not None
        varies = (self.columns.scales != 0) & (np.arange(v.size) != constant)
        each = (self.length**2 - 1) / max(1, int(np.count_nonzero(varies)))
        variance = max(each * float(ordered_dot(v[varies], v[varies])), _LEAST_SPREAD**2)
        of_mean = float(ordered_sum(np.square(v * self.noise)))
        told = variance / (variance + of_mean)
        mean = float(v[constant]) + told * float(ordered_dot(v, self.mean))
        wander = each * float(ordered_sum(spread[varies])) + float(spread[constant])
        return mean, math.sqrt(variance), math.sqrt(wander)


def can_be_calibrated(problem: Problem) -> bool:
    """Return whether margins are log odds of two classes that the rule is for. It is not for
    weighted rows, which are clipped by their weights, nor for a stated regulariser. Nor is it for
    one class against the rest, whose probabilities are divided by their sum, which takes bold
    ones."""
    loss = problem.loss
    is_plain = loss.name == "logistic" and LossFacts.of(loss).largest_weight == 1.0
    return is_plain and problem.l2 == 0 and problem.intercept and not problem.one_vs_rest


def calibrated_line(
    mean: float, deviation: float, wander: float, clip: float
) -> tuple[float, float]:
    """Return a and b of the calibrated log odds a + b z, 2^-6 <= b <= 1.

    Parameters
    ----------
    mean, deviation : of the margins z, normal. ``wander`` : deviation of an iterate's margins from
        the average's. ``clip`` : of a row's gradient over the typical length of a row, > 0.
    """
    weights = array_exp(-np.square(_NODES) / 2)
    weights /= ordered_sum(weights)
    rates = 1 / (1 + array_exp(-(mean + deviation * _NODES[:, None] + wander * _NODES)))
    low = ordered_dot(np.minimum(rates, clip), weights)
    both = low + ordered_dot(np.minimum(1 - rates, clip), weights)
    start = float(ordered_dot(weights, low) / ordered_dot(weights, both))
    start = min(max(start, _RAREST), 1 - _RAREST)  # Of margins beyond a rate's bits it is 0 or 1.
    a, b = math.log(start / (1 - start)), 0.0
    for _ in range(_STEPS):
        told = 1 / (1 + array_exp(-(a + b * _NODES)))
        bend = weights * both * told * (1 - told)
        total = max(float(ordered_sum(bend)), _FLAT)
        middle = float(ordered_dot(bend, _NODES)) / total
        around = _NODES - middle
        variance = max(float(ordered_dot(bend, around * around)) / total, _FLAT)
        left = weights * (low - both * told)
        turn = float(ordered_dot(left, around)) / total / variance
        longest = _PART * deviation
        turn = b + max(-longest, min(turn, longest))
        turn = max(_LEAST_SLOPE * deviation, min(turn, deviation)) - b
        rise = float(ordered_sum(left)) / total - middle * turn
        a, b = a + max(-_LONGEST, min(rise, _LONGEST)), b + turn
    slope = b / deviation
    return a - slope * mean, slope


def with_line(v: np.ndarray, constant: int, line: tuple[float, float]) -> np.ndarray:
    """Return the parameters whose margins are a + b z, of those with margins z."""
    a, b = line
    shrunk = b * v
    shrunk[constant] += a
    return shrunk
