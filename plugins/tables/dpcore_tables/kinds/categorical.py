"""Columns of public levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from dpcore.errors import InvalidInputError
from dpcore.plugin.columns import Encoding, Entry, FeatureColumn, transforms

__all__ = [
    "Boolean",
    "Categorical",
    "Ordinal",
    "Value",
    "boolean_from",
    "categorical_from",
    "check_one_of_both",
    "ordinal_from",
]

Value: TypeAlias = str | int | float
"""A category or level, as ``Entry.values`` returns them."""


@dataclass(frozen=True, slots=True)
class Categorical(FeatureColumn):
    """One of the public categories, one-hot; a value that is none of them is all zeros.

    ``fill`` : the category that an empty cell counts as. ``indicator`` : whether the empty cell is
    a category of its own, the last. At most one feature is 1: they add at most 1 to the square of a
    row's l2 norm.
    """

    kind: ClassVar[str] = "categorical"
    name: str
    categories: tuple[Value, ...]
    fill: Value | None = None
    indicator: bool = False
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.categories:
            raise InvalidInputError(f"Column {self.name!r} has no categories.")
        self.check_distinct(self.name, "categories", self.categories)
        check_one_of_both(self.name, self.fill, self.indicator)

    @property
    def encoding(self) -> Encoding:
        fill = None if self.fill is None else self.categories.index(self.fill)
        return Encoding(
            transforms.Lookup(self.categories),
            ((transforms.OneHot(self.categories),),),
            fill,
            self.indicator,
        )

    def to_dict(self) -> dict[str, Any]:
        data = {"kind": self.kind, "categories": list(self.categories)}
        return data | self.empty_keys(self.fill, self.indicator, self.missing)


@dataclass(frozen=True, slots=True)
class Ordinal(FeatureColumn):
    """One of the public levels, lowest first, as its position mapped to [0, 1]: one feature.

    A value that is none of them is a malformed row: there is no place for it among the others.
    ``fill`` and ``indicator`` as of a number, and the square of the norm too.
    """

    kind: ClassVar[str] = "ordinal"
    name: str
    levels: tuple[Value, ...]
    fill: Value | None = None
    indicator: bool = False
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.levels) < 2:
            raise InvalidInputError(f"Expected two levels or more in column {self.name!r}.")
        self.check_distinct(self.name, "levels", self.levels)

    @property
    def encoding(self) -> Encoding:
        fill = None if self.fill is None else float(self.levels.index(self.fill))
        positions = transforms.Affine.between(0.0, len(self.levels) - 1.0)
        reading = transforms.Lookup(self.levels, unknown="fault")
        return Encoding(reading, (positions,), fill, self.indicator)

    def to_dict(self) -> dict[str, Any]:
        data = {"kind": self.kind, "levels": list(self.levels)}
        return data | self.empty_keys(self.fill, self.indicator, self.missing)


@dataclass(frozen=True, slots=True)
class Boolean(FeatureColumn):
    """A truth value, as one feature: 1 for true and 0 for false.

    Cells are true, t, yes, y, on, 1 or 1.0, and false, f, no, n, off, 0 or 0.0, in any case;
    anything else is a malformed row. ``fill`` and ``indicator`` as of a number, and the square of
    the norm too.
    """

    kind: ClassVar[str] = "boolean"
    name: str
    fill: bool | None = None
    indicator: bool = False
    missing: tuple[str, ...] = ()

    @property
    def encoding(self) -> Encoding:
        fill = None if self.fill is None else float(self.fill)
        return Encoding(
            transforms.Truth(), (transforms.Affine.between(0.0, 1.0),), fill, self.indicator
        )

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind} | FeatureColumn.empty_keys(
            self.fill, self.indicator, self.missing
        )


def categorical_from(name: str, entry: Entry) -> Categorical:
    categories = entry.values("categories")
    fill = _fill(entry, categories)
    return Categorical(name, categories, fill, entry.flag("indicator"), entry.words("missing"))


def ordinal_from(name: str, entry: Entry) -> Ordinal:
    levels = entry.values("levels")
    fill = _fill(entry, levels)
    return Ordinal(name, levels, fill, entry.flag("indicator"), entry.words("missing"))


def _fill(entry: Entry, values: tuple[Value, ...]) -> Value | None:
    """Return which of the values an empty cell counts as; ``None`` where the entry says none."""
    if "fill" not in entry.data:
        return None
    (value,) = entry.values("fill", [entry.data["fill"]])
    if not isinstance(values[0], type(value)) and isinstance(values[0], str):
        value = str(value).lower() if isinstance(value, bool) else str(value)
    if value not in values:
        raise InvalidInputError(f"Expected fill of {entry.where} to be one of its values.")
    return values[values.index(value)]


def boolean_from(name: str, entry: Entry) -> Boolean:
    fill = entry.flag("fill") if "fill" in entry.data else None
    return Boolean(name, fill, entry.flag("indicator"), entry.words("missing"))


def check_one_of_both(name: str, fill: Any, indicator: bool) -> None:
    """Refuse a fill beside an indicator: an empty cell is one level."""
    if fill is not None and indicator:
        raise InvalidInputError(
            f"Expected fill or indicator in column {name!r}, not both: an empty cell is either the "
            "level that fill names or a level of its own."
        )
