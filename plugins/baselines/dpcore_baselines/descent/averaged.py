"""Gradient descent with momentum and averaging, from noisy gradients: post-processing of them."""

from __future__ import annotations

import math

import numpy as np

from dpcore_baselines.descent.kernels import averaged_step

__all__ = ["AveragedDescent", "load_step"]

_FARTHEST = 2.0**20
"""Iterates whose largest coordinate is beyond it are scaled down to it: a run that comes there
swings ever wider, and in the end margins would be exact on no grid."""


def load_step() -> None:
    """Load the kernel of a step, as before anything is charged."""
    averaged_step(np.zeros(1), np.zeros(4), np.zeros((4, 1)), np.empty((4, 1)))


class AveragedDescent:
    """The iterates from 0, and their average: iterate t weighs about t^averaging (polynomial decay,
    Shamir & Zhang 2013, section 4); a negative one means the last iterate.

    ``v`` : the point at which the next gradient is asked for, float64 of the given shape.
    ``average`` : of all iterates after the first, of that shape; ``spread`` : their variances about
    it, by the same weights.
    """

    def __init__(self, shape: tuple[int, ...], *, momentum: float, averaging: float) -> None:
        self._momentum, self._averaging = momentum, averaging
        self._taken, self._shape = 0, shape
        self._state = np.zeros((4, math.prod(shape)))

    @property
    def v(self) -> np.ndarray:
        return self._state[1].reshape(self._shape)

    @property
    def average(self) -> np.ndarray:
        return self._state[2].reshape(self._shape)

    @property
    def spread(self) -> np.ndarray:
        return self._state[3].reshape(self._shape)

    def move(self, gradient: np.ndarray, step_size: float) -> None:
        """Take one step along the smoothed gradients, ``gradient`` being the newest, at ``v``."""
        self._taken += 1
        a = self._averaging
        fresh = 1.0 if a < 0 else (1 + a) / (self._taken + a)
        params = np.array([self._momentum, step_size, fresh, _FARTHEST])
        after = np.empty_like(self._state)
        averaged_step(np.ascontiguousarray(gradient).ravel(), params, self._state, after)
        self._state = after
