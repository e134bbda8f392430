"""Columns of dates."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.errors import InvalidInputError, near_names
from dpcore.plugin.columns import Encoding, Entry, FeatureColumn, transforms
from dpcore_tables.kinds.date_formats import EPOCH, date_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore import Schema

__all__ = ["Date", "date_from", "with_date_formats"]

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_PARTS = ("year", "month", "weekday")


@dataclass(frozen=True, slots=True)
class Date(FeatureColumn):
    """A day, clamped to the public [lower, upper] and mapped to [0, 1]. By ``calendar`` some of its
    parts are beside it, one-hot each: the year of the clamped day, the month and the weekday of the
    day itself.

    The time of a day is left out. A text has the day that it names; a time stamp that knows its
    zone has its day in UTC. ``format`` : of text; by default ISO 8601, as in 2024-02-29.

    The day's feature adds at most 1 to the square of a row's l2 norm, and each part one 1. An empty
    cell counts as ``fill``; with ``indicator`` alone day and parts are 0 where it is 1, with both
    it adds 1.
    """

    kind: ClassVar[str] = "date"
    name: str
    lower: date
    upper: date
    calendar: tuple[str, ...] = ()
    format: str | None = None
    fill: date | None = None
    indicator: bool = False
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.lower < self.upper:
            raise InvalidInputError(
                f"Expected lower={self.lower} < upper={self.upper} in column {self.name!r}."
            )
        if len(set(self.calendar)) < len(self.calendar) or not set(self.calendar) <= set(_PARTS):
            raise InvalidInputError(
                f"Expected parts of column {self.name!r} to be some of {', '.join(_PARTS)}."
            )
        date_pattern(self.name, self.format)

    @property
    def encoding(self) -> Encoding:
        lower, upper = float(_day_number(self.lower)), float(_day_number(self.upper))
        years = range(self.lower.year, self.upper.year + 1)
        chain_of: dict[str, transforms.Chain] = {
            "year": (
                transforms.DatePart("year", years[0], years[-1]),
                transforms.OneHot(years, part=".year"),
            ),
            "month": (transforms.DatePart("month"), transforms.OneHot(_MONTHS, part=".month")),
            "weekday": (
                transforms.DatePart("weekday"),
                transforms.OneHot(_WEEKDAYS, part=".weekday"),
            ),
        }
        chains = (
            transforms.Affine.between(lower, upper),
            *(chain_of[key] for key in self.calendar),
        )
        fill = None if self.fill is None else float(_day_number(self.fill))
        return Encoding(transforms.Day(self.format), chains, fill, self.indicator)

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {"kind": self.kind, "lower": str(self.lower)}
        data["upper"] = str(self.upper)
        if self.calendar:
            data["parts"] = list(self.calendar)
        if self.format is not None:
            data["format"] = self.format
        fill = None if self.fill is None else str(self.fill)
        return data | self.empty_keys(fill, self.indicator, self.missing)


def _day_number(day: date) -> int:
    return day.toordinal() - EPOCH


def date_from(name: str, entry: Entry) -> Date:
    calendar = tuple(map(str, entry.values("parts"))) if "parts" in entry.data else ()
    return Date(
        name,
        _day(entry, "lower"),
        _day(entry, "upper"),
        calendar,
        entry.text("format") if "format" in entry.data else None,
        _day(entry, "fill") if "fill" in entry.data else None,
        entry.flag("indicator"),
        entry.words("missing"),
    )


def with_date_formats(schema: Schema, texts: Sequence[str]) -> Schema:
    """Return the schema with its dates written otherwise: ``FORMAT`` for all columns of them, or
    ``COLUMN=FORMAT``; ``iso`` is that of a column without a format.

    Raises InvalidInputError for a column that is no date, and for what is no format.
    """
    if not texts:
        return schema
    days = [column.name for column in schema.columns if isinstance(column, Date)]
    if not days:
        raise InvalidInputError("--date-format is of columns of dates, and the schema has none.")
    formats: dict[str, str] = {}
    for name, format in sorted(map(_name_and_format, texts), key=lambda pair: pair[0] != ""):
        if name and name not in days:
            raise InvalidInputError(
                f"The schema has no column {name!r} of dates.{near_names(name, days)}"
            )
        formats |= {name: format} if name else dict.fromkeys(days, format)
    columns = (
        replace(column, format=None if formats[column.name] == "iso" else formats[column.name])
        if isinstance(column, Date) and column.name in formats
        else column
        for column in schema.columns
    )
    return replace(schema, columns=tuple(columns))


def _name_and_format(text: str) -> tuple[str, str]:
    """Return the column that a format is of, empty for all, and the format, which begins behind the
    last = before its first %."""
    name, is_of_one, _ = text.partition("%")[0].rpartition("=")
    return (name, text[len(name) + 1 :]) if is_of_one else ("", text)


def _day(entry: Entry, key: str) -> date:
    """Return a date of TOML's own or a text in ISO 8601."""
    if entry.data.get(key, entry.PRIVATE) == entry.PRIVATE:
        raise InvalidInputError(
            f"Missing {key} in {entry.where}: a date has public bounds; private ones are for "
            "numbers only."
        )
    value = entry.data[key]
    if value == entry.PLACEHOLDER:
        raise InvalidInputError(f"The {key} of {entry.where} is still to be filled in.")
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        if isinstance(value, str) and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise InvalidInputError(f"Expected {key} of {entry.where} to be a date, as in 2024-02-29.")
