"""Labels as rows hold them, and numbers to predict between their bounds."""

from __future__ import annotations

import numpy as np

from dpcore.data.cells.features import held_to, scale_to_unit
from dpcore.data.schema.label import Label

__all__ = ["are_labels", "number_of", "target_of"]


def target_of(column: Label, numbers: np.ndarray) -> np.ndarray:
    """Return a real-valued target between its bounds as [-1, 1]; as it is while it waits for
    them."""
    if column.lower is None or column.upper is None:
        return numbers
    return 2.0 * scale_to_unit(numbers, column.lower, column.upper) - 1.0


def number_of(column: Label, scaled: np.ndarray) -> np.ndarray:
    """Return what ``target_of`` maps to these values in the target's own unit, between its bounds,
    where a prediction is held too."""
    middle, half = column.scale
    return held_to(middle + half * scaled, *column.bounds)


def are_labels(column: Label, y: np.ndarray) -> np.ndarray:
    """Return which numbers are labels as rows hold them, bool."""
    if column.is_real:
        return np.asarray(np.abs(y) <= 1)
    return np.isin(y, column.labels_at(np.arange(column.n_classes)))
