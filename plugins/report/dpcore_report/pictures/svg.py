"""A panel as SVG within a page: shapes and text alone, colours by the page's stylesheet."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpcore.errors import visible
from dpcore_report.pictures.axis import date_of, range_of_values, shown_numbers, ticks

if TYPE_CHECKING:
    from dpcore_report.pictures.panel import Panel, Series

__all__ = ["N_COLOURS", "svg_of"]

N_COLOURS = 6
_WIDTH, _HEIGHT, _LINE = 340.0, 150.0, 14.0
"""Of a panel, of the frame of one over numbers, and of a line of text."""
_LETTER = 6.6
"""Of an average letter of its text, wide."""
_LEFT, _RIGHT, _NAMES = 52.0, 8.0, 150.0
"""Beside the frame; the names of rows have so much room."""
_BAR = 9.0


class _Frame:
    """Where values and places are in a panel's picture."""

    def __init__(self, panel: Panel, top: float) -> None:
        self.panel, self.top = panel, top
        self.is_rows = bool(panel.rows)
        self.left, self.right = _NAMES if self.is_rows else _LEFT, _WIDTH - _RIGHT
        bars = sum(each.mark == "bars" for each in panel.series)
        self.row = max(_LINE, _BAR * bars + 4.0)
        self.height = self.row * len(panel.rows) if self.is_rows else _HEIGHT
        if panel.is_share:
            self.height = 190.0
        self.bottom = top + self.height
        self.least, self.largest = range_of_values(panel)
        places = [*panel.places, *(x for each in panel.series for x in each.places)]
        numbers = [place for place in places if not isinstance(place, str)]
        self.first, self.last = (0.0, 1.0) if panel.is_share else _apart(numbers)

    def value(self, value: float) -> float:
        """Return where a value is: from the left in rows, from above over numbers; held to the
        frame."""
        share = (min(max(value, self.least), self.largest) - self.least) / (
            self.largest - self.least
        )
        if self.is_rows:
            return self.left + share * (self.right - self.left)
        return self.bottom - share * self.height

    def place(self, place: float) -> float:
        """Return where a number is, from the left."""
        return self.left + (place - self.first) / (self.last - self.first) * (
            self.right - self.left
        )

    def middle(self, row: int) -> float:
        """Return where the middle of a row is, from above."""
        return self.top + (row + 0.5) * self.row


def _apart(numbers: list[float]) -> tuple[float, float]:
    first, last = min(numbers, default=0.0), max(numbers, default=1.0)
    return (first, last) if first < last else (first - 0.5, last + 0.5)


def svg_of(panel: Panel) -> str:
    """Return the SVG element of a panel. Nothing in it runs, loads or refers to anything."""
    legend = [each.name for each in panel.series if each.name] if len(panel.series) > 1 else []
    above = 0.0 if panel.rows or not panel.of_values else _LINE  # the name of the axis of values
    frame = _Frame(panel, 26.0 + _LINE * len(legend) + above)
    parts = [
        _text(2.0, 13.0, panel.title, int(_WIDTH / _LETTER), "name"),
        *_legend(panel, legend),
        *(_axis_of_rows(frame) if frame.is_rows else _axes(frame)),
    ]
    for place, series in enumerate(panel.series):
        draw = _row_marks if frame.is_rows else _marks
        parts += draw(frame, series, place)
    whole = frame.bottom + (34.0 if frame.is_rows or panel.across else 20.0)
    return (
        f'<svg viewBox="0 0 {_WIDTH:g} {whole:.0f}" role="img">'
        f"<title>{_escape(panel.title)}</title>{''.join(parts)}</svg>"
    )


def _escape(text: str) -> str:
    return html.escape(visible(text))


def _text(x: float, y: float, text: str, letters: int, kind: str = "") -> str:
    """Return a text, cut to so many letters."""
    shown = text if len(text) <= letters else f"{text[: max(1, letters - 1)]}\u2026"
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{of_kind}>{_escape(shown)}</text>'


def _within(middle: float, text: str) -> float:
    """Return where the middle of a text is, so that none of it is beyond the right edge."""
    return min(middle, _WIDTH - len(text) * _LETTER / 2)


def _legend(panel: Panel, names: list[str]) -> Iterator[str]:
    at = 0
    for place, series in enumerate(panel.series):
        if series.name in names:
            y = 18.0 + _LINE * at + 6.0
            yield f'<rect class="f{place % N_COLOURS}" x="4" y="{y:.0f}" width="12" height="5"/>'
            yield _text(20.0, y + 6.0, series.name, int((_WIDTH - 20.0) / _LETTER))
            at += 1


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line class="{kind}" {ends}/>'


