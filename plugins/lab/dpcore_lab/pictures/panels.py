"""Pictures drawn by matplotlib, as SVG, PNG or PDF: the panels that a report draws as SVG."""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import visible
from dpcore.plugin.parts import OutFile
from dpcore_lab.compare.figure import WRITERS, check_figure
from dpcore_lab.compare.styles import curve_style
from dpcore_lab.compare.svg import STYLE
from dpcore_report.pictures.axis import range_of_values

if TYPE_CHECKING:
    from dpcore_report.pictures.panel import Panel, Picture

__all__ = ["draw_pictures", "write_pictures"]

_STYLE = {**STYLE, "font.size": 8, "pdf.fonttype": 42, "text.parse_math": False}
"""Names of columns and levels are texts, in which no dollar begins a formula."""
_WIDE, _HIGH, _ROW, _BAR = 3.1, 2.5, 0.15, 0.08
"""Of a panel over numbers; of a row of names, and of each bar in it more than one; in inches."""
_AROUND = 0.75
"""Inches of a panel's title and axis."""
_MOST_ACROSS = 4
_PER_INCH = 15
"""Letters of the sentence below a picture."""
_LETTERS = 26
"""Of the name of a row."""
_TITLE = 46
"""Letters of a line of a panel's title."""


def write_pictures(
    path: str | os.PathLike[str], pictures: Sequence[Picture], about: str, mode: int = 0o666
) -> None:
    """Draw pictures, one below the other, and write them as SVG, PNG or PDF, the same bytes every
    time. ``about`` : the description in the file. ``mode`` : as of ``OutFile.write``. Raises as
    ``check_figure``."""
    check_figure(path)
    from matplotlib import style

    with style.context(["default", _STYLE]):
        content = WRITERS[Path(path).suffix.lower()](draw_pictures(pictures), about)
        OutFile(path).write(content, mode)


def draw_pictures(pictures: Sequence[Picture]) -> Any:
    """Return the matplotlib Figure of pictures."""
    from matplotlib.figure import Figure

    across = min(_MOST_ACROSS, max(2, *(len(picture.panels) for picture in pictures)))
    heights = [[*map(max, _in_rows([*map(_height, each.panels)], across))] for each in pictures]
    said = [textwrap.wrap(each.told, int(across * _WIDE * _PER_INCH)) for each in pictures]
    sizes = [sum(own) + 0.5 + 0.15 * len(lines) for own, lines in zip(heights, said, strict=True)]
    figure = Figure(figsize=(across * _WIDE, sum(sizes)), layout="constrained")
    parts = figure.subfigures(len(pictures), 1, height_ratios=sizes, squeeze=False)[:, 0]
    for part, picture, rows, lines in zip(parts, pictures, heights, said, strict=True):
        part.suptitle(picture.title, fontsize=10, fontweight="bold")
        axes = part.subplots(len(rows), across, squeeze=False, height_ratios=rows)
        _draw_panels(axes, picture.panels, rows)
        part.supxlabel("\n".join(lines), fontsize=7)
    return figure


def _in_rows(heights: list[float], across: int) -> list[list[float]]:
    return [heights[at : at + across] for at in range(0, len(heights), across)]


def _height(panel: Panel) -> float:
    if not panel.rows:
        return _HIGH
    bars = sum(each.mark == "bars" for each in panel.series)
    return max(1.2, _AROUND + len(panel.rows) * (_ROW + _BAR * max(0, bars - 1)))


def _draw_panels(axes: Any, panels: tuple[Panel, ...], heights: list[float]) -> None:
    """Draw panels into the axes of a grid, whose rows have these heights in inches."""
    across = axes.shape[1]
    for place, (axis, panel) in enumerate(zip(axes.flat, panels, strict=False)):
        if panel.rows:
            _draw_rows(axis, panel, 0.8 * _height(panel) / heights[place // across])
        else:
            _draw_numbers(axis, panel)
        axis.set_title("\n".join(textwrap.wrap(visible(panel.title), _TITLE)), fontsize=8)
        axis.spines[["top", "right"]].set_visible(False)
        if len(panel.series) > 1:
            axis.legend(fontsize=6, frameon=False)
    for axis in [*axes.flat][len(panels) :]:
        axis.set_axis_off()


def _draw_numbers(axis: Any, panel: Panel) -> None:
    for place, series in enumerate(panel.series):
        x = np.array(series.places or panel.places, float)
        own = {**curve_style(place), "label": visible(series.name)}
        values, low, high = map(_floats, (series.values, series.low, series.high))
        if series.mark == "dots":
            axis.errorbar(x, values, _reach(values, low, high), **{**own, "ls": "", "ms": 4})
            continue
        axis.plot(x, values, **{**own, "marker": ""})
        if low.size:
            axis.fill_between(x, low, high, color=own["color"], alpha=0.25, lw=0)
    axis.set_ylim(*range_of_values(panel))
    axis.set_ylabel(visible(panel.of_values))
    # Beside the day, which stands on the right below dates.
    axis.set_xlabel(visible(panel.across), loc="left" if panel.is_date else "center")
    if panel.is_share:
        axis.set_xlim(0.0, 1.0)
        axis.axline((0.0, 0.0), (1.0, 1.0), color="#999999", lw=0.6, zorder=0)
        return
    axis.axhline(0.0, color="#999999", lw=0.6, zorder=0)
    if panel.is_date:
        from matplotlib import dates

        found = dates.AutoDateLocator(minticks=3, maxticks=6)  # type: ignore[no-untyped-call]
        axis.xaxis.set_major_locator(found)
        axis.xaxis.set_major_formatter(dates.ConciseDateFormatter(found))  # type: ignore[no-untyped-call]
    else:
        axis.ticklabel_format(axis="x", scilimits=(-4, 6))
        axis.locator_params(axis="x", nbins=5)


def _draw_rows(axis: Any, panel: Panel, thick: float) -> None:
    """Draw values beside names, which are read from above. ``thick`` : the bars of a row, of it."""
    n_bars = max(1, sum(each.mark == "bars" for each in panel.series))
    rows, width = np.arange(len(panel.rows)), thick / n_bars
    for place, series in enumerate(panel.series):
        own = {"color": curve_style(place)["color"], "label": visible(series.name)}
        values, low, high = map(_floats, (series.values, series.low, series.high))
        if series.mark == "bars":
            axis.barh(rows + (place - (n_bars - 1) / 2) * width, values, width, **own)
        else:
            reach = _reach(values, low, high)
            axis.errorbar(values, rows, xerr=reach, fmt="o", ms=3, lw=1.2, **own)
    axis.axvline(0.0, color="#999999", lw=0.6, zorder=0)
    axis.set_xlim(*range_of_values(panel))
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_yticks(rows, [_cut(visible(name)) for name in panel.rows], fontsize=6)
    axis.set_xlabel(visible(panel.of_values))


def _cut(name: str) -> str:
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}\u2026"


def _floats(values: tuple[float | None, ...]) -> np.ndarray:
    return np.array([math.nan if value is None else value for value in values], float)


def _reach(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    """Return how far the ends of intervals are from values; ``None`` of a series without."""
    return np.maximum(0.0, [values - low, high - values]) if low.size else None
