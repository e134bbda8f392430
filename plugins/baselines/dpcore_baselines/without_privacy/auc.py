"""The area under the ROC curve of scores, exact: for the owner's eyes."""

from __future__ import annotations

import numpy as np

__all__ = ["auc"]


def auc(scores: np.ndarray, places: np.ndarray) -> float | None:
    """Return the area under the ROC curve of rows, by the place of each row's class.

    Of scores of the class in place 1, of shape (n_rows,), it is the share of pairs of a row of that
    class and another that they put in order, ties half. Of a score for each class, of shape
    (n_classes, n_rows), it is the mean of each class's area against the rest, all classes alike.
    ``None`` where a class has no row, or no other has.
    """
    if scores.ndim == 1:
        return _auc_of_one(scores, places == 1)
    each = [_auc_of_one(row, places == k) for k, row in enumerate(scores)]
    known = [area for area in each if area is not None]
    return float(np.mean(known)) if len(known) == len(each) else None


def _auc_of_one(scores: np.ndarray, positive: np.ndarray) -> float | None:
    """Return the area of one class by Mann and Whitney's sum of ranks."""
    n = int(positive.sum())
    others = positive.size - n
    if not (n and others):
        return None
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    total = float(ranks[place.reshape(-1)][positive].sum())
    return (total - n * (n + 1) / 2) / (n * others)
