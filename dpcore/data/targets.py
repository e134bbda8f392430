"""Numbers between public bounds, and labels as rows hold them."""

from typing import TypeAlias

import numpy as np

from dpcore.data.schema.features.transforms import Lookup
from dpcore.data.schema.label import Label
from dpcore.data.schema.plan import ColumnPlan
from dpcore.data.schema.vocabulary import ABSENT, UNKNOWN

__all__ = [
    "Reading",
    "class_reading",
    "held_to",
    "number_of",
    "placed",
    "places_of_numbers",
    "scale_to_unit",
    "target_of",
    "target_reading",
]

Reading: TypeAlias = tuple[np.ndarray, np.ndarray | None, str]
"""Cells as numbers, which of them are faults (bool or None), and the reason.

Those of categories and buckets are int32, the level's position, -1 for none. All others are
float64: a number, the position of an ordinal level, 0 or 1 for false or true, the days of a date
since 1970-01-01; NaN where the cell is empty and the schema says what becomes of it.
"""

_MOST_SHOWN = 8


def scale_to_unit(values: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Return ``values`` clamped to the public bounds and mapped to [0, 1]."""
    return np.asarray(np.clip((np.clip(values, lower, upper) - lower) / (upper - lower), 0.0, 1.0))


def held_to(values: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Return ``values`` clamped to public bounds, NaN as it is. Comparisons alone do it, so that a
    graph of the same ones has the same bits, those of -0.0 at a bound of 0 too."""
    raised = np.where(values < lower, lower, values)
    return np.where(raised > upper, upper, raised)


def target_of(column: Label, numbers: np.ndarray) -> np.ndarray:
    """Return a real-valued target between its bounds as [-1, 1]; as it is while it waits for
    them."""
    if column.lower is None or column.upper is None:
        return numbers
    return 2.0 * scale_to_unit(numbers, column.lower, column.upper) - 1.0


def number_of(column: Label, scaled: np.ndarray, log_link: bool = False) -> np.ndarray:
    """Return what ``target_of`` maps to these values in the target's own unit, between its bounds,
    where a prediction is held too.

    ``log_link`` : the values are margins of a loss with one, whose means are exp(z) half widths
    above the lower bound; from z = 1 on they are beyond the upper one.
    """
    middle, half = column.scale
    scaled = np.expm1(np.minimum(scaled, 1.0)) if log_link else scaled
    return held_to(middle + half * scaled, *column.bounds)


def target_reading(column: Label, numbers: np.ndarray) -> Reading:
    """Return a real-valued target as rows hold it, which numbers are faults, and the reason."""
    return target_of(column, numbers), ~np.isfinite(numbers), "the label is not a finite number"


def class_reading(column: Label, places: np.ndarray, others: int | None) -> Reading:
    """Return classes as rows hold them, of their places, UNKNOWN or ABSENT for none; which are
    faults, and the reason. ``others`` : the place of the class of values that none lists."""
    fault = places < 0 if others is None else places == ABSENT
    places = np.where(places < 0, others or 0, places)
    return column.labels_at(places), fault, _no_class(column, others) if fault.any() else ""


def places_of_numbers(numbers: np.ndarray, plan: ColumnPlan) -> np.ndarray:
    """Return the place that the lookup of a plan has for each number, or UNKNOWN or ABSENT: int32.
    ``numbers`` : float64, NaN for none."""
    lookup = plan.reading
    assert isinstance(lookup, Lookup)
    if plan.vocabulary is None:
        found = _positions(numbers, np.array(lookup.values, dtype=np.float64))
        codes = np.where(np.isfinite(numbers), found, np.int32(ABSENT))
    else:
        codes = plan.vocabulary.of_numbers(numbers)
    return placed(codes, lookup)


def placed(codes: np.ndarray, lookup: Lookup) -> np.ndarray:
    """Return what a lookup says of the positions of values among the listed ones, int32."""
    if lookup.places is None:
        return codes
    return np.asarray(np.array([*lookup.places, ABSENT, UNKNOWN], dtype=np.int32)[codes])


def _positions(cells: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the position of each number among ``values``, or UNKNOWN: int32."""
    order = np.argsort(values)
    found = order[np.minimum(np.searchsorted(values, cells, sorter=order), len(values) - 1)]
    return np.where(values[found] == cells, found, UNKNOWN).astype(np.int32)


def _no_class(column: Label, others: int | None) -> str:
    """Return why a label is none, with the public classes."""
    if others is not None:
        return f"the label is missing{', or no number' if column.takes_numbers else ''}"
    values = column.values
    shown = [*map(repr, values[:_MOST_SHOWN]), *(["..."] if len(values) > _MOST_SHOWN else [])]
    return (
        f"the label is not one of the classes {', '.join(shown)}, which `classes` sets: list it "
        "there, or let a schema's `other` name a class for all other values"
    )
