"""The eigenvalues of a released Hessian, brought above 0: post-processing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from dpcore.plugin import ordered_dot

__all__ = ["CHANGES", "Curvature", "changed", "edge"]

CHANGES = ("clip", "add")
"""The ways to lift eigenvalues: small ones up to a least value, or all of them by it."""


def changed(values: np.ndarray, least: float, change: str) -> np.ndarray:
    """Return the eigenvalues, none below ``least`` if none is below 0."""
    return values + least if change == "add" else np.maximum(values, least)


def edge(deviation: float, width: int) -> float:
    """Return about the root mean square of the eigenvalues of a symmetric matrix of normal noise,
    of this deviation beside the diagonal: half of its largest (Wigner's semicircle)."""
    return deviation * math.sqrt(width)


@dataclass(frozen=True)
class Curvature:
    """A symmetric matrix whose eigenvalues are above 0, ready to be solved for several gradients.

    Parameters
    ----------
    values : the eigenvalues, float64 of shape (d,), > 0. ``vectors`` : in columns, of (d, d).
    """

    values: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(cls, matrix: np.ndarray, least: float, change: str, added: float) -> Self:
        """Return the matrix with its small eigenvalues changed, and ``added`` > 0 to all of them.

        Without noise no eigenvalue is below 0: those that are count as 0.
        """
        values, vectors = np.linalg.eigh(matrix)
        return cls(changed(np.maximum(values, 0.0), least, change) + added, vectors)

    def solve(self, gradient: np.ndarray) -> np.ndarray:
        """Return the matrix's inverse times a vector, float64 of shape (d,)."""
        return ordered_dot(self.vectors, ordered_dot(self.vectors.T, gradient) / self.values)
