"""Gradient descent with momentum and averaging, from noisy gradients: post-processing of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["descend"]


def descend(
    gradient: Callable[[np.ndarray], np.ndarray],
    width: int,
    *,
    steps: int,
    step_size: float,
    momentum: float,
    averaging: float,
) -> np.ndarray:
    """Return the average of the iterates from 0: iterate t weighs about t^averaging (polynomial
    decay, Shamir & Zhang 2013, section 4); a negative one means the last iterate.

    ``gradient`` : the noisy gradient at a point, of the mean over rows; float64 of shape (width,).
    """
    v = np.zeros(width)
    smoothed, average = v.copy(), v.copy()
    for taken in range(1, steps + 1):
        smoothed = momentum * smoothed + (1 - momentum) * gradient(v)
        v = v - step_size * smoothed
        fresh = 1.0 if averaging < 0 else (1 + averaging) / (taken + averaging)
        average = (1 - fresh) * average + fresh * v
    return average
