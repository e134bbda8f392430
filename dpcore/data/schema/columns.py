"""The kinds of column that a schema knows: all that is public about each of them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dpcore.errors import InvalidInputError

__all__ = [
    "PLACEHOLDER",
    "Categorical",
    "Column",
    "Drop",
    "Label",
    "Numeric",
    "check_keys",
    "column_from_dict",
    "is_boolean",
]

PLACEHOLDER = "FILL-IN"
"""Stands in a schema template where public knowledge is wanted; no schema validates with it."""

Value = str | float
"""A category or class: text without surrounding spaces, or a finite number."""


@dataclass(frozen=True, slots=True)
class Numeric:
    """A number, clamped to the public [lower, upper] and mapped to [0, 1]."""

    kind: ClassVar[str] = "numeric"
    name: str
    lower: float
    upper: float

    def __post_init__(self) -> None:
        _check_bounds(self.name, self.lower, self.upper)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "lower": self.lower, "upper": self.upper}


@dataclass(frozen=True, slots=True)
class Categorical:
    """One of the public categories, one-hot; a value that is none of them is all zeros."""

    kind: ClassVar[str] = "categorical"
    name: str
    categories: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not self.categories:
            raise InvalidInputError(f"Column {self.name!r} has no categories.")
        _check_distinct(self.name, "categories", self.categories)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "categories": list(self.categories)}


@dataclass(frozen=True, slots=True)
class Label:
    """The column to predict.

    Parameters
    ----------
    negative, positive : values that mean -1 and +1. An empty ``negative`` means every other value.
    lower, upper : for a real-valued target instead, the bounds it is clamped to. They are mapped to
        [-1, 1], so that no unit of the target is too large or too small for a fit.
    """

    kind: ClassVar[str] = "label"
    name: str
    negative: tuple[Value, ...] = ()
    positive: tuple[Value, ...] = ()
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        if self.is_real:
            _check_bounds(self.name, self.lower, self.upper)
        elif not self.positive:
            raise InvalidInputError(
                f"Label column {self.name!r} needs classes = [negative, positive], "
                "positive = [...], or lower and upper for a real-valued target."
            )
        _check_distinct(self.name, "classes", self.negative + self.positive)

    @property
    def is_real(self) -> bool:
        return self.lower is not None or self.upper is not None

    @property
    def scale(self) -> tuple[float, float]:
        """The middle and the half width of a real-valued target's bounds: a fit is of
        (y - middle) / half, and middle + half * margin is in the target's own unit."""
        if self.lower is None or self.upper is None:
            return 0.0, 1.0
        return self.lower / 2 + self.upper / 2, (self.upper - self.lower) / 2

    def to_dict(self) -> dict[str, Any]:
        if self.is_real:
            return {"kind": self.kind, "lower": self.lower, "upper": self.upper}
        if not self.negative:
            return {"kind": self.kind, "positive": list(self.positive)}
        classes = [v[0] if len(v) == 1 else list(v) for v in (self.negative, self.positive)]
        return {"kind": self.kind, "classes": classes}


@dataclass(frozen=True, slots=True)
class Drop:
    """A column of the file that is not used, nor even converted."""

    kind: ClassVar[str] = "drop"
    name: str

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind}


Column = Numeric | Categorical | Label | Drop

_KEYS = {
    "numeric": ("lower", "upper"),
    "categorical": ("categories",),
    "label": ("classes", "positive", "lower", "upper"),
    "drop": (),
}


