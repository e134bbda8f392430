"""The kernels of sums that are clipped unit by unit."""

import numpy as np

from dpcore.plugin import njit

__all__ = ["add_clipped_units", "add_rows_to_units"]


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
