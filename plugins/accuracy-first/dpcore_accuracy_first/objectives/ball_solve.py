"""A ridge objective made of noisy sums, minimised over a ball."""

from __future__ import annotations

import importlib

import numpy as np

from dpcore.plugin import ordered_dot, ordered_norm

__all__ = ["BallSolver"]

_STEPS = 12
_NEAR = 0.98, 1.001
"""Norms over the radius that end the search; what is longer is for the caller to bring back."""


class BallSolver:
    """argmin of w'(Z + mu)w / 2 - z'w over ||w|| <= radius, for one noisy (Z, z) after the other.

    Z may be indefinite. The minimiser solves (Z + mu + nu) w = z for the least nu >= 0 that makes
    the matrix positive definite and ||w|| <= radius (More & Sorensen 1983); nu is found by Newton's
    method on 1/||w||, from that of the matrix before, which had a little more noise. It is post-
    processing: a solution that is not quite the best costs utility only.
    """

    def __init__(self, mu: float, radius: float) -> None:
        self._mu, self._radius = mu, radius
        self._shift = 0.0
        importlib.import_module("scipy.linalg")  # which ``solve`` needs, after a charge

    def solve(self, matrix: np.ndarray, vector: np.ndarray, ridge: float = 0.0) -> np.ndarray:
        """Return the minimiser with ``mu + ridge`` for mu."""
        from scipy.linalg import cho_factor, cho_solve, solve_triangular

        shift, low, high, w = self._shift, 0.0, 0.0, np.zeros(vector.size)
        diagonal = np.diag_indices(vector.size)
        whole = matrix.copy()
        for _ in range(_STEPS):
            whole[diagonal] = matrix[diagonal] + (self._mu + ridge + shift)
            try:
                factor = cho_factor(whole, lower=True, check_finite=False)
            except np.linalg.LinAlgError:
                low = shift
                shift = (low + high) / 2 if high > low else max(2 * shift, self._mu)
                continue
            high = shift
            w = cho_solve(factor, vector, check_finite=False)
            norm = ordered_norm(w)
            if _NEAR[0] <= norm / self._radius <= _NEAR[1] or (shift == 0 and norm <= self._radius):
                break
            if norm == 0.0:
                break
            half = solve_triangular(factor[0], w, lower=True, check_finite=False)
            step = (norm / self._radius - 1) * norm**2 / float(ordered_dot(half, half))
            # Towards the edge; never back to where the matrix was not positive definite.
            shift = max(shift + step, (low + shift) / 2 if low else 0.0)
        self._shift = shift
        return w