def column_from_dict(name: str, data: Any) -> Column:
    """Return the column described by ``data``, as ``to_dict`` writes it.

    Raises InvalidInputError, naming the column, for anything else.
    """
    where = f"column {name!r}"
    if not (isinstance(name, str) and name.strip() == name and name):
        raise InvalidInputError(f"Expected column name {name!r} to be text without outer spaces.")
    if not isinstance(data, Mapping):
        raise InvalidInputError(f"Expected {where} to be a table with a kind.")
    kind = data.get("kind")
    if kind == PLACEHOLDER:
        raise InvalidInputError(f"The kind of {where} is still to be filled in.")
    if not isinstance(kind, str) or kind not in _KEYS:
        raise InvalidInputError(f"Expected kind of {where} to be one of: {', '.join(_KEYS)}.")
    check_keys(where, data, ("kind", *_KEYS[kind]))
    if kind == "drop":
        return Drop(name)
    if kind == "numeric":
        return Numeric(name, _number(where, data, "lower"), _number(where, data, "upper"))
    if kind == "categorical":
        return Categorical(name, _values(where, "categories", data.get("categories")))
    return _label(name, where, data)


def is_boolean(word: str) -> bool:
    """Return whether a category or class is a truth value, in whatever case it is written."""
    return word.lower() in ("true", "false")


def check_keys(where: str, data: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise InvalidInputError, with the nearest known name, for a key that is not known."""
    known = list(known)
    for key in data:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InvalidInputError(
                f"Unknown key {key!r} in {where}.{hint} Known: {', '.join(known)}."
            )


def _label(name: str, where: str, data: Mapping[str, Any]) -> Label:
    given = [key for key in ("classes", "positive", "lower") if key in data]
    if len(given) > 1:
        raise InvalidInputError(f"Expected one of {' and '.join(given)} in {where}, not both.")
    if "classes" in data:
        classes = data["classes"]
        if not isinstance(classes, (list, tuple)) or len(classes) != 2:
            raise InvalidInputError(
                f"Expected classes of {where} to be two: the negative and the positive one."
            )
        sides = [c if isinstance(c, (list, tuple)) else [c] for c in classes]
        if not all(sides):
            raise InvalidInputError(f"A class of {where} has no values.")
        negative, positive = (_values(where, "classes", side) for side in sides)
        return Label(name, negative, positive)
    if "positive" in data:
        return Label(name, positive=_values(where, "positive", data["positive"]))
    if "lower" in data or "upper" in data:
        bounds = (_number(where, data, "lower"), _number(where, data, "upper"))
        return Label(name, lower=bounds[0], upper=bounds[1])
    return Label(name)


def _values(where: str, key: str, values: Any) -> tuple[Value, ...]:
    """Return categories or classes; all text if one is, since a file's column has one type."""
    if not isinstance(values, (list, tuple)) or not values:
        raise InvalidInputError(f"Expected {key} of {where} to be a list that is not empty.")
    for value in values:
        if not isinstance(value, (str, int, float)):
            raise InvalidInputError(f"Expected {key} of {where} to hold text or numbers.")
        if value == PLACEHOLDER:
            raise InvalidInputError(f"The {key} of {where} are still to be filled in.")
        if isinstance(value, str) and value != value.strip():
            raise InvalidInputError(
                f"Value {value!r} of {where} has outer spaces; cells are stripped of theirs."
            )
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        return tuple(_finite(where, key, v) for v in values)
    return tuple(_as_text(v) for v in values)


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(where: str, data: Mapping[str, Any], key: str) -> float:
    if key not in data:
        raise InvalidInputError(f"Missing {key} in {where}.")
    return _finite(where, key, data[key])


def _finite(where: str, key: str, value: Any) -> float:
    if value == PLACEHOLDER:
        raise InvalidInputError(f"The {key} of {where} is still to be filled in.")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise InvalidInputError(f"Expected {key} of {where} to be a finite number.")


def _check_bounds(name: str, lower: float | None, upper: float | None) -> None:
    if lower is None or upper is None or not lower < upper:
        raise InvalidInputError(
            f"Expected lower={lower} < upper={upper} in column {name!r} (public bounds)."
        )
    if not math.isfinite(upper - lower):
        raise InvalidInputError(f"The bounds of column {name!r} are too far apart.")


def _check_distinct(name: str, what: str, values: tuple[Value, ...]) -> None:
    if len({str(v) for v in values}) < len(values) or len(set(values)) < len(values):
        raise InvalidInputError(f"Duplicate values among the {what} of column {name!r}.")
