"""Columns of numbers between public bounds."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dpcore.data.schema.features.encoding import Encoding
from dpcore.data.schema.features.feature_column import FeatureColumn
from dpcore.data.schema.features.transforms import Affine, Chain, Clip, Log, Number
from dpcore.data.schema.values import Entry, check_bounds
from dpcore.errors import InvalidInputError
from dpcore.moved import moved_name

__all__ = ["Numeric", "numeric_from"]

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
        chain: Chain = Affine.between(self.lower, self.upper)
        if self.scale == "log":
            low, high = Log.of(np.array([self.lower, self.upper])).tolist()
            chain = (
                Clip(self.lower, self.upper),
                Log(self.lower, self.upper),
                *Affine.between(low, high),
            )
        return Encoding(Number(), (chain,), self.fill, self.indicator)

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {"kind": self.kind, "lower": self.lower, "upper": self.upper}
        if self.scale != "linear":
            data["scale"] = self.scale
        return data | self.empty_keys(self.fill, self.indicator, self.missing)


def numeric_from(name: str, entry: Entry) -> Numeric:
    """Return the column of a table of keys with public bounds."""
    fill, indicator = entry.number_or_none("fill"), entry.flag("indicator")
    missing = entry.words("missing")
    bounds = entry.bound("lower"), entry.bound("upper")
    return Numeric(name, *bounds, fill, indicator, entry.data.get("scale", "linear"), missing)


def __getattr__(name: str) -> Any:
    return moved_name(__name__, name)
