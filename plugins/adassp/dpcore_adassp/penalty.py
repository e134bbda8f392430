"""The penalty of a noisy matrix of products, by a released eigenvalue, and its solutions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from dpcore.plugin import ordered_dot

__all__ = ["Penalised", "added_penalty"]


def added_penalty(
    smallest: float, spread: float, sigma: float, width: int, failure: float, delta: float
) -> float:
    """Return lambda of Wang 2018, Algorithm 2: the matrix's noise, less a lower bound of the
    smallest eigenvalue. Post-processing.

    Parameters
    ----------
    smallest, spread : the released eigenvalue, and the deviation of its noise.
    sigma : the deviation of the matrix's noise. ``width`` : its rows.
    failure, delta : the chances that the noise is beyond either bound.
    """
    certain = max(0.0, smallest - spread * math.sqrt(math.log(6 / delta)))
    noise = sigma * math.sqrt(width * math.log(2 * width**2 / failure))
    return max(0.0, noise - certain)


@dataclass(frozen=True)
class Penalised:
    """A symmetric matrix with its penalty, ready to be solved for several vectors.

    Parameters
    ----------
    inverse : of the eigenvalues with the penalty, and 0 where those are too small.
    vectors : the eigenvectors, in columns.
    """

    inverse: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(cls, matrix: np.ndarray, penalty: float, least: float) -> Self:
        """Return matrix + penalty in the directions of an eigenvalue of ``least`` or more."""
        values, vectors = np.linalg.eigh(matrix)
        values = values + penalty
        kept = values >= least
        return cls(np.where(kept, 1 / np.where(kept, values, 1.0), 0.0), vectors)

    def solve(self, vector: np.ndarray) -> np.ndarray:
        """Return the solution w of (matrix + penalty) w = vector, float64."""
        return ordered_dot(self.vectors, self.inverse * ordered_dot(self.vectors.T, vector))
