"""Coefficients from noisy sums of products: the mean of a Bayesian posterior."""

from __future__ import annotations

import numpy as np

__all__ = ["posterior_mean"]

_SCALES = np.geomspace(2.0**-5, 2.0**4, 37)
"""Prior deviations of a coefficient, all as likely: rows and targets are of size 1 at most."""


def posterior_mean(
    matrix: np.ndarray, vector: np.ndarray, matrix_noise: float, vector_noise: float
) -> np.ndarray:
    """Return the coefficients that noisy sums S + E and S w + e make likely, float64.

    A prior w ~ N(0, tau^2) in each coordinate, tau of unknown scale, is the only assumption: E w
    and e are then noise of a known variance. In the eigenvectors of S + E, whose values below 0 are
    taken for 0, the coordinates of w are independent, and each has its normal posterior; these are
    averaged over tau by how likely each makes the vector. Where noise drowns the rows that is 0,
    and where it does not least squares (an account of the noise as in Bernstein & Sheldon 2019;
    the prior's scale by MacKay 1992). It is post-processing: no privacy rests on it.

    Parameters
    ----------
    matrix, vector : symmetric, of shape (d, d), and of shape (d,).
    matrix_noise : standard deviation of the noise on the diagonal, about sqrt(2) times that beside
        it. ``vector_noise`` : of the vector's noise.
    """
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, 0.0)[:, np.newaxis]
    seen = (vectors.T @ vector)[:, np.newaxis]
    prior = np.square(_SCALES)
    noise = vector_noise**2 + matrix_noise**2 * prior * (len(vector) + 1) / 2
    variance = noise + values**2 * prior
    likely = -0.5 * (seen**2 / variance + np.log(variance)).sum(axis=0)
    weights = np.exp(likely - likely.max())
    means = seen * values * prior / variance
    return np.asarray(vectors @ (means @ (weights / weights.sum())))
