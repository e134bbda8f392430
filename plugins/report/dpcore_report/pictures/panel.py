"""A panel of a picture as plain data, whatever draws it: series over numbers or over named rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Mark", "Panel", "Picture", "Series"]

Mark = Literal["line", "dots", "bars"]


@dataclass(frozen=True, slots=True)
class Series:
    """Values of a panel, one for each of its places.

    Parameters
    ----------
    name : in the legend; empty for none.
    values : in the unit of the panel's axis of values; ``None`` where there is none.
    low, high : ends of 95 % intervals, as many as values, or none of all.
    places : where they are other numbers than the panel's own.
    mark : a line, dots, or bars from 0.
    """

    name: str
    values: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    places: tuple[float, ...] = ()
    mark: Mark = "line"


@dataclass(frozen=True, slots=True)
class Panel:
    """Some series in one frame.

    Parameters
    ----------
    title : of the panel.
    places : numbers, from left to right, or names of rows, from above.
    series : at least one.
    across : the name of the axis of numbers; ``of_values`` : that of the values.
    is_date : whether numbers are days since 1970-01-01.
    is_share : whether both axes are from 0 to 1, with the diagonal drawn.
    """

    title: str
    places: tuple[float, ...] | tuple[str, ...]
    series: tuple[Series, ...]
    across: str = ""
    of_values: str = ""
    is_date: bool = False
    is_share: bool = False

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the rows; none of a panel over numbers."""
        return tuple(place for place in self.places if isinstance(place, str))


@dataclass(frozen=True, slots=True)
class Picture:
    """Panels of one subject, and the sentence that says how to read them."""

    title: str
    panels: tuple[Panel, ...]
    told: str = ""
