"""The formulas of DP-AGD in plain NumPy, as scripts of papers write them: the form to beat.

Written from Algorithm 2 of Lee & Kifer 2018: a matrix of per-row gradients, a norm for each of its
rows, ``log(1 + exp)`` of every margin. Dense float64 rows.
"""

import numpy as np

__all__ = ["clipped_gradient", "losses_in_one_product", "losses_one_by_one"]


def clipped_gradient(X: np.ndarray, y: np.ndarray, w: np.ndarray, clip: float) -> np.ndarray:
    """Return ``sum_i g_i / max(1, ||g_i|| / clip)``, ``g_i`` the gradient of row i's log loss."""
    margins = y * (X @ w)
    slopes = -y * (1.0 / (1.0 + np.exp(margins)))
    gradients = slopes[:, np.newaxis] * X
    norms = np.linalg.norm(gradients, axis=1)
    return (gradients / np.maximum(1.0, norms / clip)[:, np.newaxis]).sum(axis=0)


def losses_in_one_product(X: np.ndarray, y: np.ndarray, W: np.ndarray, clip: float) -> np.ndarray:
    """Return the clipped loss summed over rows of each candidate, all candidates at once.

    ``W`` : float64 of shape (n_candidates, n_features), one candidate a row.
    """
    margins = y[:, np.newaxis] * (X @ W.T)
    losses = np.log(1.0 + np.exp(-margins))
    return np.clip(losses, 0.0, clip).sum(axis=0)


def losses_one_by_one(X: np.ndarray, y: np.ndarray, W: np.ndarray, clip: float) -> np.ndarray:
    """Return the same, calling a loss function once per candidate: a pass over X for each."""
    sums = [np.clip(np.log(1.0 + np.exp(-y * (X @ w))), 0.0, clip).sum() for w in W]
    return np.array(sums)
