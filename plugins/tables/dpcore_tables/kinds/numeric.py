"""Columns of numbers in bins, or piecewise linear between knots."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from dpcore.errors import InvalidInputError
from dpcore.plugin.columns import Encoding, Entry, FeatureColumn, transforms
from dpcore_tables.bounds.unbounded import has_private_bounds, unbounded_from, unbounded_label_from
from dpcore_tables.kinds.categorical import check_one_of_both
from dpcore_tables.kinds.curve import Curve, curve_from

__all__ = ["Binned", "Piecewise", "number_from"]


@dataclass(frozen=True, slots=True)
class Binned(FeatureColumn):
    """A number by the public interval that it lies in: one-hot, below the first edge, from each
    edge to below the next, and from the last edge up.

    At most one feature is 1, so they add at most 1 to the square of a row's l2 norm; an empty cell
    is in the bin of ``fill``, or with ``indicator`` in a last one of its own.
    """

    kind: ClassVar[str] = "numeric"
    name: str
    bins: tuple[float, ...]
    fill: float | None = None
    indicator: bool = False
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_ascending(self.name, "bins", self.bins, 1)
        check_one_of_both(self.name, self.fill, self.indicator)

    @property
    def encoding(self) -> Encoding:
        edges = [self.written(edge) for edge in self.bins]
        inner = [f"[{a},{b})" for a, b in pairwise(edges)]
        intervals = transforms.OneHot((f"<{edges[0]}", *inner, f">={edges[-1]}"))
        return Encoding(
            transforms.Number(),
            ((transforms.Bin(self.bins), intervals),),
            self.fill,
            self.indicator,
        )

    def to_dict(self) -> dict[str, Any]:
        data = {"kind": self.kind, "bins": list(self.bins)}
        return data | self.empty_keys(self.fill, self.indicator, self.missing)


@dataclass(frozen=True, slots=True)
class Piecewise(FeatureColumn):
    """A number, clamped to the first and the last of its public knots, as hat functions: a feature
    for each knot, 1 there, falling to 0 at the knots beside it. So a linear model of them is
    piecewise linear in the number.

    At most two neighbouring features are not 0; they are t and 1 - t of a t in [0, 1], each
    truncated, so that they add at most (t + (1 - t))^2 = 1 to the square of a row's l2 norm. With
    ``indicator`` and no ``fill`` all of them are 0 where the indicator is 1; with both, at most 2.
    """

    kind: ClassVar[str] = "numeric"
    name: str
    knots: tuple[float, ...]
    fill: float | None = None
    indicator: bool = False
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_ascending(self.name, "knots", self.knots, 2)

    @property
    def encoding(self) -> Encoding:
        return Encoding(
            transforms.Number(), ((transforms.Hat(self.knots),),), self.fill, self.indicator
        )

    def to_dict(self) -> dict[str, Any]:
        data = {"kind": self.kind, "knots": list(self.knots)}
        return data | self.empty_keys(self.fill, self.indicator, self.missing)


def number_from(name: str, entry: Entry, is_label: bool) -> Any:
    """Return the column, or the label, of a table of keys with private bounds, bins or knots.

    Raises InvalidInputError for keys that do not go together, and wrong values.
    """
    if is_label:
        return unbounded_label_from(name, entry)
    return unbounded_from(name, entry) if has_private_bounds(entry) else _stepped_from(name, entry)


def _stepped_from(name: str, entry: Entry) -> Binned | Piecewise | Curve:
    if isinstance(entry.data.get("knots"), int) and "bins" not in entry.data:
        return curve_from(name, entry)
    fill, indicator = entry.number_or_none("fill"), entry.flag("indicator")
    missing = entry.words("missing")
    given = [key for key in ("bins", "knots", "scale") if key in entry.data]
    if len(given) > 1:
        raise InvalidInputError(f"Expected one of {' and '.join(given)} in {entry.where}.")
    for key in ("bins", "knots"):
        if key in entry.data and ("lower" in entry.data or "upper" in entry.data):
            raise InvalidInputError(f"Expected {key} or lower and upper in {entry.where}.")
    if "bins" in entry.data:
        return Binned(name, entry.numbers("bins"), fill, indicator, missing)
    return Piecewise(name, entry.numbers("knots"), fill, indicator, missing)


def _check_ascending(name: str, key: str, numbers: tuple[float, ...], least: int) -> None:
    if len(numbers) < least or not all(a < b for a, b in pairwise(numbers)):
        raise InvalidInputError(
            f"Expected {key} of column {name!r} to be {least} or more numbers in ascending order."
        )
    if not math.isfinite(numbers[-1] - numbers[0]):
        raise InvalidInputError(f"The {key} of column {name!r} are too far apart.")
