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

from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import OutFile, exact
from dpcore_lab.compare.axis_range import FLOOR, draw_levels, levels_of, range_of, set_range
from dpcore_lab.compare.settings import (
    AS_PUBLISHED,
    REFERENCES,
    STATEMENT,
    loss_in_words,
    shown_name,
)
from dpcore_lab.compare.styles import curve_style
from dpcore_lab.compare.svg import STYLE, svg_of
from dpcore_lab.compare.table import INTERVAL, MEASURES, RISING, Mean

__all__ = ["FACETS", "FORMS", "WRITERS", "check_facet", "check_figure", "draw", "write_figure"]

FACETS = ("data", "algorithm")
FORMS = ".svg, .png or .pdf"

_STYLE = {**STYLE, "font.size": 9.5, "pdf.fonttype": 42, "text.parse_math": False}
"""Type 42 keeps the text of a PDF as text, which can be searched and copied. In names, such as
those of files, no dollar begins a formula."""
_PANEL = (4.6, 3.7)
"""Width and height of a panel in inches."""
_LEGEND_COLUMNS, _LEGEND_LINE = 3, 0.2
"""Of names, where so many are not too wide; inches of a line."""
_PER_INCH = 18
"""Letters of the caption."""
_SPREAD = 0.4
"""Of the way to the next epsilon: how far the points of one may be apart."""
_FOLDED = "grey: values far from most, on a smaller scale"
_NOT_PRIVATE = "computed WITHOUT privacy"
"""The statement in the picture's metadata, in short."""


def check_facet(facet: str) -> None:
    """Raise InvalidInputError for a facet that is none."""
    if facet not in FACETS:
        raise InvalidInputError(f"Expected facet={facet!r} to be {' or '.join(FACETS)}.")


def check_figure(path: str | os.PathLike[str], facet: str = "data") -> None:
    """Raise InvalidInputError for a facet that is none, for a picture of another form than
    ``FORMS`` or that cannot be written, and where matplotlib is not installed."""
    check_facet(facet)
    if Path(path).suffix.lower() not in WRITERS:
        raise InvalidInputError(f"Expected the figure {os.fspath(path)!r} as {FORMS}.")
    if importlib.util.find_spec("matplotlib") is None:
        raise InvalidInputError(
            "A figure needs matplotlib, which is not installed: pip install 'dpcore[plot]'."
        )
    OutFile(path).check()


