"""A minimum of a smooth, strongly convex function from its gradients, by a bounded number of them.

First limited-memory BFGS (Nocedal 1980), its steps shortened by the slope along them, which is
fast and promises nothing; then, from the best point, gradient steps of 1 / curvature, which
promise: with gradients and points that are inexact by an error e in all, a step lowers F by
(||grad F||^2 - e^2) / (2 curvature), and F - min F >= ||grad F||^2 / (2 curvature), <= ||grad F||^2
/ (2 mu). So while ||grad F|| >= 2 e, F - min F falls by a factor of 1 - 3 mu / (4 curvature) at
least, and a gradient below a tolerance of 4 e or more turns up within the number of steps computed
here from public constants.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import ordered_dot, ordered_norm
from dpcore_baselines.queries.kernels import bfgs_step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["bfgs_direction", "load_descent", "minimize", "steps_that_suffice"]

_FAST_STEPS = 600
_MEMORY = 12
_TRIALS = 12
_TOO_FAR = 0.5
"""A step has gone too far if the slope along it is still this part of what it was, upwards."""


def load_descent() -> None:
    """Load the kernel of a step, as before anything is charged."""
    bfgs_direction(np.zeros(1), (), 1.0)


def minimize(
    gradient: Callable[[np.ndarray], np.ndarray],
    rounded: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    *,
    curvature: float,
    mu: float,
    radius: float,
    tolerance: float,
) -> np.ndarray:
    """Return a point whose gradient, as computed, is at most ``tolerance`` in l2.

    ``gradient`` is asked at points that are ``rounded``, where it has an error; ``tolerance`` is at
    least four times that error and the rounding's together. ``curvature``, ``mu`` : the Lipschitz
    constant of the gradient and the strong convexity. ``radius`` : the minimiser's norm at most.
    """
    w = rounded(start)
    g = gradient(w)
    best, best_g = w, g
    memory: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=_MEMORY)
    left = _FAST_STEPS
    while left > 0 and ordered_norm(best_g) > tolerance:
        step = bfgs_direction(g, memory, curvature)
        downhill = float(ordered_dot(step, g))
        if downhill <= 0:
            memory.clear()
            step, downhill = g / curvature, float(ordered_dot(g, g)) / curvature
        step = _within(step, w, radius)
        asked = min(_TRIALS, left)
        ahead, ahead_g, tried = _ahead(gradient, rounded, w, step, downhill, asked)
        left -= tried
        moved, turned = ahead - w, ahead_g - g
        if ordered_dot(moved, turned) > 0:
            memory.append((moved, turned))
        else:
            memory.clear()
        w, g = ahead, ahead_g
        if ordered_norm(g) < ordered_norm(best_g):
            best, best_g = w, g
    return _steepest(gradient, rounded, best, best_g, curvature, mu, radius, tolerance)


def _ahead(
    gradient: Callable[[np.ndarray], np.ndarray],
    rounded: Callable[[np.ndarray], np.ndarray],
    w: np.ndarray,
    step: np.ndarray,
    downhill: float,
    most: int,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return a point along the step that is not too far, its gradient, and how many were asked for,
    ``most`` or fewer."""
    length, tried = 1.0, 0
    while True:
        ahead = rounded(w - length * step)
        ahead_g = gradient(ahead)
        tried += 1
        # Along the step the slope grows from -downhill: back to about where it is 0.
        uphill = -float(ordered_dot(step, ahead_g))
        if uphill <= _TOO_FAR * downhill or tried == most:
            return ahead, ahead_g, tried
        length *= max(0.1, downhill / (downhill + uphill))


def steps_that_suffice(curvature: float, mu: float, radius: float, tolerance: float) -> int:
    """Return the number of gradient steps after which the tolerance has been met, from a point
    whose gradient is at most that at 0."""
    # F - min F <= ||grad F||^2 / (2 mu) at the start, and >= tolerance^2 / (2 curvature) until met.
    ratio = max(2.0, (curvature * radius / tolerance) ** 2 * curvature / mu)
    return math.ceil(4 / 3 * curvature / mu * math.log(ratio)) + 2


def _steepest(
    gradient: Callable[[np.ndarray], np.ndarray],
    rounded: Callable[[np.ndarray], np.ndarray],
    w: np.ndarray,
    g: np.ndarray,
    curvature: float,
    mu: float,
    radius: float,
    tolerance: float,
) -> np.ndarray:
    for _ in range(steps_that_suffice(curvature, mu, radius, tolerance)):
        if ordered_norm(g) <= tolerance:
            break
        w = rounded(w - g / curvature)
        g = gradient(w)
    return w


def bfgs_direction(
    g: np.ndarray, memory: Sequence[tuple[np.ndarray, np.ndarray]], curvature: float
) -> np.ndarray:
    """Return the step of limited-memory BFGS: an inverse curvature times the gradient ``g``, by the
    pairs of what points and gradients differed by, the newest last."""
    step, shape = g.copy(), (len(memory), g.size)
    moved, turned = (np.reshape([pair[k] for pair in memory], shape) for k in (0, 1))
    bfgs_step(moved, turned, curvature, np.empty((2, sum(shape))), step)
    return step


def _within(step: np.ndarray, w: np.ndarray, radius: float) -> np.ndarray:
    """Return the step, shortened so that the point stays within twice the radius."""
    norm = ordered_norm(w - step)
    if norm <= 2 * radius:
        return step
    shortened: np.ndarray = w - (w - step) * (2 * radius / norm)
    return shortened
