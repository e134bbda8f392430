"""Columns of values that nobody lists: each falls into one of a public number of buckets."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import Any, ClassVar

from dpcore.data.schema.parts import Part, empty_keys, level_names, level_parts
from dpcore.data.schema.values import Entry, Value, check_one_of_both
from dpcore.errors import InvalidInputError

__all__ = ["Hashed", "hashed_from"]

_LARGEST = 2**20


@dataclass(frozen=True, slots=True)
class Hashed:
    """A value by the bucket of its hash, one-hot.

    The hash is public, and the same on every platform and in every version: BLAKE2b of 8 bytes
    (RFC 7693, no key) of the cell's text without outer spaces in UTF-8, as a little-endian whole
    number modulo ``buckets``. Where ``numbers`` says that cells are numbers, it is that of the 8
    bytes of the little-endian IEEE 754 double, so that 3, 3.0 and "3" fall into one bucket.

    ``fill`` : the value that an empty cell counts as. ``indicator`` : whether it has a feature of
    its own, the last. At most one feature is 1: they add at most 1 to the square of a row's norm.
    """

    kind: ClassVar[str] = "hashed"
    square: ClassVar[int] = 1
    bounds: ClassVar[None] = None
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
    def takes_numbers(self) -> bool:
        return self.numbers

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(f"#{i}" for i in range(self.buckets))

    @property
    def parts(self) -> tuple[Part, ...]:
        return level_parts(self.buckets, self.indicator)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return level_names(self.name, self.levels, self.indicator)

    def bucket(self, value: Value) -> int:
        """Return the bucket of a text, or, where ``numbers`` says so, of a finite number."""
        content = str(value).strip().encode("utf-8", "surrogatepass")
        if self.numbers:
            content = struct.pack("<d", float(value) + 0.0)  # 0.0 for -0.0
        digest = hashlib.blake2b(content, digest_size=8).digest()
        return int.from_bytes(digest, "little") % self.buckets

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {"kind": self.kind, "buckets": self.buckets}
        if self.numbers:
            data["numbers"] = True
        return data | empty_keys(self.fill, self.indicator, self.missing)


def hashed_from(name: str, entry: Entry) -> Hashed:
    numbers = entry.flag("numbers")
    fill: Value | None = None
    if "fill" in entry.data:
        fill = entry.number("fill") if numbers else entry.text("fill")
    flags = entry.flag("indicator"), entry.words("missing")
    return Hashed(name, entry.whole("buckets"), numbers, fill, *flags)
