"""Boxes of Tukey depth, and the distribution of a point that is drawn by its depth: in whole
numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin.parts import exp_down
from dpcore_tukey.part_models import LARGEST_STEPS

if TYPE_CHECKING:
    from dpcore.plugin.parts import NoiseSource

__all__ = ["Boxes", "DepthDistribution"]

_FEWEST_BITS, _MOST_BITS = 64, 2**13


class Boxes:
    """The boxes ``R_s`` of all grid points of depth s or more among some models.

    A point's depth is, over all coordinates, the fewest models that are there on one side of it,
    those that tie on both sides, and half of all, rounded up, at most: what ties add is no depth.
    So R_s is, coordinate by coordinate, between the s-th smallest and the s-th largest of the
    models, for s <= 0 the whole grid, and above half of all empty. One model that becomes another
    moves the number on a side by 1 at most, and so the depth of each point.

    Parameters
    ----------
    models : int64 of shape (m, d), within ``LARGEST_STEPS``.
    """

    def __init__(self, models: np.ndarray) -> None:
        self._sorted = np.sort(models, axis=0)

    def corner(self, s: int) -> tuple[list[int], list[int]]:
        """Return the least point of R_s, 1 <= s <= (m + 1) / 2, and its lengths in points."""
        low, high = self._sorted[s - 1].tolist(), self._sorted[len(self._sorted) - s].tolist()
        return low, [b - a + 1 for a, b in zip(low, high, strict=True)]

    def volume(self, s: int) -> int:
        """Return the number of points of R_s."""
        m, d = self._sorted.shape
        if s <= 0:
            return (2 * LARGEST_STEPS + 1) ** d
        return math.prod(self.corner(s)[1]) if 2 * s <= m + 1 else 0


@dataclass(frozen=True, slots=True)
class DepthDistribution:
    """The exponential mechanism over the grid points of depth ``least`` or more: a point of depth s
    has a probability proportional to the whole number f(s).

    f(deepest) is a power of 2, and f(s) = ceil(f(s + 1) / rho), rho <= e^(epsilon / 2): f rises,
    by a factor of rho at most. It is in the place of e^(epsilon s / 2), and the proofs ask no more
    of f. Since sum_z f(depth(z)) = sum_s g(s) |R_s| with g(s) = f(s) - f(s - 1) and g(least) =
    f(least), a box is drawn by the weights g(s) |R_s|, and in it a point, all points alike.

    **Safe models.** Write D, D' for models that differ in one, u and u' for depths in them, t for
    ``least``, Z = sum over u(z) >= t of f(u(z)), P and P' for the distributions. D is safe if

        f(t) |R_(t-1)| <= delta Z.                                                        (1)

    Then P(F) <= e^epsilon (1 + delta) P'(F) + delta for every set F and every D'. For Z' is the sum
    of f(u'(z)) over u'(z) >= t, where either u(z) >= t, and f(u'(z)) <= rho f(u(z)); or u(z) = t -
    1, u'(z) = t and f(u'(z)) = f(t), in R_(t-1). So Z' <= rho Z + delta Z <= rho (1 + delta) Z.
    Where u(z) >= t and u'(z) >= t, P(z) / P'(z) = f(u(z)) / f(u'(z)) Z' / Z <= rho^2 (1 + delta).
    Elsewhere P(z) > 0 only if u(z) = t, u'(z) = t - 1: together f(t) |R_t| / Z <= delta.

    **The distance.** For D, let

        C_k :  f(t) |R_(t-1-k)| <= delta Z_k,   Z_k = sum over u(z) >= t + k of f(u(z) - k),

    and h the number of k = 0, 1, ... up to the first that C_k does not hold for. (a) C_0 is (1): D
    is safe unless h = 0. (b) h moves by at most 1 from D to D'. For C_k of D implies C_(k-1) of D':
    R'_(t-k) is inside R_(t-1-k), and Z'_(k-1) is the sum over u'(z) >= t + k - 1 of f(u'(z) - k +
    1), at least that over u(z) >= t + k of f(u(z) - k), since u' >= u - 1 and f rises. (c) C_(k+1)
    implies C_k, likewise, so h is found by halving. As above Z_k = sum_r g(r) |R_(r+k)|.

    Parameters
    ----------
    models : how many, m. ``least`` : t, >= 1, below (m + 1) / 2. ``epsilon`` : > 0.
    """

    models: int
    least: int
    epsilon: Fraction

    @property
    def deepest(self) -> int:
        return (self.models + 1) // 2

    def weights(self) -> list[int]:
        """Return f(s) from ``least`` to ``deepest``."""
        steps, half = self.deepest - self.least, min(self.epsilon / 2, Fraction(64))
        rho, bits = max(Fraction(1), exp_down(half)), math.ceil(steps * half * Fraction(3, 2))
        found = [1 << min(_MOST_BITS, _FEWEST_BITS + bits)]
        for _ in range(steps):
            found.append(-(-found[-1] * rho.denominator // rho.numerator))
        return found[::-1]

    def rises(self) -> list[int]:
        """Return g(s) from ``least`` to ``deepest``."""
        f = self.weights()
        return [f[0], *(b - a for a, b in zip(f, f[1:], strict=False))]

    def distance(self, boxes: Boxes, delta: Fraction) -> int:
        """Return h: how many models have to be others, at least, before any are not safe."""
        g, t = self.rises(), self.least
        volumes = [boxes.volume(s) for s in range(t, self.deepest + 1)]

        def holds(k: int) -> bool:
            total = sum(a * b for a, b in zip(g, volumes[k:], strict=False))
            return g[0] * boxes.volume(t - 1 - k) * delta.denominator <= total * delta.numerator

        low, high = 0, len(volumes)  # C_k holds for no k from ``high`` on: no point is so deep.
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if holds(middle) else (low, middle)
        return low

    def draw(self, boxes: Boxes, noise: NoiseSource) -> np.ndarray:
        """Return a point of this distribution, int64 of shape (d,): exact, by uniform whole
        numbers."""
        levels = range(self.least, self.deepest + 1)
        ends = np.cumsum(
            [g * boxes.volume(s) for s, g in zip(levels, self.rises(), strict=True)], dtype=object
        ).tolist()
        drawn, s = _below(ends[-1], noise), 0
        while drawn >= ends[s]:
            s += 1
        low, lengths = boxes.corner(levels[s])
        return np.array([a + _below(n, noise) for a, n in zip(low, lengths, strict=True)], np.int64)


def _below(n: int, noise: NoiseSource) -> int:
    """Return a uniform whole number in [0, n), for n of any size: bits, drawn again where they make
    n or more."""
    bits = (n - 1).bit_length()
    words = -(-bits // 64)
    while True:
        drawn = int.from_bytes(noise.words(words).astype("<u8").tobytes(), "little")
        if (drawn := drawn & ((1 << bits) - 1)) < n:
            return drawn
