"""The loops over the rows that users drew, of all users at once."""

import numpy as np

from dpcore.plugin import njit

__all__ = ["add_drawn", "drawn_margins"]


@njit(cache=True, error_model="numpy", nogil=True)
def drawn_margins(
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    rows: np.ndarray,
    w: np.ndarray,
    out: np.ndarray,
) -> None:
    """Fill ``out`` with the products of drawn rows and ``w``, before the rows' factors. They are
    exact in any order: ``w`` and the values are on their grids."""
    for i in range(rows.shape[0]):
        total = 0.0
        for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
            total += values[j] * w[indices[j]]
        out[i] = total


@njit(cache=True, error_model="numpy", nogil=True)
def add_drawn(
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    rows: np.ndarray,
    places: np.ndarray,
    c: np.ndarray,
    scale: float,
    out: np.ndarray,
) -> None:
    """Add each drawn record, truncated by itself to steps of 1 / scale, to its user's sum."""
    for i in range(rows.shape[0]):
        weight = c[i] * scale
        for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
            out[places[i], indices[j]] += np.int64(np.trunc(weight * values[j]))
