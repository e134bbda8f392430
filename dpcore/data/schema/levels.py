"""Columns of public levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpcore.data.schema.numeric import empty_keys
from dpcore.data.schema.parts import Part, level_parts
from dpcore.data.schema.values import Entry, Value, check_distinct
from dpcore.errors import InvalidInputError

__all__ = ["Categorical", "categorical_from", "short"]


@dataclass(frozen=True, slots=True)
class Categorical:
    """One of the public categories, one-hot; a value that is none of them is all zeros.

    ``fill`` : the category that an empty cell counts as. ``indicator`` : whether the empty cell is
    a category of its own, the last. At most one feature is 1: they add at most 1 to the square of a
    row's l2 norm.
    """

    kind: ClassVar[str] = "categorical"
    square: ClassVar[int] = 1
    name: str
    categories: tuple[Value, ...]
    fill: Value | None = None
    indicator: bool = False

    def __post_init__(self) -> None:
        if not self.categories:
            raise InvalidInputError(f"Column {self.name!r} has no categories.")
        check_distinct(self.name, "categories", self.categories)
        check_one_of_both(self.name, self.fill, self.indicator)

    @property
    def levels(self) -> tuple[Value, ...]:
        return self.categories

    @property
    def parts(self) -> tuple[Part, ...]:
        return level_parts(self.name, tuple(map(short, self.categories)), self.indicator)

    def to_dict(self) -> dict[str, Any]:
        data = {"kind": self.kind, "categories": list(self.categories)}
        return data | empty_keys(self.fill, self.indicator)


def short(value: Value) -> str:
    """Return a category as the name of its feature has it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def check_one_of_both(name: str, fill: Any, indicator: bool) -> None:
    """Refuse a fill beside an indicator: an empty cell is one level."""
    if fill is not None and indicator:
        raise InvalidInputError(
            f"Expected fill or indicator in column {name!r}, not both: an empty cell is either the "
            "level that fill names or a level of its own."
        )


def categorical_from(name: str, entry: Entry) -> Categorical:
    categories = entry.values("categories")
    fill = entry.one_of("fill", categories)
    return Categorical(name, categories, fill, entry.flag("indicator"))
