"""The loop over rows whose outer products are a Hessian."""

import numpy as np

from dpcore.plugin import njit

__all__ = ["write_roots"]


@njit(cache=True, error_model="numpy", nogil=True)
def write_roots(
    rows: np.ndarray, c: np.ndarray, maps: np.ndarray, params: np.ndarray, out: np.ndarray
) -> None:
    """Write ``trunc(steps sqrt(min(c_i, clip / ||phi_i||^2)) phi_i)`` for every row x_i, with
    ``phi_j = a_j x_j - b_j x_last``: whole numbers, whose squares add up to ``steps^2 clip`` or
    less. A number c that is not above 0, or not finite, counts as 0.

    ``rows``, ``out`` : float64 of shape (n, d). ``c`` : of shape (n,). ``maps`` : a and b, of shape
    (2, d). ``params`` : the clip, less what roundings may add, the steps, and the place of the
    column that is taken off.
    """
    clip, steps, last = params[0], params[1], int(params[2])
    for i in range(rows.shape[0]):
        x, phi = rows[i], out[i]
        off = x[last]
        square = 0.0
        for j in range(x.shape[0]):
            phi[j] = maps[0, j] * x[j] - maps[1, j] * off
        for j in range(x.shape[0]):
            square += phi[j] * phi[j]
        number = c[i] if 0.0 < c[i] < np.inf else 0.0
        root = steps * np.sqrt(min(number, clip / square)) if square > 0.0 else 0.0
        for j in range(x.shape[0]):
            phi[j] = np.trunc(root * phi[j])
