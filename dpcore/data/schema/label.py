"""The column to predict, and columns that are not used.

A label is one of: ``classes = [negative, positive]``, or three and more, each a value or a list of
values, whose first is its name; ``positive = [...]``, every other value being negative; ``lower``
and ``upper`` for a real-valued target, which is mapped from these bounds to [-1, 1] for the fit and
back for predictions. ``other`` is the class of every value that none lists: beside ``positive`` a
name for the negative class; beside ``classes`` one of these, or the name of one more, the last.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpcore.data.schema.features.feature_column import FeatureColumn
from dpcore.data.schema.values import Entry, Value, are_numbers, check_bounds, check_distinct
from dpcore.data.targets import held_to, scale_to_unit
from dpcore.errors import InvalidInputError

__all__ = ["Drop", "Label", "label_from"]

_MOST_CLASSES = 1000


@dataclass(frozen=True, slots=True)
class Label:
    """The column to predict.

    Parameters
    ----------
    classes : the values of each class; of two, those that mean -1 and +1. An empty entry is the
        class of every value that no other lists: the first of two, or the last of more.
    other : the class of these values by name: a value of the class that they join, or the name of
        that empty entry. ``None`` : such a value is a fault, or, of an empty first entry, negative.
    lower, upper : for a real-valued target instead, the bounds it is clamped to. They are mapped to
        [-1, 1], so that no unit of the target is too large or too small for a fit.
    missing : words for no value, beside those of the table.
    """

    kind: ClassVar[str] = "label"
    name: str
    classes: tuple[tuple[Value, ...], ...] = ()
    other: Value | None = None
    lower: float | None = None
    upper: float | None = None
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.is_real:
            check_bounds(self.name, self.lower, self.upper)
        else:
            _check_classes(self)
        check_distinct(self.name, "classes", self.values)

    @property
    def is_real(self) -> bool:
        return self.lower is not None or self.upper is not None

    @property
    def n_classes(self) -> int:
        """The number of classes, 0 for a real-valued target."""
        return len(self.classes)

    @property
    def n_margins(self) -> int:
        """How many margins a row has: one, or, of three classes and more, one for each."""
        return self.n_classes if self.n_classes > 2 else 1

    @property
    def values(self) -> tuple[Value, ...]:
        """All listed values, class by class."""
        return tuple(value for values in self.classes for value in values)

    @property
    def names(self) -> tuple[Value, ...]:
        """A name of each class: its first value, or what ``other`` says, or "not" the positive."""
        return tuple(values[0] if values else self._name_of_others for values in self.classes)

    @property
    def place_of_others(self) -> int | None:
        """The place of the class of values that none lists; ``None`` where they are faults."""
        if () in self.classes:
            return self.classes.index(())
        return None if self.other is None else _place_of(self.other, self.classes)

    @property
    def takes_numbers(self) -> bool:
        """Whether cells are numbers where they could be text."""
        return self.is_real or are_numbers(self.values)

    @property
    def bounds(self) -> tuple[float, float]:
        """The public bounds of a real-valued target that has both."""
        assert self.lower is not None and self.upper is not None
        return float(self.lower), float(self.upper)

    @property
    def scale(self) -> tuple[float, float]:
        """The middle and the half width of a real-valued target's bounds: a fit is of
        (y - middle) / half, and middle + half * margin is in the target's own unit."""
        if self.lower is None or self.upper is None:
            return 0.0, 1.0
        return self.lower / 2 + self.upper / 2, (self.upper - self.lower) / 2

    def target_of(self, numbers: np.ndarray) -> np.ndarray:
        """Return a real-valued target between its bounds as [-1, 1]; as it is while it waits for
        them."""
        if self.lower is None or self.upper is None:
            return numbers
        return 2.0 * scale_to_unit(numbers, self.lower, self.upper) - 1.0

    def number_of(self, scaled: np.ndarray, log_link: bool = False) -> np.ndarray:
        """Return what ``target_of`` maps to these values in the target's own unit, between its
        bounds, where a prediction is held too.

        ``log_link`` : the values are margins of a loss with one, whose means are exp(z) half widths
        above the lower bound; from z = 1 on they are beyond the upper one.
        """
        middle, half = self.scale
        scaled = np.expm1(np.minimum(scaled, 1.0)) if log_link else scaled
        return held_to(middle + half * scaled, *self.bounds)

    def labels_at(self, places: np.ndarray) -> np.ndarray:
        """Return places of classes as rows hold them, float64: -1.0 and 1.0 of two, else 0.0, 1.0,
        2.0, ..."""
        return 2.0 * places - 1.0 if self.n_classes == 2 else 1.0 * places

    def places_of(self, y: np.ndarray) -> np.ndarray:
        """Return the places of the classes of labels, as rows hold these; int64."""
        return (y > 0 if self.n_classes == 2 else y).astype(np.int64)

    @staticmethod
    def places_said(margins: np.ndarray, least: float = 0.0) -> np.ndarray:
        """Return the place of the class that each row's margins say: of two the positive one above
        ``least``, of several the first with the largest margin."""
        return (margins > least if margins.ndim == 1 else margins.argmax(0)).astype("intp")

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {"kind": self.kind}
        if self.is_real:
            data |= {"lower": self.lower, "upper": self.upper}
        elif not self.classes[0]:
            data["positive"] = list(self.classes[1])
        else:
            data["classes"] = [v[0] if len(v) == 1 else list(v) for v in self.classes if v]
        if self.other is not None:
            data["other"] = self.other
        return data | FeatureColumn.empty_keys(None, False, self.missing)

    @property
    def _name_of_others(self) -> Value:
        return f"not {self.classes[1][0]}" if self.other is None else self.other


