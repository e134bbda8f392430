"""Columns of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpcore.data.schema.parts import Part, indicator_of
from dpcore.data.schema.values import Entry, check_bounds

__all__ = ["Numeric", "numeric_from", "with_empty"]


@dataclass(frozen=True, slots=True)
class Numeric:
    """A number, clamped to the public [lower, upper] and mapped to [0, 1].

    ``fill`` : the number that an empty cell counts as. ``indicator`` : whether a feature of its own
    is 1 where the cell is empty and 0 elsewhere; without a ``fill`` the number's own feature is 0
    there, so that one of the two is 0 in every row and they add at most 1 to the square of its l2
    norm. With a ``fill`` each of them may be 1: at most 2.
    """

    kind: ClassVar[str] = "numeric"
    name: str
    lower: float
    upper: float
    fill: float | None = None
    indicator: bool = False

    def __post_init__(self) -> None:
        check_bounds(self.name, self.lower, self.upper)

    @property
    def parts(self) -> tuple[Part, ...]:
        return with_empty(self.name, (Part((self.name,)),), self.indicator)

    @property
    def square(self) -> int:
        """An upper bound of what the features add to the square of a row's l2 norm."""
        return 1 + (self.indicator and self.fill is not None)

    def to_dict(self) -> dict[str, Any]:
        data = {"kind": self.kind, "lower": self.lower, "upper": self.upper}
        return data | empty_keys(self.fill, self.indicator)


def with_empty(name: str, parts: tuple[Part, ...], indicator: bool) -> tuple[Part, ...]:
    """Return the parts, and the feature that is 1 where the cell is empty."""
    return (*parts, Part((indicator_of(name),))) if indicator else parts


def empty_keys(fill: Any, indicator: bool) -> dict[str, Any]:
    """Return the keys of a column that say what an empty cell becomes."""
    data = {} if fill is None else {"fill": fill}
    return data | ({"indicator": True} if indicator else {})


def numeric_from(name: str, entry: Entry) -> Numeric:
    fill, indicator = entry.number_or_none("fill"), entry.flag("indicator")
    return Numeric(name, entry.number("lower"), entry.number("upper"), fill, indicator)
