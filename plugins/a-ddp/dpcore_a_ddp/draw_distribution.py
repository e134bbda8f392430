"""The distribution of a row's draws: the squared distances that add up over the rounds it takes
part in.

A round with sampling probability p and noise multiplier m adds 1 / m^2 with probability p. Over n
such rounds that is a binomial number of equal steps, exactly. Rounds of different noise are put on
one lattice, each step rounded up: where noise differs by orders of magnitude within one schedule,
the small steps are rounded up by much. Whatever is cut off counts as larger than everything: mass
of the upper tail is ``lost`` (delta 1), mass of the lower tail moves up to the first point kept. So
the mean of a function that grows, taken over what is kept, is never too small.

Terms are positive float64; ``slack`` bounds what rounding took off any of them, relative.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import ordered_dot, ordered_sum
from dpcore_accounting.gaussian_floats import MARGIN, gaussian_deltas_up

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NO_DRAWS", "DrawDistribution", "hits_of"]

_FINENESS = 64
"""Lattice points in the smallest of several different steps, which rounding up can lengthen by
one."""
_MOST_POINTS = 2**15
_NEGLIGIBLE = 1e-60
_UNDERFLOW = 2.0**-1000
"""Above what terms below the smallest float come to."""
_LARGEST_STEP = 2.0**960
"""Beyond it the square of a distance, or of several, may leave float64."""


@dataclass(frozen=True, eq=False)
class DrawDistribution:
    """The distribution of the sum: ``mass[i]`` at ``(first + i) unit``, and ``lost`` above them
    all."""

    unit: float
    first: int
    mass: np.ndarray
    lost: float
    slack: float

    def after(self, rounds: int, step: float, p: float) -> DrawDistribution:
        """Return the distribution after ``rounds`` more, each adding ``step`` > 0 with probability
        ``p``. A step beyond 2^960, of noise below 2^-480, counts as larger than everything."""
        if step > _LARGEST_STEP:
            return replace(self, lost=1.0)
        found = self._refined(step) if self.mass.size > 1 or self.first else self._at(step)
        begin, hits, lost, slack = hits_of(rounds, p)
        while (stride := found._stride(step)) * (hits.size - 1) > _MOST_POINTS and stride > 1:
            found = found._coarser()
        return DrawDistribution(
            found.unit,
            found.first + begin * stride,
            _summed(found.mass, hits, stride),
            found.lost + lost,
            found.slack + slack + (hits.size + 4) * 2.0**-52,
        )._trimmed()

    def mean_up(self, function: Callable[[np.ndarray], np.ndarray]) -> float:
        """Return an upper bound, at most 1, of the mean of a function that grows and is at most 1,
        given upper bounds of its values at points."""
        points = (self.first + np.arange(self.mass.size)) * self.unit
        total = float(ordered_dot(self.mass, function(points))) + _UNDERFLOW + self.lost
        return min(1.0, total * (1 + self.slack + MARGIN))

    def delta_up(self, epsilon: float) -> float:
        """Return an upper bound of the mean delta of Gaussian noise at these distances."""
        return self.mean_up(lambda squares: gaussian_deltas_up(np.sqrt(squares), epsilon))

    def _stride(self, step: float) -> int:
        """Return the step in points of the lattice, rounded up."""
        return int(-(-Fraction(step) // Fraction(self.unit)))

    def _at(self, step: float) -> DrawDistribution:
        """Return the same distribution, all of it at 0, on a lattice of that step."""
        return replace(self, unit=step)

    def _refined(self, step: float) -> DrawDistribution:
        """Return the same distribution on a lattice that is fine enough for the step."""
        if step == self.unit:
            return self
        factor = 1
        while self.unit / factor > step / _FINENESS and factor * self.mass.size < _MOST_POINTS:
            factor *= 2
        mass = np.zeros((self.mass.size - 1) * factor + 1)
        mass[::factor] = self.mass
        return replace(self, unit=self.unit / factor, first=self.first * factor, mass=mass)

    def _trimmed(self) -> DrawDistribution:
        """Return a distribution on few points: negligible ends cut off, then a coarser lattice."""
        found = self
        if found.mass.size > _FINENESS:
            total = np.cumsum(found.mass)
            low = int(np.searchsorted(total, _NEGLIGIBLE))
            above = np.cumsum(found.mass[::-1])
            high = found.mass.size - int(np.searchsorted(above, _NEGLIGIBLE))
            mass = found.mass[low:high].copy()
            mass[0] += ordered_sum(found.mass[:low])
            lost = found.lost + float(ordered_sum(found.mass[high:]))
            found = replace(found, first=found.first + low, mass=mass, lost=lost)
        while found.mass.size > _MOST_POINTS and found.unit > 0:
            found = found._coarser()
        return found

    def _coarser(self) -> DrawDistribution:
        """Return the distribution on every other point, what lies between them moved up."""
        places = (self.first + np.arange(self.mass.size) + 1) // 2
        mass = np.bincount(places - places[0], self.mass)
        return replace(
            self, unit=2 * self.unit, first=int(places[0]), mass=mass, slack=self.slack + 2.0**-52
        )


def _summed(mass: np.ndarray, hits: np.ndarray, stride: int) -> np.ndarray:
    """Return the distribution of a sum whose second part has mass on every ``stride``-th point
    only. Directly: with a Fourier transform small terms would not be right to a ratio; and in a
    fixed order, which NumPy's own convolution leaves to BLAS."""
    if stride == 1 and hits.size > mass.size:
        mass, hits = hits, mass
    total = np.zeros(mass.size + (hits.size - 1) * stride)
    for k, weight in enumerate(hits):
        total[k * stride : k * stride + mass.size] += weight * mass
    return total


NO_DRAWS = DrawDistribution(1.0, 0, np.ones(1), 0.0, 0.0)


def hits_of(rounds: int, p: float) -> tuple[int, np.ndarray, float, float]:
    """Return the distribution of the number of hits in so many rounds. These are the first number
    kept, upper bounds of the probabilities from there on, of the mass above them, and the relative
    slack of both.

    The ratios of neighbouring probabilities lead away from the largest, and their sum, from which
    what is cut off only takes away, divides them.
    """
    if p >= 1.0:
        return rounds, np.ones(1), 0.0, 0.0
    mode = min(rounds, int((rounds + 1) * p))
    reach = 64 + int(18 * np.sqrt(rounds * p * (1 - p)))
    low, high = max(0, mode - reach), min(rounds, mode + reach)
    odds = p / (1 - p)
    up = np.arange(mode, high, dtype=np.float64)
    down = np.arange(mode, low, -1, dtype=np.float64)
    rising = np.cumprod((rounds - up) / (up + 1) * odds)
    falling = np.cumprod(down / (rounds - down + 1) / odds)
    mass = np.concatenate((falling[::-1], np.ones(1), rising))
    above = below = 0.0
    # Ratios decrease from the mode on, either way: the rest is below a geometric series.
    if high < rounds:
        ratio = (rounds - high) / (high + 1) * odds
        above = mass[-1] * ratio / (1 - ratio)
    if low > 0:
        ratio = low / (rounds - low + 1) / odds
        below = mass[0] * ratio / (1 - ratio)
    total = ordered_sum(mass)
    mass[0] += below
    return low, mass / total, float(above / total), (8 * mass.size + 16) * 2.0**-52