@dataclass(frozen=True, slots=True)
class Drop:
    """A column of the file that is not used, nor even converted."""

    kind: ClassVar[str] = "drop"
    name: str

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind}


def label_from(name: str, entry: Entry) -> Label:
    where, data, missing = entry.where, entry.data, entry.words("missing")
    given = [key for key in ("classes", "positive") if key in data]
    given += ["lower, upper"] if "lower" in data or "upper" in data else []
    if len(given) > 1:
        raise InvalidInputError(f"Expected one of {' and '.join(given)} in {where}, not both.")
    if "lower" in data or "upper" in data:
        entry.check_no_other()
        lower, upper = entry.number("lower"), entry.number("upper")
        return Label(name, lower=lower, upper=upper, missing=missing)
    other = entry.values("other", [data["other"]])[0] if "other" in data else None
    if "positive" in data:
        return Label(name, ((), entry.values("positive")), other, missing=missing)
    classes = _listed(entry) if "classes" in data else ()
    if other == "":
        raise InvalidInputError(
            f'Expected other = "..." of column {name!r} to be a name of a class, not an empty text.'
        )
    if other is not None and _place_of(other, classes) is None:
        classes = (*classes, ())
    return Label(name, classes, other, missing=missing)


def _listed(entry: Entry) -> tuple[tuple[Value, ...], ...]:
    """Return the values of each class that ``classes`` lists, two classes or more."""
    classes, where = entry.data["classes"], entry.where
    if not isinstance(classes, (list, tuple)) or len(classes) < 2:
        raise InvalidInputError(
            f"Expected classes of {where} to be two or more, each a value or a list of values; "
            "for one class and every other value: positive = [...]."
        )
    lists = [c if isinstance(c, (list, tuple)) else [c] for c in classes]
    if not all(lists):
        raise InvalidInputError(f"A class of {where} has no values.")
    return tuple(entry.values("classes", values) for values in lists)


def _check_classes(label: Label) -> None:
    name, classes = label.name, label.classes
    if not any(classes):
        raise InvalidInputError(
            f"Label column {name!r} needs classes = [negative, positive] or three and more, "
            "positive = [...], or lower and upper for a real-valued target."
        )
    if not 2 <= len(classes) <= _MOST_CLASSES:
        raise InvalidInputError(
            f"Expected 2 to {_MOST_CLASSES:,} classes of label column {name!r}, found "
            f"{len(classes):,}."
        )
    if () in classes:
        if classes.index(()) != (0 if len(classes) == 2 else len(classes) - 1):
            raise InvalidInputError(f"A class of label column {name!r} has no values.")
        if len(classes) > 2 and label.other is None:
            raise InvalidInputError(f"A class of label column {name!r} has no name.")
        if label.other is not None and _place_of(label.other, classes) is not None:
            raise InvalidInputError(
                f"Expected other of label column {name!r} to name another class than the positive "
                "one."
            )


def _place_of(value: Value, classes: tuple[tuple[Value, ...], ...]) -> int | None:
    """Return the place of the class that lists a value, as a cell could be it; ``None`` if none."""
    alike = (any(value == v or str(value) == str(v) for v in values) for values in classes)
    return next((place for place, is_it in enumerate(alike) if is_it), None)
