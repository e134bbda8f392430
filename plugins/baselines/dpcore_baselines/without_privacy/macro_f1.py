"""The macro F1 of a model that says classes, exact: for the owner's eyes."""

from __future__ import annotations

import numpy as np

__all__ = ["macro_f1"]


def macro_f1(counts: np.ndarray) -> float:
    """Return the mean F1 of the classes that a row is of, or is said to be of, by counts of
    classes (rows) by the class said."""
    right, seen = np.diagonal(counts), counts.sum(axis=0) + counts.sum(axis=1)
    return float((2 * right[seen > 0] / seen[seen > 0]).mean())
