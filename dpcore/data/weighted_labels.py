"""Labels that come with a weight of each row: one array of pairs, in the place of plain labels.

What reads labels without knowing of weights gets no numbers to compute with: arithmetic on pairs,
comparisons and kernels raise TypeError. So weights cannot be left out by mistake.
"""

import numpy as np

from dpcore.errors import DataError

__all__ = ["PAIRS", "clamped_labels", "paired", "plain_labels"]

PAIRS = np.dtype([("label", np.float64), ("weight", np.float64)])


def paired(y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return labels with the weights of their rows; DataError for weights that are no numbers >= 0,
    or not as many."""
    if weights.shape != y.shape or not (np.isfinite(weights) & (weights >= 0)).all():
        raise DataError("Expected sample_weight to be a finite number >= 0 for each row.")
    pairs = np.empty(y.shape, dtype=PAIRS)
    pairs["label"], pairs["weight"] = y, weights
    return pairs


def plain_labels(y: np.ndarray) -> np.ndarray:
    """Return the labels alone, for what is of rows whatever they weigh."""
    return np.ascontiguousarray(y["label"]) if y.dtype == PAIRS else y


def clamped_labels(y: np.ndarray) -> np.ndarray:
    """Return labels clamped to [-1, 1], with their weights if they have some."""
    clamped: np.ndarray = np.clip(plain_labels(y), -1.0, 1.0)
    return paired(clamped, y["weight"]) if y.dtype == PAIRS else clamped
