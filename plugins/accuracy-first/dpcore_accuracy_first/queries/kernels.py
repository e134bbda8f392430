"""The kernel of sums of products: exact, in any order."""

import numpy as np

from dpcore.plugin import njit

__all__ = ["gram_sums"]


@njit(cache=True, error_model="numpy", nogil=True)
def gram_sums(left: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
    """Add each row's products ``left[j] rows[k]`` to the upper triangle of ``out``, j <= k, and to
    what is right of it. Entries are whole, and sums below 2^53, so every sum is exact.

    ``left`` : the same as ``rows``, or multiples of it; of its shape. ``rows`` : float64 of shape
    (n, d), or (n, d + 1) with targets last. ``out`` : float64 of shape (d, d), or (d, d + 1).
    """
    width = rows.shape[1]
    # Four rows at a time: a sum is then fetched and stored once for all of them.
    fours = rows.shape[0] - rows.shape[0] % 4
    for i in range(0, fours, 4):
        first, second, third, fourth = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for j in range(out.shape[0]):
            sums = out[j]
            a, b, c, d = left[i, j], left[i + 1, j], left[i + 2, j], left[i + 3, j]
            for k in range(j, width):
                sums[k] += (a * first[k] + b * second[k]) + (c * third[k] + d * fourth[k])
    for i in range(fours, rows.shape[0]):
        for j in range(out.shape[0]):
            for k in range(j, width):
                out[j, k] += left[i, j] * rows[i, k]
