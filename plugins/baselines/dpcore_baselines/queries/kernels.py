"""The kernels of a minimiser's gradients and steps, of distances between candidates, and of sums
that are clipped unit by unit."""

import numpy as np

from dpcore.plugin import njit

__all__ = [
    "add_clipped_units",
    "add_rows_to_units",
    "bfgs_step",
    "widest_square",
    "write_parts",
]

_IN_TURN = 2**12


@njit(cache=True, error_model="numpy", nogil=True)
def write_parts(slopes: np.ndarray, factor: np.ndarray, one: float, parts: np.ndarray) -> None:
    """Write each row's slope, times its factor, as a multiple of ``1 / one`` and what that leaves
    as one of ``1 / one^2``: the sums of both are exact.

    ``slopes`` : float64 of shape (n_margins, n_rows). ``factor`` : of shape (n_rows,). ``one`` : a
    power of two. ``parts`` : of shape (2, n_margins, n_rows).
    """
    back, fine = 1.0 / one, one * one
    for k in range(slopes.shape[0]):
        slope, first, second = slopes[k], parts[0, k], parts[1, k]
        for i in range(factor.shape[0]):
            whole = slope[i] * factor[i]
            near = np.rint(whole * one) * back
            first[i] = near
            second[i] = np.rint((whole - near) * fine)


@njit(cache=True, error_model="numpy", nogil=True)
def bfgs_step(
    moved: np.ndarray, turned: np.ndarray, curvature: float, work: np.ndarray, step: np.ndarray
) -> None:
    """Turn ``step``, a gradient, into a step of limited-memory BFGS: an inverse curvature times it
    (Nocedal 1980, the recursion over the last pairs there and back).

    ``moved``, ``turned`` : what points and gradients differed by, float64 of shape (n_pairs, n),
    the newest last. ``curvature`` : of the first step. ``work`` : of shape (2, n_pairs + n).
    """
    pairs = moved.shape[0]
    weights, bends, terms = work[0, :pairs], work[1, :pairs], work[0, pairs:]
    for m in range(pairs - 1, -1, -1):
        bends[m] = _ordered_dot(moved[m], turned[m], terms)
        weights[m] = _ordered_dot(moved[m], step, terms) / bends[m]
        for i in range(step.shape[0]):
            step[i] -= weights[m] * turned[m, i]
    scale = 1.0
    if pairs:
        scale = bends[pairs - 1] / _ordered_dot(turned[pairs - 1], turned[pairs - 1], terms)
    for i in range(step.shape[0]):
        step[i] = step[i] * scale if pairs else step[i] / curvature
    for m in range(pairs):
        rest = weights[m] - _ordered_dot(turned[m], step, terms) / bends[m]
        for i in range(step.shape[0]):
            step[i] += rest * moved[m, i]


@njit(cache=True, error_model="numpy", nogil=True)
def widest_square(columns: np.ndarray, squares: np.ndarray) -> float:
    """Return the largest squared distance between two points, each a sum in the columns' order.

    ``columns`` : float64 of shape (n, n_points), points side by side, so that the sums of one point
    and all later ones grow together. ``squares`` : for these, of shape (n_points,).
    """
    widest = 0.0
    for k in range(squares.shape[0]):
        sums = squares[k:]
        sums[:] = 0.0
        for i in range(columns.shape[0]):
            at = columns[i, k:]
            for m in range(sums.shape[0]):
                apart = at[m] - at[0]
                sums[m] += apart * apart
        widest = max(widest, sums.max())
    return widest


@njit(error_model="numpy", fastmath=False)
def _ordered_dot(left: np.ndarray, right: np.ndarray, terms: np.ndarray) -> float:
    """Return the sum of products in the order of ``dpcore.plugin.ordered_dot``."""
    size = left.shape[0]
    for i in range(size):
        terms[i] = left[i] * right[i]
    while size > _IN_TURN:
        half, odd = size // 2, size % 2
        for i in range(half):
            terms[i] += terms[half + i]
        if odd:
            terms[half] = terms[size - 1]
        size = half + odd
    total = terms[0]
    for i in range(1, size):
        total += terms[i]
    return total


@njit(cache=True, error_model="numpy", nogil=True)
def add_rows_to_units(
    rows: np.ndarray, c: np.ndarray, units: np.ndarray, scale: float, sums: np.ndarray
) -> None:
    """Add each row, times its coefficient and truncated to 1 / scale, to its unit's sums."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            sums[units[i], j] += np.int64(c[i] * rows[i, j] * scale)


@njit(cache=True, error_model="numpy", nogil=True)
def add_clipped_units(sums: np.ndarray, limit: float, total: np.ndarray) -> None:
    """Add each unit's vector, scaled down to an l2 norm of at most ``limit`` steps, to the total.

    The sum of d squares rounds down by less than (d + 4) 2^-53 of it, its root and a quotient by
    less than 2^-52: ``norm`` is an upper bound, and 2^-50 taken off the factor leaves every product
    below the real coordinate times limit / norm, and truncation towards zero below that.
    """
    slack = 1.0 + (sums.shape[1] + 8.0) * 2.220446049250313e-16
    for u in range(sums.shape[0]):
        square = 0.0
        for j in range(sums.shape[1]):
            size = float(sums[u, j])
            square += size * size
        norm = np.sqrt(square) * slack
        if norm <= limit:
            for j in range(sums.shape[1]):
                total[j] += sums[u, j]
        else:
            factor = limit / norm * (1.0 - 8.881784197001252e-16)
            for j in range(sums.shape[1]):
                total[j] += np.int64(float(sums[u, j]) * factor)
