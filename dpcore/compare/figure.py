"""A comparison as a picture: means against epsilon, a panel for each data set or algorithm."""

from __future__ import annotations

import importlib.util
import io
import os
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.compare.settings import AS_PUBLISHED, REFERENCES, STATEMENT, loss_in_words, shown_name
from dpcore.compare.svg import STYLE, svg_of
from dpcore.compare.table import INTERVAL, MEASURES, Mean
from dpcore.errors import InvalidInputError
from dpcore.exact.rounding import exact
from dpcore.model.outfile import check_writable, write_whole

__all__ = ["FACETS", "check_facet", "check_figure", "draw", "write_figure"]

FACETS = ("data", "algorithm")

# Colours of Okabe & Ito (2008), which stay distinct for the colour-blind; in grey print the markers
# tell the lines apart. Colours and markers come round at different turns.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_REFERENCE_LINES = {
    "nonprivate": {"color": "black", "ls": "-", "lw": 1.0},
    "majority": {"color": "0.55", "ls": (0, (6, 2)), "lw": 1.0},
}
_STYLE = {**STYLE, "font.size": 9.5}
_PANEL = (4.6, 3.7)
"""Width and height of a panel in inches."""
_PER_INCH = 18
"""Letters of the caption."""
_NOT_PRIVATE = "computed WITHOUT privacy"
"""The statement in the picture's metadata, in short."""


def check_facet(facet: str) -> None:
    """Raise InvalidInputError for a facet that is none."""
    if facet not in FACETS:
        raise InvalidInputError(f"Expected facet={facet!r} to be {' or '.join(FACETS)}.")


def check_figure(path: str | os.PathLike[str], facet: str = "data") -> None:
    """Raise InvalidInputError for a facet that is none, for a picture that is neither SVG nor PNG
    or cannot be written, and where matplotlib is not installed."""
    check_facet(facet)
    if Path(path).suffix.lower() not in (".svg", ".png"):
        raise InvalidInputError(f"Expected the figure {os.fspath(path)!r} as .svg or .png.")
    if importlib.util.find_spec("matplotlib") is None:
        raise InvalidInputError(
            "A figure needs matplotlib, which is not installed: pip install 'dpcore[plot]'."
        )
    check_writable(path)


def write_figure(
    path: str | os.PathLike[str],
    means: Sequence[Mean],
    settings: Mapping[str, Any],
    measure: str,
    facet: str = "data",
) -> None:
    """Draw the means of a measure and write them as SVG or PNG, the same bytes every time."""
    check_figure(path, facet)
    from matplotlib import style

    with style.context(["default", _STYLE]):
        figure = draw(means, settings, measure, facet)
        is_svg = Path(path).suffix.lower() == ".svg"
        write_whole(path, svg_of(figure, STATEMENT) if is_svg else _png_of(figure))


def _png_of(figure: Any) -> bytes:
    buffer = io.BytesIO()
    metadata = {"Software": None, "Description": STATEMENT}
    figure.savefig(buffer, format="png", dpi=150, facecolor="white", metadata=metadata)
    return buffer.getvalue()


