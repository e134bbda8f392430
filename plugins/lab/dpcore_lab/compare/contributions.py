"""A model as a picture: what each of its columns adds to a row's margin, in the column's unit."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.columns import OneHot
from dpcore.plugin.parts import visible, write_whole
from dpcore_lab.compare.figure import WRITERS, check_figure
from dpcore_lab.compare.styles import curve_style
from dpcore_lab.compare.svg import STYLE
from dpcore_tables.cells.features import features_of

if TYPE_CHECKING:
    from dpcore import Model
    from dpcore.plugin.columns import FeatureColumn

__all__ = ["Contribution", "contributions_of", "write_contributions"]

_POINTS = 106
"""Cells of a number at which it is drawn: every knot of eight is one of them."""
_MOST_LEVELS = 24
_PANEL, _MOST_ACROSS = (2.9, 2.3), 4
_STATEMENT = "dpcore: coefficients of one released model"


@dataclass(frozen=True, eq=False)
class Contribution:
    """The contribution of a column.

    Parameters
    ----------
    cells : of a number, in its own unit, ascending, of a date in days since 1970-01-01; of a column
        of levels their names.
    added : to the margin, or, of a number to predict, in the unit of the target: float64 of shape
        (n_classes, n_cells), of two classes and of a number of one row.
    """

    column: str
    cells: np.ndarray | tuple[str, ...]
    added: np.ndarray


def contributions_of(model: Model) -> Iterator[Contribution]:
    """Yield the contribution of each column, in their order, and after a date's those of its
    parts, such as ``joined.weekday``.

    Raises InvalidInputError for a model of unnamed features. Nothing is private here: coefficients
    were released, and cells are those of the public schema.
    """
    schema = model.schema
    if schema.width is not None:
        raise InvalidInputError("A picture of contributions is of a model with named columns.")
    is_number = schema.label.is_real and not model.log_link
    w = np.atleast_2d(model.w) * (schema.label.scale[1] if is_number else 1.0)
    at = 0
    for column in schema.features:
        width = len(column.feature_names)
        yield from _of_column(column, w[:, at : at + width])
        at += width


def _of_column(column: FeatureColumn, w: np.ndarray) -> Iterator[Contribution]:
    """Yield what a column adds: as a number or by level, and as a date by each part of it too."""
    encoding, at = column.encoding, 0
    if encoding.bounds is None or isinstance(encoding.chains[0][-1], OneHot):
        names = tuple(name.removeprefix(f"{column.name}=") for name in column.feature_names)
        yield Contribution(column.name, names, w)
        return
    cells = np.linspace(*encoding.bounds, _POINTS)
    added, by_part = np.zeros((len(w), _POINTS)), []
    for part, found in zip(encoding.parts, features_of(encoding, cells), strict=True):
        own, names = w[:, at : at + part.width], column.feature_names[at : at + part.width]
        at += part.width
        if part.is_code:
            of, _, _ = names[0].partition("=")
            levels = tuple(name.removeprefix(f"{of}=") for name in names)
            by_part.append(Contribution(of, levels, own))
        else:
            added = added + own @ found.reshape(_POINTS, -1).T
    yield Contribution(column.name, cells, added)
    yield from by_part


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
        figure.supxlabel("with the noise of a private release: where rows are few, little else")
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


def _bars(axis: Any, of: Contribution, names: tuple[Any, ...] | None) -> None:
    """Draw the levels; of many those that add most, in their order."""
    size = np.abs(of.added).max(axis=0)
    kept = np.sort(np.argsort(-size, kind="stable")[:_MOST_LEVELS])
    width = 0.8 / len(of.added)
    for place, added in enumerate(of.added):
        label = None if names is None else str(names[place])
        aside = np.arange(kept.size) + (place - (len(of.added) - 1) / 2) * width
        axis.bar(aside, added[kept], width, color=curve_style(place)["color"], label=label)
    shown = [visible(of.cells[k])[:14] for k in kept]
    axis.set_xticks(np.arange(kept.size), shown, rotation=90, fontsize=5.5)
