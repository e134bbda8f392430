"""Labels as rows hold them, and numbers to predict between their bounds."""

from __future__ import annotations

import numpy as np

from dpcore.data.cells.features import held_to, scale_to_unit
from dpcore.data.cells.typed import Cells, to_codes, to_numbers
from dpcore.data.schema.label import Label
from dpcore.data.schema.plan import ColumnPlan
from dpcore.data.schema.vocabulary import ABSENT

__all__ = ["are_labels", "label_of", "number_of", "target_of"]

_MOST_SHOWN = 8


def label_of(cells: Cells, plan: ColumnPlan) -> tuple[np.ndarray, np.ndarray, str]:
    """Return labels as rows hold them, which are faults, and the reason."""
    column = plan.column
    assert isinstance(column, Label)
    if column.is_real:
        numbers = to_numbers(cells, plan.notation)
        return target_of(column, numbers), ~np.isfinite(numbers), "the label is not a finite number"
    codes = to_codes(cells, plan)
    classes = np.repeat(np.arange(column.n_classes), [len(values) for values in column.classes])
    others = column.place_of_others
    y = column.labels_at(np.where(codes < 0, others or 0, classes[np.maximum(codes, 0)]))
    if others is None:
        return y, codes < 0, _no_class(column)
    missing = (
        "the label is missing, or no number" if column.takes_numbers else "the label is missing"
    )
    return y, codes == ABSENT, missing


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


def _no_class(column: Label) -> str:
    """Return why a label is none, with the public classes."""
    values = column.values
    shown = [*map(repr, values[:_MOST_SHOWN]), *(["..."] if len(values) > _MOST_SHOWN else [])]
    return (
        f"the label is not one of the classes {', '.join(shown)}, which `classes` sets: list it "
        "there, or let a schema's `other` name a class for all other values"
    )