def write_figure(
    path: str | os.PathLike[str],
    means: Sequence[Mean],
    settings: Mapping[str, Any],
    measure: str,
    facet: str = "data",
    remarks: Mapping[str, str] | None = None,
    note: str = "",
    looks: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Draw the means of a measure and write them as SVG, PNG or PDF, the same bytes every time;
    as the results are, for their owner only.

    ``remarks`` : words on a data set, beside its name. ``note`` : a sentence below the picture.
    ``looks`` : styles of lines by name (`curve_style`); others have that of their turn.
    """
    check_figure(path, facet)
    from matplotlib import style

    with style.context(["default", _STYLE]):
        figure = draw(means, settings, measure, facet, remarks, note, looks)
        content = WRITERS[Path(path).suffix.lower()](figure, STATEMENT)
        OutFile(path).write(content, mode=0o600)


def _png_of(figure: Any, description: str) -> bytes:
    metadata = {"Software": None, "Description": description}
    return _saved(figure, format="png", dpi=150, metadata=metadata)


def _pdf_of(figure: Any, description: str) -> bytes:
    unsaid = dict.fromkeys(("Creator", "Producer", "CreationDate"))
    return _saved(figure, format="pdf", metadata={**unsaid, "Subject": description})


def _saved(figure: Any, **how: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, facecolor="white", **how)
    return buffer.getvalue()


WRITERS = {".svg": svg_of, ".png": _png_of, ".pdf": _pdf_of}


def draw(
    means: Sequence[Mean],
    settings: Mapping[str, Any],
    measure: str,
    facet: str = "data",
    remarks: Mapping[str, str] | None = None,
    note: str = "",
    looks: Mapping[str, Mapping[str, Any]] | None = None,
) -> Any:
    """Return the matplotlib Figure: panels by ``facet``, in each a line for every value of the
    other of data and algorithm."""
    from matplotlib.figure import Figure

    known = [mean for mean in means if mean.mean is not None]
    curves = [mean for mean in known if mean.algorithm not in REFERENCES]
    panels = list(dict.fromkeys(getattr(mean, facet) for mean in curves))
    if not panels:
        raise InvalidInputError(f"No algorithm has a value of {measure}.")
    (rows, columns), size = _laid_out(len(panels))
    figure = Figure(figsize=size, layout="constrained")
    # Data sets have ranges of their own; algorithms are to be read against each other.
    shared = facet == "algorithm"
    axes = figure.subplots(rows, columns, squeeze=False, sharey=shared).flat
    styles = _styles(curves, "data" if shared else "algorithm", looks or {})
    folded = False
    for axis, panel in zip(axes, panels, strict=False):
        of_panel = [mean for mean in curves if getattr(mean, facet) == panel]
        # Where axes are shared, they are the same for all.
        alike = curves if shared else of_panel
        levels = [] if shared else levels_of(known, panel, settings, measure)
        _draw_curves(axis, of_panel, styles)
        _scale(axis, measure)
        folded |= set_range(axis, alike, range_of(alike, levels, measure), measure)
        draw_levels(axis, levels, upwards=measure in RISING)
        said = {mean.guarantee for mean in of_panel} if shared else set()
        title = shown_name(panel, guarantee=said.pop()) if any(said) else panel
        _label(axis, _titled(panel, remarks, title), alike, settings)
    for axis in list(axes)[len(panels) :]:
        axis.set_axis_off()
    figure.supylabel(MEASURES[measure])
    notes = [_FOLDED, note] if folded else [note]
    figure.supxlabel(_caption(settings, notes, int(_PER_INCH * size[0])), fontsize=7.5)
    _add_legend(figure)
    return figure


def _caption(settings: Mapping[str, Any], notes: Sequence[str], letters: int) -> str:
    """Return how to read the points, the notes, and loss, regulariser if any, and relation."""
    intervals = f"{INTERVAL}; points of one epsilon are side by side; {_NOT_PRIVATE}"
    l2 = settings.get("l2")
    weight = f", l2 = {exact(l2)}" if l2 else ""
    compared = f"{loss_in_words(settings)}{weight}, {settings['relation']}"
    lines = [intervals, *filter(None, notes), compared]
    return "\n".join(textwrap.fill(line, letters) for line in lines)


def _styles(
    curves: Sequence[Mean], line: str, looks: Mapping[str, Mapping[str, Any]]
) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return for each line which attribute tells it and how it is drawn."""
    names = dict.fromkeys(getattr(mean, line) for mean in curves)
    unsound = {mean.algorithm for mean in curves if mean.unsound and line == "algorithm"}
    unsound |= {name for name in names if name.endswith(f":{AS_PUBLISHED}")}
    said = {mean.algorithm: mean.guarantee for mean in curves} if line == "algorithm" else {}
    return {
        name: (
            line,
            {
                **curve_style(place, private=name not in unsound),
                **looks.get(name, {}),
                "label": shown_name(name, unsound=name in unsound, guarantee=said.get(name)),
            },
        )
        for place, name in enumerate(names)
    }


def _draw_curves(
    axis: Any, means: Sequence[Mean], styles: Mapping[str, tuple[str, dict[str, Any]]]
) -> None:
    """Draw each curve with its intervals, those of one epsilon side by side."""
    octaves = np.log2(sorted({mean.epsilon for mean in means if mean.epsilon is not None}))
    spread = _SPREAD * min(1.0, float(np.diff(octaves).min(initial=1.0)))
    aside = np.exp2(spread * np.linspace(-0.5, 0.5, len(styles))) if len(styles) > 1 else [1.0]
    for (name, (line, drawn)), factor in zip(styles.items(), aside, strict=True):
        points = sorted(
            (mean.epsilon, mean.mean, mean.half_width or 0.0)
            for mean in means
            if getattr(mean, line) == name
        )
        if points:
            epsilons, centres, widths = np.array(points).T
            epsilons = epsilons * factor
            axis.plot(epsilons, centres, zorder=3, **drawn)
            # One broken line for all intervals of a curve, which is one element of an SVG.
            gaps = np.full_like(centres, np.nan)
            ends = np.column_stack([centres - widths, centres + widths, gaps]).ravel()
            bars = {"color": drawn["color"], "lw": 1.0, "solid_capstyle": "butt", "zorder": 3}
            axis.plot(np.repeat(epsilons, 3), ends, **bars)


def _scale(axis: Any, measure: str) -> None:
    """Give an axis of seconds a scale of ratios."""
    from matplotlib.ticker import LogLocator, NullLocator

    if measure == "seconds":
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_locator(NullLocator())


def _laid_out(n_panels: int) -> tuple[tuple[int, int], tuple[float, float]]:
    """Return rows and columns of so many panels, and the figure's width and height in inches."""
    columns = min(3, n_panels)
    rows = -(-n_panels // columns)
    width, height = _PANEL
    return (rows, columns), (max(width * columns, 6.0), height * rows + 0.6)


def _titled(panel: str, remarks: Mapping[str, str] | None, title: str) -> str:
    remark = (remarks or {}).get(panel)
    return f"{title} ({remark})" if remark else title


def _label(axis: Any, title: str, means: Sequence[Mean], settings: Mapping[str, Any]) -> None:
    epsilons = sorted({mean.epsilon for mean in means if mean.epsilon is not None})
    axis.set_xscale("log", base=2)
    axis.set_xticks(epsilons, [*map(exact, epsilons)])
    axis.minorticks_off()
    axis.set_title(title, fontsize=10)
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
    levels = [*(shown_name(name) for name in REFERENCES), FLOOR]
    labels = sorted(entries, key=lambda label: label in levels)
    handles = [entries[label] for label in labels]
    for columns in range(_LEGEND_COLUMNS, 0, -1):
        legend = figure.legend(
            handles,
            labels,
            loc="outside upper center",
            ncols=columns,
            frameon=False,
            fontsize=8.5,
            handlelength=3.2,
        )
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            break
        legend.remove()
    more = -(-len(labels) // columns) - -(-len(labels) // _LEGEND_COLUMNS)
    figure.set_figheight(figure.get_figheight() + _LEGEND_LINE * more)
