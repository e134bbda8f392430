"""The loop over rows whose clipped residuals are multiplied with them: exact sums."""

import numpy as np

from dpcore.plugin import njit

__all__ = ["residual_sums"]


@njit(cache=True, error_model="numpy", nogil=True)
def residual_sums(
    rows: np.ndarray, targets: np.ndarray, at: np.ndarray, params: np.ndarray, out: np.ndarray
) -> None:
    """Add ``trunc(steps t_i) rows[i]`` for every row, t_i the residual ``targets[i] - rows[i].at``
    over the clip, held to [-1, 1]. Entries are whole and sums below 2^53, so every sum is exact.

    ``rows`` : float64 of shape (n, d). ``targets`` : of shape (n,). ``at``, ``out`` : of shape
    (d,). ``params`` : the clip and the steps.
    """
    # Four rows at a time: each residual is a sum in the columns' order, and the four side by side.
    fours = rows.shape[0] - rows.shape[0] % 4
    for i in range(0, fours, 4):
        first, second, third, fourth = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        p, q, r, s = targets[i], targets[i + 1], targets[i + 2], targets[i + 3]
        for j in range(at.shape[0]):
            p, q = p - at[j] * first[j], q - at[j] * second[j]
            r, s = r - at[j] * third[j], s - at[j] * fourth[j]
        p, q = _whole_residual(p, params), _whole_residual(q, params)
        r, s = _whole_residual(r, params), _whole_residual(s, params)
        for j in range(at.shape[0]):
            out[j] += (p * first[j] + q * second[j]) + (r * third[j] + s * fourth[j])
    for i in range(fours, rows.shape[0]):
        row, p = rows[i], targets[i]
        for j in range(at.shape[0]):
            p -= at[j] * row[j]
        p = _whole_residual(p, params)
        for j in range(at.shape[0]):
            out[j] += p * row[j]


@njit(error_model="numpy", fastmath=False)
def _whole_residual(residual: float, params: np.ndarray) -> float:
    """Return a residual over the clip, held to [-1, 1], in whole steps."""
    return np.trunc(params[1] * min(max(residual / params[0], -1.0), 1.0))
