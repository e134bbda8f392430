"""A step from a model towards the minimum, before intervals are taken."""

from __future__ import annotations

import math

import numpy as np

from dpcore.plugin import ordered_dot

__all__ = ["nearer", "noise_norm"]


def noise_norm(deviation: float, n_features: int) -> float:
    """Return what the spectral norm of a symmetric matrix of noise reaches: the edge of the
    semicircle law for entries of half of the variance beside the diagonal, and two deviations."""
    return deviation * (math.sqrt(2.0 * n_features) + 2.0)


def nearer(
    w: np.ndarray,
    gradient: np.ndarray,
    curvature: np.ndarray,
    of_gradient: float,
    of_curvature: float,
    regulariser: np.ndarray,
) -> np.ndarray:
    """Return ``w`` after a Newton step by noisy sums, or itself where the step would be noise.

    The step is damped: no eigenvalue of curvature and regulariser counts for less than the norm of
    its noise.
    It is made where the square of the gradient is at least twice the mean of its noise's, so that
    more of the gradient is taken away than noise brought in.

    ``of_gradient``, ``of_curvature`` : deviations of an entry, of the matrix on the diagonal.
    ``regulariser`` : its second derivative, of shape (d, d).
    """
    slope = gradient + ordered_dot(regulariser, w)
    if float(ordered_dot(slope, slope)) < 2.0 * w.size * of_gradient**2:
        return w
    values, vectors = np.linalg.eigh(curvature + regulariser)
    steps = ordered_dot(vectors.T, slope) / np.maximum(values, noise_norm(of_curvature, w.size))
    return np.asarray(w - ordered_dot(vectors, steps))
