"""The kernel of sums of products: exact, in any order."""

import numpy as np

from dpcore.plugin import njit

__all__ = ["exact_gram_sums"]


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
def exact_gram_sums(
    left: np.ndarray, rows: np.ndarray, columns: np.ndarray, out: np.ndarray
) -> None:
    """Add each row's products ``left[j] rows[k]`` to ``out``, j <= k. Entries are whole, and sums
    below 2^53, so every sum is exact, and its order and fusing are the compiler's choice.

    ``left`` : the same as ``rows``, or multiples of it; of its shape. ``rows`` : float64 of shape
    (n, d), or (n, d + 1) with targets last. ``columns`` : zeros of shape (2, width + 3, size), for
    as many rows at a time as columns; of shape (1, ...) where ``left`` is ``rows``. ``out`` :
    float64 of shape (d + 1, width + 3), not to be used below the diagonal and beyond d and width.
    """
    for start in range(0, rows.shape[0], columns.shape[2]):
        n = min(columns.shape[2], rows.shape[0] - start)
        first, second = columns[0], columns[-1]
        _turn(left[start : start + n], first)
        if columns.shape[0] > 1:
            _turn(rows[start : start + n], second)
        # Two columns times four at a time: each of these is fetched for several products.
        for j in range(0, out.shape[0] - 1, 2):
            x, y, above, below = first[j, :n], first[j + 1, :n], out[j], out[j + 1]
            for k in range(j, rows.shape[1], 4):
                a, b = second[k, :n], second[k + 1, :n]
                c, d = second[k + 2, :n], second[k + 3, :n]
                p, q, r, s, t, u, v, w = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                for i in range(x.shape[0]):
                    p, q, r, s = p + x[i] * a[i], q + x[i] * b[i], r + x[i] * c[i], s + x[i] * d[i]
                    t, u, v, w = t + y[i] * a[i], u + y[i] * b[i], v + y[i] * c[i], w + y[i] * d[i]
                above[k], above[k + 1] = above[k] + p, above[k + 1] + q
                above[k + 2], above[k + 3] = above[k + 2] + r, above[k + 3] + s
                below[k], below[k + 1] = below[k] + t, below[k + 1] + u
                below[k + 2], below[k + 3] = below[k + 2] + v, below[k + 3] + w


@njit(error_model="numpy", fastmath=False)
def _turn(rows: np.ndarray, columns: np.ndarray) -> None:
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            columns[k, i] = rows[i, k]