def draw(
    means: Sequence[Mean], settings: Mapping[str, Any], measure: str, facet: str = "data"
) -> Any:
    """Return the matplotlib Figure: panels by ``facet``, in each a line for every value of the
    other of data and algorithm."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    known = [mean for mean in means if mean.mean is not None]
    curves = [mean for mean in known if mean.algorithm not in REFERENCES]
    panels = list(dict.fromkeys(getattr(mean, facet) for mean in curves))
    if not panels:
        raise InvalidInputError(f"No algorithm has a value of {measure}.")
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    width, height = _PANEL
    size = (max(width * columns, 6.0), height * rows + 0.6)
    figure = Figure(figsize=size, layout="constrained")
    # Data sets have ranges of their own; algorithms are to be read against each other.
    axes = figure.subplots(rows, columns, squeeze=False, sharey=facet == "algorithm").flat
    styles = _styles(curves, "algorithm" if facet == "data" else "data")
    for axis, panel in zip(axes, panels, strict=False):
        of_panel = [mean for mean in curves if getattr(mean, facet) == panel]
        _draw_curves(axis, of_panel, styles)
        if facet == "data":
            _draw_references(axis, [m for m in known if m.data == panel], measure)
        _label(axis, panel, sorted({m.epsilon for m in curves if m.epsilon is not None}), settings)
        if measure == "accuracy":
            # An interval of two fits may be wider than all that an accuracy can be.
            low, high = axis.get_ylim()
            axis.set_ylim(max(low, 0.0), min(high, 100.0))
        elif measure == "seconds":
            axis.set_yscale("log")
            axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.yaxis.set_major_formatter("{x:g}")
            axis.yaxis.set_minor_locator(NullLocator())
    for axis in list(axes)[len(panels) :]:
        axis.set_axis_off()
    figure.supylabel(MEASURES[measure])
    caption = textwrap.fill(f"{INTERVAL}; {_NOT_PRIVATE}", int(_PER_INCH * size[0]))
    figure.supxlabel(f"{caption}\n{loss_in_words(settings)}, {settings['relation']}", fontsize=7.5)
    _add_legend(figure)
    return figure


def _styles(curves: Sequence[Mean], line: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return for each line which attribute tells it and how it is drawn."""
    names = dict.fromkeys(getattr(mean, line) for mean in curves)
    unsound = {mean.algorithm for mean in curves if mean.unsound and line == "algorithm"}
    return {
        name: (
            line,
            {
                "color": _COLOURS[i % len(_COLOURS)],
                "marker": _MARKERS[i % len(_MARKERS)],
                "ls": "--" if name.endswith(f":{AS_PUBLISHED}") or name in unsound else "-",
                "label": shown_name(name, unsound=name in unsound),
            },
        )
        for i, name in enumerate(names)
    }


def _draw_curves(
    axis: Any, means: Sequence[Mean], styles: Mapping[str, tuple[str, dict[str, Any]]]
) -> None:
    for name, (line, drawn) in styles.items():
        points = sorted(
            (mean.epsilon, mean.mean, mean.half_width or 0.0)
            for mean in means
            if getattr(mean, line) == name
        )
        if points:
            epsilons, centres, widths = np.array(points).T
            axis.plot(epsilons, centres, ms=6, mew=0, lw=1.5, zorder=3, **drawn)
            # One broken line for all intervals of a curve, which is one element of an SVG.
            gaps = np.full_like(centres, np.nan)
            ends = np.column_stack([centres - widths, centres + widths, gaps]).ravel()
            bars = {"color": drawn["color"], "lw": 1.5, "solid_capstyle": "butt", "zorder": 3}
            axis.plot(np.repeat(epsilons, 3), ends, **bars)


def _draw_references(axis: Any, means: Sequence[Mean], measure: str) -> None:
    for mean in means:
        # To find the commoner class takes no time worth a line.
        if mean.algorithm in REFERENCES and (measure, mean.algorithm) != ("seconds", "majority"):
            drawn = _REFERENCE_LINES[mean.algorithm]
            axis.axhline(mean.mean, zorder=1, label=shown_name(mean.algorithm), **drawn)


def _label(axis: Any, panel: str, epsilons: list[float], settings: Mapping[str, Any]) -> None:
    axis.set_xscale("log", base=2)
    axis.set_xticks(epsilons, [*map(exact, epsilons)])
    axis.minorticks_off()
    axis.set_title(panel, fontsize=10)
    axis.set_xlabel(f"epsilon (delta = {exact(settings['delta'])})")
    axis.grid(axis="y", color="0.9", lw=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def _add_legend(figure: Any) -> None:
    """Name every line of any panel once, above the panels, the references last."""
    entries: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    references = [shown_name(name) for name in REFERENCES]
    labels = sorted(entries, key=lambda label: label in references)
    figure.legend(
        [entries[label] for label in labels],
        labels,
        loc="outside upper center",
        ncols=3,
        frameon=False,
        fontsize=9,
    )
