"""Dates in a graph, which has no texts to read them from: as days since 1970-01-01."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from dpcore_report.onnx.arithmetic import count_from

if TYPE_CHECKING:
    from dpcore.plugin.columns import transforms
    from dpcore_report.onnx.graph import Graph

__all__ = ["days_of", "part_of_date"]

_EPOCH = date(1970, 1, 1).toordinal()
_ERA = 146_097
"""The days of 400 years of the Gregorian calendar."""
_MARCH_OF_0 = 719_468
"""The days from 0000-03-01, the first of an era, to 1970-01-01."""
_FIRST, _LAST = date.min.toordinal() - _EPOCH, date.max.toordinal() - _EPOCH


def days_of(graph: Graph, cells: str) -> tuple[str, str]:
    """Return whole days, those of a time of the day included, and which are no date of the years 1
    to 9999: NaN and infinities are none."""
    days = graph.op("Floor", cells)
    after, before = graph.op("Less", days, float(_FIRST)), graph.op("Greater", days, float(_LAST))
    wrong = graph.op("Or", graph.op("IsNaN", days), graph.op("Or", after, before))
    return days, wrong


def part_of_date(graph: Graph, days: str, part: transforms.DatePart) -> str:
    """Return a part of whole days of the years 1 to 9999, float64, as int64 from 0."""
    if part.key == "year":
        return _year(graph, days, part)
    return _month(graph, days) if part.key == "month" else _weekday(graph, days)


def _year(graph: Graph, days: str, part: transforms.DatePart) -> str:
    years = range(part.first + 1, part.last + 1)
    firsts = [float(date(year, 1, 1).toordinal() - _EPOCH) for year in years]
    return count_from(graph, days, np.array(firsts))


def _weekday(graph: Graph, days: str) -> str:
    """1970-01-01 was a Thursday; ONNX's remainder has the sign of the divisor."""
    return graph.op("Mod", graph.op("Add", graph.cast(days, int), 3), 7)


def _month(graph: Graph, days: str) -> str:
    """Return the month, 0 for January, in whole numbers >= 0, whose division rounds down: the day
    of an era, its year and its day of a year that begins in March, whose months are in turn of 31,
    30, 31, 30 and 31 days (153 in all)."""
    day = graph.op("Mod", graph.op("Add", graph.cast(days, int), _MARCH_OF_0), _ERA)

    def over(value: str, divisor: int) -> str:
        return graph.op("Div", value, divisor)

    leap = graph.op("Sub", day, over(day, 1460))
    leap = graph.op("Sub", graph.op("Add", leap, over(day, 36_524)), over(day, _ERA - 1))
    year = over(leap, 365)
    before = graph.op("Add", graph.op("Mul", year, 365), over(year, 4))
    of_year = graph.op("Sub", day, graph.op("Sub", before, over(year, 100)))
    of_march = over(graph.op("Add", graph.op("Mul", of_year, 5), 2), 153)
    return graph.op("Mod", graph.op("Add", of_march, 2), 12)
