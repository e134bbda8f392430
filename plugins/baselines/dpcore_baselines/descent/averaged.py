"""Gradient descent with momentum and averaging, from noisy gradients: post-processing of them."""

from __future__ import annotations

import numpy as np

__all__ = ["AveragedDescent"]

_FARTHEST = 2.0**20
"""Iterates whose largest coordinate is beyond it are scaled down to it: a run that comes there
swings ever wider, and in the end margins would be exact on no grid."""


class AveragedDescent:
    """The iterates from 0, and their average: iterate t weighs about t^averaging (polynomial decay,
    Shamir & Zhang 2013, section 4); a negative one means the last iterate.

    ``v`` : the point at which the next gradient is asked for, float64 of the given shape.
    ``average`` : of all iterates after the first, of that shape; ``spread`` : their variances about
    it, by the same weights.
    """

    def __init__(self, shape: tuple[int, ...], *, momentum: float, averaging: float) -> None:
        self._momentum, self._averaging = momentum, averaging
        self._taken = 0
        self.v = np.zeros(shape)
        self._smoothed, self.average = self.v.copy(), self.v.copy()
        self.spread = self.v.copy()

    def move(self, gradient: np.ndarray, step_size: float) -> None:
        """Take one step along the smoothed gradients, ``gradient`` being the newest, at ``v``."""
        self._taken += 1
        self._smoothed = self._momentum * self._smoothed + (1 - self._momentum) * gradient
        self.v = self.v - step_size * self._smoothed
        largest = float(np.abs(self.v).max())
        if largest > _FARTHEST:
            self.v *= _FARTHEST / largest
        a = self._averaging
        fresh = 1.0 if a < 0 else (1 + a) / (self._taken + a)
        way = self.v - self.average
        self.spread = (1 - fresh) * (self.spread + fresh * way * way)
        self.average = (1 - fresh) * self.average + fresh * self.v
