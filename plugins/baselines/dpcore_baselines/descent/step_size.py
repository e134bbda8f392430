"""Step sizes that follow what released gradients say of a loss's curvature."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.plugin import ordered_dot, ordered_norm

__all__ = ["StepSize"]

_SURE = 4.0
"""Standard deviations of its noise that a curvature must be above 0 to count, over all steps."""
_OF_THE_LIMIT = 0.5


@dataclass(kw_only=True)
class StepSize:
    """Steps that add up to a time and grow evenly from a safe first one.

    A safe step is short for any rows that may come; most rows bear steps ten times as long,
    and fewer passes over them do. Steps too long for the rows swing along the direction of most
    curvature, ever wider, and that shows in the released gradients g at points v: the mean
    curvature on the way from v to v' is (g' - g).(v' - v) / ||v' - v||^2. The largest that is seen,
    less four standard deviations of its noise, holds all later steps to half of the limit; the time
    that is left then takes more steps, up to ``most_steps``. All of it is post-processing of
    releases, and the noise of further steps is of what is left of the budget.

    Parameters
    ----------
    time : the sum of the step sizes, > 0. ``steps`` : so many, unless they must be shorter.
    safe : the first step, or less where that many steps need none so long.
    limit : the step size times the curvature at which iterates swing ever wider; ``math.inf`` if
        steps are to be even, whatever the curvature.
    longest : a bound of all steps. ``most_steps`` : >= ``steps``.
    """

    time: float
    steps: int
    safe: float
    limit: float
    longest: float
    most_steps: int

    def __post_init__(self) -> None:
        self.left, self._time_left = self.steps, self.time
        self._plan()
        self._step = min(self.safe, self._time_left / self.left)
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def taken(self) -> int:
        return self.steps - self.left

    def next_step(self, v: np.ndarray, gradient: np.ndarray, deviation: float) -> float:
        """Return the size of the step from ``v``.

        ``gradient`` : as released there, with noise of this ``deviation`` in every coordinate.
        """
        self._watch(v, gradient, deviation)
        step = min(self._step, self.longest)
        self._time_left = max(0.0, self._time_left - step)
        self.left -= 1
        if self.left:
            self._plan()
            mean = self._time_left / self.left
            self._step = step + 2 * (mean - step) / (self.left + 1)
        return step

    def _watch(self, v: np.ndarray, gradient: np.ndarray, deviation: float) -> None:
        """Hold later steps to half of what the curvature between this point and the last allows."""
        last, self._last = self._last, (v, gradient)
        if last is None or math.isinf(self.limit):
            return
        way = (v - last[0]).reshape(-1)
        length = ordered_norm(way)
        if length == 0:
            return
        seen = float(ordered_dot(way, (gradient - last[1]).reshape(-1))) / length**2
        curvature = seen - _SURE * math.sqrt(2) * deviation / length
        if curvature > 0:
            self.longest = min(self.longest, _OF_THE_LIMIT * self.limit / curvature)

    def _plan(self) -> None:
        """Add the steps that the time left needs where none may be longer than ``longest``."""
        needed = min(math.ceil(self._time_left / self.longest), self.most_steps - self.taken)
        if needed > self.left:
            self.steps += needed - self.left
            self.left = needed
