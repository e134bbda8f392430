"""The loop over rows whose clipped residuals are multiplied with them: exact sums."""

import numpy as np

from dpcore.plugin import njit

__all__ = ["residual_sums"]


@njit(cache=True, error_model="numpy", nogil=True)
def residual_sums(
    rows: np.ndarray, targets: np.ndarray, at: np.ndarray, figures: np.ndarray, out: np.ndarray
) -> None:
    """Add ``trunc(steps t_i) rows[i]`` for every row, t_i the residual ``targets[i] - rows[i].at``
    over the clip, held to [-1, 1]. Entries are whole and sums below 2^53, so every sum is exact.

    ``rows`` : float64 of shape (n, d). ``targets`` : of shape (n,). ``at``, ``out`` : of shape
    (d,). ``figures`` : the clip and the steps.
    """
    clip, steps = figures[0], figures[1]
    for i in range(rows.shape[0]):
        row = rows[i]
        residual = targets[i]
        for j in range(row.shape[0]):
            residual -= at[j] * row[j]  # in the columns' order
        whole = np.trunc(steps * min(max(residual / clip, -1.0), 1.0))
        for j in range(row.shape[0]):
            out[j] += whole * row[j]
