"""The loops over coordinates: of a step and its average, and of entries whose sizes are counted."""

import numpy as np

from dpcore.plugin import njit

__all__ = ["averaged_step", "write_digits"]


@njit(cache=True, error_model="numpy", nogil=True)
def write_digits(entries: np.ndarray, edges: np.ndarray, base: float, out: np.ndarray) -> None:
    """Write ``base**k`` for every entry of a size above the k-th edge and no edge before it, and 0
    for others."""
    first, second, third = edges[0], edges[1], edges[2]
    for i in range(out.shape[0]):
        size = abs(entries[i])
        digit = base * base if size > third else 0.0
        digit = base if size > second else digit
        out[i] = 1.0 if size > first else digit


@njit(cache=True, error_model="numpy", nogil=True)
def averaged_step(
    gradient: np.ndarray, params: np.ndarray, before: np.ndarray, after: np.ndarray
) -> None:
    """Fill ``after`` with the smoothed gradient, the iterate, the average and the spread after a
    step: float64 of shape (4, n) both, ``before`` the same before it.

    ``params`` : weight of the earlier directions, step size, weight of the new iterate in the
    average, and how far a coordinate may be from 0. Post-processing: of released values alone.
    """
    momentum, step_size, fresh, farthest = params[0], params[1], params[2], params[3]
    largest = 0.0
    for i in range(gradient.shape[0]):
        smoothed = momentum * before[0, i] + (1 - momentum) * gradient[i]
        after[0, i] = smoothed
        after[1, i] = before[1, i] - step_size * smoothed
        largest = max(largest, abs(after[1, i]))
    scale = farthest / largest if largest > farthest else 1.0
    for i in range(gradient.shape[0]):
        after[1, i] *= scale
        way = after[1, i] - before[2, i]
        after[3, i] = (1 - fresh) * (before[3, i] + fresh * way * way)
        after[2, i] = (1 - fresh) * before[2, i] + fresh * after[1, i]
