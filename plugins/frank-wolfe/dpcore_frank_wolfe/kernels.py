"""Kernels over sparse rows of whole grid steps, and over scores."""

import numpy as np

from dpcore.plugin import njit

__all__ = [
    "add_column",
    "add_rows",
    "fill_columns",
    "group_sizes",
    "largest_steps",
    "place_in_group",
    "signed_scores",
]

_SIGN = np.uint64(1 << 63)
"""With this bit flipped int64 are in the order of uint64, and no difference wraps around."""


@njit(cache=True, error_model="numpy", nogil=True)
def largest_steps(indptr: np.ndarray, steps: np.ndarray, out: np.ndarray) -> None:
    """Raise ``out``, int64, to the size of each row's largest entry."""
    for i in range(out.shape[0]):
        for j in range(indptr[i], indptr[i + 1]):
            size = abs(np.int64(steps[j]))
            if size > out[i]:
                out[i] = size


@njit(cache=True, error_model="numpy", nogil=True)
def fill_columns(
    indptr: np.ndarray,
    indices: np.ndarray,
    steps: np.ndarray,
    free: np.ndarray,
    rows: np.ndarray,
    out: np.ndarray,
) -> None:
    """Sort entries by column: write each one's row and steps to the column's first ``free`` place,
    int64, which moves on."""
    for i in range(indptr.shape[0] - 1):
        for j in range(indptr[i], indptr[i + 1]):
            place = free[indices[j]]
            rows[place], out[place] = i, steps[j]
            free[indices[j]] = place + 1


@njit(cache=True, error_model="numpy", nogil=True)
def add_column(rows: np.ndarray, steps: np.ndarray, weight: int, margins: np.ndarray) -> None:
    """Add ``weight`` times a column's entries to the margins of their rows, int64."""
    for j in range(rows.shape[0]):
        margins[rows[j]] += weight * np.int64(steps[j])


@njit(cache=True, error_model="numpy", nogil=True)
def add_rows(
    indptr: np.ndarray,
    indices: np.ndarray,
    steps: np.ndarray,
    change: np.ndarray,
    total: np.ndarray,
) -> None:
    """Add each row times its ``change``, int64, to ``total``, int64; a row without one is not
    visited."""
    for i in range(change.shape[0]):
        by = change[i]
        if by != 0:
            for j in range(indptr[i], indptr[i + 1]):
                total[indices[j]] += by * np.int64(steps[j])


@njit(cache=True, error_model="numpy", nogil=True)
def signed_scores(gradient: np.ndarray, out: np.ndarray) -> None:
    """Write ``-gradient`` to the first half of ``out`` and ``gradient`` to the second, int64."""
    for j in range(gradient.shape[0]):
        out[j], out[gradient.shape[0] + j] = -gradient[j], gradient[j]


@njit(cache=True, error_model="numpy", nogil=True)
def group_sizes(
    scores: np.ndarray, largest: np.uint64, per_step: float, counts: np.ndarray
) -> None:
    """Add to ``counts``, int64, how many scores fall short of ``largest`` by how many scales.

    ``scores``, ``largest`` : int64 seen as uint64. ``per_step`` : scales in a grid step. The last
    count is of all that are further away.
    """
    last, top = counts.shape[0] - 1, largest ^ _SIGN
    for i in range(scores.shape[0]):
        far = np.float64(top - (scores[i] ^ _SIGN)) * per_step
        counts[np.int64(far) if far < last else last] += 1


@njit(cache=True, error_model="numpy", nogil=True)
def place_in_group(
    scores: np.ndarray, largest: np.uint64, per_step: float, last: int, group: int, rank: int
) -> int:
    """Return the place of the score of this rank, from 0, in a group of ``group_sizes``."""
    top = largest ^ _SIGN
    for i in range(scores.shape[0]):
        far = np.float64(top - (scores[i] ^ _SIGN)) * per_step
        if (np.int64(far) if far < last else last) == group:
            if rank == 0:
                return i
            rank -= 1
    return -1
