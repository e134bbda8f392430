"""The levels of a panel, its floor and its ceiling, and the range of its axis, which is that of the
curves: a level beyond it is named at the edge. Points that are hopelessly below are drawn in a part
of the axis of another scale, and so are the ends of intervals that are wider than most."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.errors import DpcoreError
from dpcore.plugin import Settings
from dpcore.plugin.parts import LossFacts
from dpcore_lab.compare.settings import loss_with, shown_name
from dpcore_lab.compare.table import SHARES, Mean

__all__ = ["FLOOR", "Level", "draw_levels", "levels_of", "range_of", "set_range"]

FLOOR = "w = 0"
"""The model that says nothing, as legends name it."""
_LINES = {
    "nonprivate": {"color": "black", "ls": "-", "lw": 1.0},
    "majority": {"color": "0.45", "ls": (0, (6, 2)), "lw": 1.0},
    FLOOR: {"color": "0.45", "ls": (0, (6, 2)), "lw": 1.0},
}
_WORDS = {"nonprivate": "not private"}
_MARGIN = 0.06
"""Of the curves' range, on both sides."""
_NEAR = 0.2
"""Of the curves' range: a level that is as near as this is drawn, and the axis reaches it."""
_FOLDED = 0.3
"""Of the curves' range: the height of a part of another scale, above or below it."""


@dataclass(frozen=True)
class Level:
    """A line across a panel. ``ceiling`` : as good as it gets; else as bad."""

    name: str
    value: float
    ceiling: bool

    @property
    def text(self) -> str:
        """The name and value beside the line."""
        return f"{_WORDS.get(self.name, self.name)}: {self.value:.3g}"


def levels_of(
    means: Sequence[Mean], data: str, settings: Mapping[str, Any], measure: str
) -> list[Level]:
    """Return the levels of a data set: the fit without privacy, and the commoner class or, for an
    objective, the model of zeros. To find the commoner class takes no time worth a line."""
    found = {mean.algorithm: mean.mean for mean in means if mean.data == data}
    levels = []
    for name in ("majority", "nonprivate"):
        value = found.get(name)
        if value is not None and (measure, name) != ("seconds", "majority"):
            levels.append(Level(name, value, name == "nonprivate"))
    value = _objective_of_zeros(settings) if measure == "objective" else None
    return levels if value is None else [*levels, Level(FLOOR, value, False)]


def _objective_of_zeros(settings: Mapping[str, Any]) -> float | None:
    """Return the loss at margin 0 of a row of either class; ``None`` where rows differ in it, as in
    a regression, it goes by the number of classes, or the loss is not installed where the picture
    is drawn."""
    with suppress(DpcoreError):
        params = settings.get("params", {}).get(Settings.OF_LOSS, {})
        loss = loss_with(settings["loss"], params)
        several = settings.get("multiclass") is not None or LossFacts.of(loss).multiclass
        if loss.classification and not several:
            out = np.empty(2)
            loss.value(np.zeros(2), np.array([-1.0, 1.0]), out)
            return float(out[0]) if out[0] == out[1] else None
    return None


def range_of(curves: Sequence[Mean], levels: Sequence[Level], measure: str) -> tuple[float, float]:
    """Return the least and largest value of an axis, with a margin.

    It holds all points but the hopeless (an objective above that of w = 0, an accuracy further
    below the commoner class than half of what the best is above), if any has hope; intervals, as
    far as these are no wider than is usual among them or than half of what the points differ by;
    and levels that are near. An axis of seconds is one of ratios.
    """
    ratios = measure == "seconds"
    scale, back = (math.log, math.exp) if ratios else (float, float)
    shown = [mean for mean in curves if not _is_hopeless(mean, curves, levels)] or curves
    centres = np.array([mean.mean for mean in shown], dtype=np.float64)
    widths = np.array([mean.half_width or 0.0 for mean in shown])
    span = float(np.ptp(centres))
    widths = np.minimum(widths, max(span / 2, float(np.median(widths))))
    lows, highs = centres - widths, centres + widths
    if ratios:
        lows = np.where(lows > 0, lows, centres)
    low, high = scale(lows.min()), scale(highs.max())
    size = (high - low) or abs(high) or 1.0
    for level in levels:
        if not ratios or level.value > 0:
            value = scale(level.value)
            if low - _NEAR * size <= value <= high + _NEAR * size:
                low, high = min(low, value), max(high, value)
    return back(low - _MARGIN * size), back(high + _MARGIN * size)


