"""A model as a picture: what each of its columns adds to a row's margin, in the column's unit."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin.parts import visible, write_whole
from dpcore_lab.compare.figure import WRITERS, check_figure
from dpcore_lab.compare.styles import curve_style
from dpcore_lab.compare.svg import STYLE
from dpcore_report.pictures.contributions import contributions_of

if TYPE_CHECKING:
    from dpcore import Model
    from dpcore_report.pictures.contributions import Contribution

__all__ = ["write_contributions"]

_MOST_LEVELS = 24
_PANEL, _MOST_ACROSS = (2.9, 2.3), 4
_STATEMENT = "dpcore: coefficients of one released model"


def write_contributions(path: str | os.PathLike[str], model: Model) -> None:
    """Draw a panel for each column, curves for numbers and bars for levels, and write it as SVG,
    PNG or PDF. Raises as ``contributions_of`` and ``check_figure``."""
    check_figure(path)
    from matplotlib import style

    found = list(contributions_of(model))
    with style.context(["default", {**STYLE, "font.size": 8, "pdf.fonttype": 42}]):
        write_whole(path, WRITERS[Path(path).suffix.lower()](_drawn(found, model), _STATEMENT))


def _drawn(found: list[Contribution], model: Model) -> Any:
    from matplotlib.figure import Figure

    across = min(_MOST_ACROSS, max(1, len(found)))
    down = max(1, math.ceil(len(found) / across))
    size = across * _PANEL[0], down * _PANEL[1] + 0.4
    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(down, across, squeeze=False).flat)
    names = model.classes if len(np.atleast_2d(model.w)) > 1 else None
    for axis, of in zip(axes, found, strict=False):
        draw = _bars if isinstance(of.cells, tuple) else _curves
        draw(axis, of, names)
        axis.axhline(0.0, color="#999999", lw=0.6, zorder=0)
        axis.set_title(visible(of.column), fontsize=8)
    for axis in axes[len(found) :]:
        axis.set_axis_off()
    if names is not None:
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(5, len(labels)))
    figure.supylabel(_added_in_words(model))
    if model.privacy["private"]:
        told = "with the noise of a private release: where rows are few, little else"
        shaded = any(of.reach is not None for of in found)
        figure.supxlabel(f"{told}; orange: 95 % interval of the estimate" if shaded else told)
    return figure


def _added_in_words(model: Model) -> str:
    if model.schema.label.is_real:
        return "added to the logarithm" if model.log_link else "added to the prediction"
    several = np.ndim(model.w) > 1
    of = "each class" if several else visible(str((model.classes or ("", "the class"))[1]))
    return f"added to the margin of {of}"


def _curves(axis: Any, of: Contribution, names: tuple[Any, ...] | None) -> None:
    for place, added in enumerate(of.added):
        drawn = {**curve_style(place), "marker": ""}
        axis.plot(of.cells, added, **drawn, label=None if names is None else str(names[place]))
    if of.middle is not None and of.reach is not None:
        ends = of.middle - of.reach, of.middle + of.reach
        axis.fill_between(of.cells, *ends, color=curve_style(1)["color"], alpha=0.25, lw=0)


def _bars(axis: Any, of: Contribution, names: tuple[Any, ...] | None) -> None:
    """Draw the levels; of many those that add most, in their order."""
    size = np.abs(of.added).max(axis=0)
    kept = np.sort(np.argsort(-size, kind="stable")[:_MOST_LEVELS])
    width = 0.8 / len(of.added)
    for place, added in enumerate(of.added):
        label = None if names is None else str(names[place])
        aside = np.arange(kept.size) + (place - (len(of.added) - 1) / 2) * width
        axis.bar(aside, added[kept], width, color=curve_style(place)["color"], label=label)
    if of.middle is not None and of.reach is not None:
        how = {"fmt": "none", "ecolor": curve_style(1)["color"], "lw": 1.2}
        axis.errorbar(np.arange(kept.size), of.middle[kept], yerr=of.reach[kept], **how)
    shown = [visible(of.cells[k])[:14] for k in kept]
    axis.set_xticks(np.arange(kept.size), shown, rotation=90, fontsize=5.5)
