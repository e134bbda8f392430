"""Columns of values that nobody lists: each falls into one of a public number of buckets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpcore.errors import InvalidInputError
from dpcore.plugin.columns import Encoding, Entry, FeatureColumn, transforms
from dpcore_tables.kinds.categorical import Value, check_one_of_both

__all__ = ["Hashed", "hashed_from"]

_LARGEST = 2**20


@dataclass(frozen=True, slots=True)
class Hashed(FeatureColumn):
    """A value by the bucket of its hash, one-hot.

    ``buckets``, ``numbers`` : of the public hash (``dpcore.data.schema.features.transforms.Hash``).
    ``fill`` : the value that an empty cell counts as. ``indicator`` : whether it has a feature of
    its own, the last. At most one feature is 1: they add at most 1 to the square of a row's norm.
    """

    kind: ClassVar[str] = "hashed"
    name: str
    buckets: int
    numbers: bool = False
    fill: Value | None = None
    indicator: bool = False
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 2 <= self.buckets <= _LARGEST:
            raise InvalidInputError(
                f"Expected 2 <= buckets={self.buckets} <= 2^20 in column {self.name!r}."
            )
        check_one_of_both(self.name, self.fill, self.indicator)

    @property
    def encoding(self) -> Encoding:
        reading = transforms.Hash(self.buckets, self.numbers)
        fill = None if self.fill is None else reading.bucket(self.fill)
        levels = transforms.OneHot(range(self.buckets), prefix="#")
        return Encoding(reading, ((levels,),), fill, self.indicator)

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {"kind": self.kind, "buckets": self.buckets}
        if self.numbers:
            data["numbers"] = True
        return data | self.empty_keys(self.fill, self.indicator, self.missing)


def hashed_from(name: str, entry: Entry) -> Hashed:
    numbers = entry.flag("numbers")
    fill: Value | None = None
    if "fill" in entry.data:
        fill = entry.number("fill") if numbers else entry.text("fill")
    flags = entry.flag("indicator"), entry.words("missing")
    return Hashed(name, entry.whole("buckets"), numbers, fill, *flags)
