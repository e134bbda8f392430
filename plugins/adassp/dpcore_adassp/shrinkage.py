"""Coefficients from noisy sums of products and noisy residuals: the mean of a posterior."""

from __future__ import annotations

import math

import numpy as np

from dpcore.plugin import ordered_dot, ordered_norm, ordered_sum
from dpcore_accounting.reproducible.array_functions import array_exp, array_log

__all__ = ["Posterior", "scales_between", "wiener"]

_PER_HALVING = 4
_SPIKE = 0.4
"""The prior density of a scale tau goes as tau^-(1 + this): small scales are the likelier."""
_OF_MEAN = 4
"""Variances of the mean eigenvalue's noise that count, since the trace is not known to be large."""


def wiener(matrix: np.ndarray, sigma: float) -> tuple[np.ndarray, float]:
    """Return a matrix of sums of products without much of its noise, and the deviation of what is
    left in an entry of the diagonal.

    The deviation of the matrix from its mean eigenvalue times the identity is scaled down by
    Wiener's factor, as Ledoit and Wolf (2004) shrink a covariance; but the noise is known exactly
    here: ``sigma`` on the diagonal, sigma / sqrt(2) beside it. Before it is seen, the deviation is
    taken to be as large in Frobenius' norm as that multiple of the identity.
    """
    width = len(matrix)
    mean = max(float(ordered_sum(np.diag(matrix))) / width, sigma * 2.0**-20)
    apart = matrix - mean * np.eye(width)
    entries = width * (width + 1) / 2
    seen = ordered_norm(apart) ** 2 / max(entries - 1, 1) - sigma**2
    variance = max(seen, width * mean**2 / entries)
    factor = variance / (variance + sigma**2)
    left = sigma * math.sqrt(factor + _OF_MEAN / entries)
    return mean * np.eye(width) + factor * apart, left


def scales_between(least: float, most: float) -> np.ndarray:
    """Return scales of a prior from ``least`` to ``most`` or just above, evenly in logarithms."""
    halvings = math.log2(most / least)
    count = math.ceil(halvings * _PER_HALVING) + 1
    return np.array([least * 2.0 ** (k / _PER_HALVING) for k in range(count)])


class Posterior:
    """A distribution of coefficients w given vectors b = S (w - a) + noise, at points a chosen from
    earlier ones. It is post-processing: no privacy rests on it.

    A prior w ~ N(start, tau^2) in each coordinate, tau of unknown scale, is the only assumption. In
    S + E, of whose noise E the deviation is known, E (w - a) is then noise of a known variance, the
    smaller the nearer a is to w (an account of the noise as in Bernstein & Sheldon 2019). In its
    eigenvectors, with values below 0 taken for 0, coordinates are independent, and each has its
    normal posterior; these are averaged over tau by how likely each makes all vectors (the prior's
    scale as in MacKay 1992). Where noise drowns the rows the mean is the start, and where it does
    not least squares.

    Parameters
    ----------
    matrix : S + E, symmetric, of shape (d, d). ``deviation`` : of E on the diagonal, about sqrt(2)
        times that beside it. ``scales`` : values of tau. ``start`` : of shape (d,).
    """

    def __init__(
        self, matrix: np.ndarray, deviation: float, scales: np.ndarray, start: np.ndarray
    ) -> None:
        values, self._basis = np.linalg.eigh(matrix)
        self._values = np.maximum(values, 0.0)[:, np.newaxis]
        # Of E (w - a), per coordinate, over the squared distance of w from a.
        self._spread = deviation**2 * (len(values) + 1) / (2 * len(values))
        shape = (len(values), len(scales))
        self._means = np.broadcast_to(ordered_dot(self._basis.T, start)[:, np.newaxis], shape)
        self._precisions = np.broadcast_to(1 / np.square(scales), shape)
        self._likely = -_SPIKE * array_log(scales)

    def mean(self) -> np.ndarray:
        """Return the coefficients' mean over all scales, float64 of shape (d,)."""
        weights = array_exp(self._likely - self._likely.max())
        return ordered_dot(self._basis, ordered_dot(self._means, weights / ordered_sum(weights)))

    def see(self, at: np.ndarray, vector: np.ndarray, deviation: float) -> None:
        """Take account of b = ``vector``, found at a = ``at`` with noise of this deviation."""
        a = ordered_dot(self._basis.T, at)[:, np.newaxis]
        b = ordered_dot(self._basis.T, vector)[:, np.newaxis]
        apart = ordered_sum((np.square(self._means - a) + 1 / self._precisions).T)
        noise = deviation**2 + self._spread * apart
        missed = b - self._values * (self._means - a)
        variance = noise + np.square(self._values) / self._precisions
        misfit = missed**2 / variance + array_log(variance)
        self._likely = self._likely - 0.5 * ordered_sum(misfit.T)
        self._precisions = self._precisions + np.square(self._values) / noise
        self._means = self._means + self._values * missed / noise / self._precisions
