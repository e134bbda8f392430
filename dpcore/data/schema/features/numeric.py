"""Columns of numbers: between bounds, in bins, or piecewise linear between knots."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np

from dpcore.data.schema.features.encoding import Encoding
from dpcore.data.schema.features.feature_column import FeatureColumn, empty_keys
from dpcore.data.schema.features.logarithm import binary_log
from dpcore.data.schema.features.transforms import (
    Bin,
    Chain,
    Clip,
    Hat,
    Log,
    Number,
    OneHot,
    between,
)
from dpcore.data.schema.values import Entry, check_bounds, check_one_of_both, written
from dpcore.errors import InvalidInputError

__all__ = ["Binned", "Numeric", "Piecewise", "numeric_from"]

Scale = Literal["linear", "log"]

_LEAST_RATIO = 1.0 + 2.0**-20


@dataclass(frozen=True, slots=True)
class Numeric(FeatureColumn):
    """A number, clamped to the public [lower, upper] and mapped to [0, 1], by its logarithm if
    ``scale`` is ``"log"``.

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
    scale: Scale = "linear"
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_bounds(self.name, self.lower, self.upper)
        if self.scale not in ("linear", "log"):
            raise InvalidInputError(f"Expected scale of column {self.name!r} to be linear or log.")
        if self.scale == "log" and not 0 < self.lower * _LEAST_RATIO < self.upper:
            raise InvalidInputError(
                f"Expected 0 < lower={self.lower} < upper={self.upper}, not too near, in column "
                f"{self.name!r}, whose scale is log."
            )

    @property
    def encoding(self) -> Encoding:
        chain: Chain = between(self.lower, self.upper)
        if self.scale == "log":
            low, high = binary_log(np.array([self.lower, self.upper])).tolist()
            chain = Clip(self.lower, self.upper), Log(self.lower, self.upper), *between(low, high)
        return Encoding(Number(), (chain,), self.fill, self.indicator)

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {"kind": self.kind, "lower": self.lower, "upper": self.upper}
        if self.scale != "linear":
            data["scale"] = self.scale
        return data | empty_keys(self.fill, self.indicator, self.missing)


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
        edges = [written(edge) for edge in self.bins]
        inner = [f"[{a},{b})" for a, b in pairwise(edges)]
        intervals = OneHot((f"<{edges[0]}", *inner, f">={edges[-1]}"))
        return Encoding(Number(), ((Bin(self.bins), intervals),), self.fill, self.indicator)

    def to_dict(self) -> dict[str, Any]:
        data = {"kind": self.kind, "bins": list(self.bins)}
        return data | empty_keys(self.fill, self.indicator, self.missing)


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
        return Encoding(Number(), ((Hat(self.knots),),), self.fill, self.indicator)

    def to_dict(self) -> dict[str, Any]:
        data = {"kind": self.kind, "knots": list(self.knots)}
        return data | empty_keys(self.fill, self.indicator, self.missing)


def numeric_from(name: str, entry: Entry) -> Numeric | Binned | Piecewise:
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
    if "knots" in entry.data:
        return Piecewise(name, entry.numbers("knots"), fill, indicator, missing)
    bounds = entry.bound("lower"), entry.bound("upper")
    scale = entry.data.get("scale", "linear")
    return Numeric(name, *bounds, fill, indicator, scale, missing)


def _check_ascending(name: str, key: str, numbers: tuple[float, ...], least: int) -> None:
    if len(numbers) < least or not all(a < b for a, b in pairwise(numbers)):
        raise InvalidInputError(
            f"Expected {key} of column {name!r} to be {least} or more numbers in ascending order."
        )
    if not math.isfinite(numbers[-1] - numbers[0]):
        raise InvalidInputError(f"The {key} of column {name!r} are too far apart.")
