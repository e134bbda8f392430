"""A turn of rows that makes their noisy products as good as even in all directions."""

from __future__ import annotations

import math

import numpy as np

from dpcore.plugin import ordered_sum, round_to
from dpcore_adassp.row_map import turn_of

__all__ = ["whitened"]

_OF_NOISE = 0.3
"""Added to every eigenvalue, over about half of the largest of the noise: sqrt(d) deviations."""
_LEAST = 0.1
"""At least so much of the mean eigenvalue: a direction in which rows hardly differ is one in which
a few far rows lie, and what the others say of it would be wrong for those by much."""
_LENGTH_BITS, _LONGEST = 20, 2.0**10


def whitened(
    matrix: np.ndarray, deviation: float, rows: float, length: float
) -> tuple[tuple[tuple[int, ...], ...], float]:
    """Return the turn T, as ``RowMap`` has it, and the typical length of a turned row. By T rows
    are about as long in all directions, as far as their number and the noise let it be told.

    With eigenvalues a and eigenvectors B of the matrix, T = B (a + t)^-1/2 B' over its largest
    entry. Noise of equal size in all coordinates of sums of turned rows does least harm to a
    prediction where their matrix of products is a multiple of the identity (Brown, Gaboardi, Smith,
    Ullman & Zakynthinou 2021 release means so). Post-processing.

    Parameters
    ----------
    matrix : released sums of products of rows over ``length``, of shape (d, d).
    deviation : of its noise on the diagonal, before any of it was taken off.
    rows : how many, public or released, >= 1.
    """
    values, basis = np.linalg.eigh(matrix)
    values = np.maximum(values, 0.0)
    width = len(values)
    mean = float(ordered_sum(values)) / width
    added = max(_OF_NOISE * deviation * math.sqrt(width), _LEAST * mean)
    turned = (basis / np.sqrt(values + added)) @ basis.T
    square = float(ordered_sum(values / (values + added))) / rows
    typical = length * math.sqrt(square) / float(np.abs(turned).max())
    typical = min(_LONGEST, max(1 / _LONGEST, typical))
    return turn_of(turned), float(round_to(np.array([typical]), _LENGTH_BITS)[0])