def _axes(frame: _Frame) -> Iterator[str]:
    """Yield the grid and the ticks of a panel over numbers."""
    panel = frame.panel
    found = ticks(frame.least, frame.largest)
    for value, text in zip(found, shown_numbers(found), strict=True):
        y = frame.value(value)
        yield _line(frame.left, y, frame.right, y, "zero" if value == 0 else "grid")
        yield _text(frame.left - 4.0, y + 4.0, text, 12, "end")
    for x, text in _ticks_across(frame):
        yield _line(x, frame.bottom, x, frame.bottom + 3.0, "axis")
        yield _text(_within(x, text), frame.bottom + 14.0, text, 12, "mid")
    yield _line(frame.left, frame.bottom, frame.right, frame.bottom, "axis")
    if panel.is_share:
        yield _line(frame.left, frame.bottom, frame.right, frame.top, "zero")
    yield _text(2.0, frame.top - 8.0, panel.of_values, int(_WIDTH / _LETTER))
    if panel.across:
        x = (frame.left + frame.right) / 2
        yield _text(x, frame.bottom + 28.0, panel.across, 45, "mid")


def _ticks_across(frame: _Frame) -> Iterator[tuple[float, str]]:
    if not frame.panel.is_date:
        found = ticks(frame.first, frame.last)
        for value, text in zip(found, shown_numbers(found), strict=True):
            yield frame.place(value), text
        return
    for share in (0.08, 0.5, 0.92):
        day = frame.first + share * (frame.last - frame.first)
        yield frame.place(day), date_of(day).strftime("%Y-%m-%d")


def _axis_of_rows(frame: _Frame) -> Iterator[str]:
    """Yield the names of rows, and the ticks below them."""
    found = ticks(frame.least, frame.largest, 5)
    for value, text in zip(found, shown_numbers(found), strict=True):
        x = frame.value(value)
        yield _line(x, frame.top, x, frame.bottom, "zero" if value == 0 else "grid")
        yield _text(_within(x, text), frame.bottom + 13.0, text, 12, "mid")
    for row, name in enumerate(frame.panel.rows):
        letters = int((_NAMES - 6.0) / _LETTER)
        yield _text(frame.left - 5.0, frame.middle(row) + 4.0, name, letters, "end")
    yield _line(frame.left, frame.bottom, frame.right, frame.bottom, "axis")
    x = (frame.left + frame.right) / 2
    yield _text(x, frame.bottom + 28.0, frame.panel.of_values, 36, "mid")


def _row_marks(frame: _Frame, series: Series, place: int) -> Iterator[str]:
    colour, bars = place % N_COLOURS, [each for each in frame.panel.series if each.mark == "bars"]
    aside = (place - (len(bars) - 1) / 2) * _BAR if series.mark == "bars" else 0.0
    for row, value in enumerate(series.values):
        y = frame.middle(row) + aside
        if value is None or not math.isfinite(value):
            continue
        x = frame.value(value)
        if series.mark == "bars":
            left, right = sorted((x, frame.value(0.0)))
            size = f'x="{left:.1f}" y="{y - 3.5:.1f}" width="{right - left:.1f}" height="7"'
            yield f'<rect class="f{colour}" {size}/>'
            continue
        if (ends := _ends(series, row)) is not None:
            low, high = map(frame.value, ends)
            yield _line(low, y, high, y, f"s{colour}")
        yield f'<circle class="f{colour}" cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>'


def _ends(series: Series, at: int) -> tuple[float, float] | None:
    if not series.low:
        return None
    low, high = series.low[at], series.high[at]
    return None if low is None or high is None else (low, high)


def _marks(frame: _Frame, series: Series, place: int) -> Iterator[str]:
    colour, places = place % N_COLOURS, series.places or frame.panel.places
    xs = [frame.place(x) for x in places if not isinstance(x, str)]
    known = [
        (x, frame.value(value), _ends(series, at))
        for at, (x, value) in enumerate(zip(xs, series.values, strict=True))
        if value is not None and math.isfinite(value)
    ]
    if series.mark == "dots":
        for x, y, ends in known:
            if ends is not None:
                yield _line(x, frame.value(ends[0]), x, frame.value(ends[1]), f"s{colour}")
            yield f'<circle class="f{colour}" cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>'
        return
    between = [(x, frame.value(ends[0]), frame.value(ends[1])) for x, _, ends in known if ends]
    if between:
        lower, upper = [(x, y) for x, y, _ in between], [(x, y) for x, _, y in between]
        yield f'<polygon class="b{colour}" points="{_points(lower + upper[::-1])}"/>'
    points = [(x, y) for x, y, _ in known]
    dashed = " dashed" if place >= N_COLOURS else ""
    yield f'<polyline class="s{colour}{dashed}" points="{_points(points)}"/>'


def _points(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