def _is_hopeless(mean: Mean, curves: Sequence[Mean], levels: Sequence[Level]) -> bool:
    """Return whether a point is worse than no model, by far where that is an accuracy."""
    centres = [curve.mean for curve in curves if curve.mean is not None]
    floor = next((level for level in levels if not level.ceiling), None)
    if floor is None or mean.mean is None:
        return False
    if floor.name == FLOOR:
        return mean.mean > floor.value
    return mean.mean < floor.value - max(0.0, max(centres) - floor.value) / 2


def set_range(axis: Any, curves: Sequence[Mean], limits: tuple[float, float], measure: str) -> bool:
    """Give an axis the range ``limits``, and whatever points and intervals are beyond it in a grey
    part of a smaller scale above or below; return whether there is such a part."""
    low, high = limits
    if measure == "seconds":
        axis.set_ylim(low, high)
        return False
    if measure in SHARES:
        low, high = max(low, 0.0), min(high, 100.0)
    least, most = _whole_range(curves, low, high, measure)
    height = _FOLDED * (high - low)
    low, high = (least if low - least <= height else low), (most if most - high <= height else high)
    axis.set_ylim(least, most)
    if (low, high) == (least, most):
        return False
    _fold(axis, [least, low, high, most], height)
    return True


def _whole_range(
    curves: Sequence[Mean], low: float, high: float, measure: str
) -> tuple[float, float]:
    """Return the least and largest value that is drawn: intervals whole, but for what no share and
    no objective can be."""
    ends = [
        mean.mean + sign * (mean.half_width or 0.0)
        for mean in curves
        for sign in (-1, 1)
        if mean.mean is not None
    ]
    least, most = min([low, *ends]), max([high, *ends])
    least, most = least - _MARGIN * (low - least), most + _MARGIN * (most - high)
    least = max(least, min(0.0, *(mean.mean for mean in curves if mean.mean is not None), low))
    return least, min(most, 100.0) if measure in SHARES else most


def _fold(axis: Any, bounds: Sequence[float], height: float) -> None:
    """Draw what is below the second bound, and above the third, on a part of so much height."""
    from matplotlib.ticker import FixedLocator, MaxNLocator

    least, low, high, most = bounds
    parts = (height if low > least else 0.0, high - low, height if most > high else 0.0)
    places = np.concatenate([[0.0], np.cumsum(parts)])
    values, places = np.unique(bounds), np.unique(places)
    axis.set_yscale(
        "function",
        functions=(
            lambda y: _piecewise(y, values, places),
            lambda t: _piecewise(t, places, values),
        ),
    )
    ticks = [t for t in MaxNLocator(5).tick_values(low, high) if low <= t <= high]
    for start, end, inwards in ((least, low, low), (high, most, high)):
        if end > start:
            far = MaxNLocator(3).tick_values(start, end)
            ticks += [t for t in far if start <= t <= end and abs(t - inwards) > (end - start) / 5]
            axis.axhspan(start, end, color="0.93", lw=0, zorder=0)
            axis.axhline(inwards, color="0.6", lw=0.8, zorder=1)
    axis.yaxis.set_major_locator(FixedLocator(sorted(ticks)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.set_ylim(least, most)


def _piecewise(given: Any, values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the places of values, which lie on lines between those that are known, and beyond
    them on the first or the last line."""
    given = np.asarray(given, dtype=np.float64)
    slopes = np.diff(places) / np.diff(values)
    below, above = given - values[0], given - values[-1]
    beyond = np.minimum(below, 0.0) * slopes[0] + np.maximum(above, 0.0) * slopes[-1]
    found: np.ndarray = np.interp(given, values, places) + beyond
    return found


def draw_levels(axis: Any, levels: Sequence[Level], *, upwards: bool) -> None:
    """Draw the levels and name them: the ceiling at the left, where curves are worst, and the floor
    at the right; one beyond the axis at its edge, with an arrow. ``upwards`` : more is better."""
    low, high = axis.get_ylim()
    for level in levels:
        axis.axhline(level.value, zorder=1, label=shown_name(level.name), **_LINES[level.name])
        above = upwards == level.ceiling
        text, where, beside = level.text, level.value, "bottom" if above else "top"
        if level.value > high:
            text, where, beside = f"{text} \N{UPWARDS ARROW}", high, "top"
        elif level.value < low:
            text, where, beside = f"{text} \N{DOWNWARDS ARROW}", low, "bottom"
        _write(axis, text, 0.01 if level.ceiling else 0.99, where, beside)
    axis.set_ylim(low, high)


def _write(axis: Any, text: str, across: float, where: float, beside: str) -> None:
    """Write at a share of the panel's width and a value of its axis."""
    axis.text(
        across,
        where,
        text,
        transform=axis.get_yaxis_transform(),
        ha="left" if across < 0.5 else "right",
        va=beside,
        fontsize=7,
        color="0.25",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5},
        zorder=4,
    )
