"""The loop over the entries whose sizes are counted."""

import numpy as np

from dpcore.plugin import njit

__all__ = ["write_digits"]


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
