"""Two kinds of column: one of listed words, which an export holds too, and one with a function."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from dpcore.plugin.columns import ColumnKind, Encoding, Entry, FeatureColumn, transforms

_CODES = tuple(str(code) for code in range(1000, 10_000))
_AREAS = tuple(code // 100 - 10 for code in range(1000, 10_000))


@dataclass(frozen=True, slots=True)
class Postal(FeatureColumn):
    """A code by its area, the first two digits. Another cell is of no area: all zeros."""

    kind: ClassVar[str] = "postal-code"
    name: str
    indicator: bool = False
    missing: tuple[str, ...] = ()
    fill: None = None

    @property
    def encoding(self) -> Encoding:
        areas = transforms.OneHot(tuple(f"{area}xx" for area in range(10, 100)))
        return Encoding(transforms.Lookup(_CODES, _AREAS), ((areas,),), indicator=self.indicator)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind} | self.empty_keys(None, self.indicator, self.missing)


@dataclass(frozen=True, slots=True)
class Clock(FeatureColumn):
    """A time as hours and minutes, as a number: 0 at 00:00 and 1 at 23:59."""

    kind: ClassVar[str] = "clock"
    name: str
    indicator: bool = False
    missing: tuple[str, ...] = ()
    fill: None = None

    @property
    def encoding(self) -> Encoding:
        reading = transforms.Parsed(minutes, "time of the day, such as 07:30")
        return Encoding(
            reading, (transforms.Affine.between(0.0, 1439.0),), indicator=self.indicator
        )

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind} | self.empty_keys(None, self.indicator, self.missing)


def minutes(word: str) -> float | None:
    """Return the minutes since midnight. It sees one private cell, and keeps nothing of it."""
    match = re.fullmatch("([0-9]{1,2}):([0-9]{2})", word)
    if match is None or int(match[1]) > 23 or int(match[2]) > 59:
        return None
    return 60.0 * int(match[1]) + int(match[2])


def _postal(name: str, entry: Entry) -> Postal:
    return Postal(name, entry.flag("indicator"), entry.words("missing"))


def _clock(name: str, entry: Entry) -> Clock:
    return Clock(name, entry.flag("indicator"), entry.words("missing"))


POSTAL = ColumnKind((ColumnKind.INDICATOR, ColumnKind.MISSING), _postal)
CLOCK = ColumnKind((ColumnKind.INDICATOR, ColumnKind.MISSING), _clock)
