"""The pictures of a model: its coefficients, and what each of its columns adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from dpcore_report.coefficients import summary_of
from dpcore_report.intervals.estimate import estimate_of
from dpcore_report.pictures.contributions import contributions_of
from dpcore_report.pictures.held_out import held_out_picture
from dpcore_report.pictures.panel import Mark, Panel, Picture, Series

if TYPE_CHECKING:
    from dpcore.plugin.parts import Model
    from dpcore_report.coefficients import Coefficient
    from dpcore_report.pictures.contributions import Contribution

__all__ = ["PICTURES", "pictures_of"]

_MOST_ROWS = 24
_MOST_COLUMNS = 60
_NOISE = "Coefficients contain the noise of a private release: where rows are few, little else."
_BAND = (
    "Band or line: the 95 % interval of the estimate at the population's minimum, for noise and "
    "the rows as a sample."
)
_NO_BAND = (
    "The width of the noise is not drawn, since the model has no intervals: how far noise moves a "
    "coefficient depends on the rows, and only a release for intervals measures it."
)


def _told(model: Model) -> str:
    width = _NO_BAND if estimate_of(model.intervals) is None else _BAND
    return f"{_NOISE} {width}" if model.privacy["private"] else width


def coefficients_picture(model: Model) -> Picture:
    """Return the largest coefficients of each class, with their intervals."""
    found = [each for each in summary_of(model).coefficients if each.unit]
    panels = []
    for name in dict.fromkeys(each.of_class for each in found):
        of = [each for each in found if each.of_class == name]
        largest = sorted(of, key=lambda each: -abs(_comparable(each)[0]))[:_MOST_ROWS]
        more = len(of) - len(largest)
        title = "Coefficients" if name is None else f"Coefficients of {name}"
        panels.append(
            Panel(
                f"{title}, the largest {len(largest)} of {len(of):,}" if more > 0 else title,
                tuple(f"{each.column} {each.level}".strip() for each in largest),
                _series([_comparable(each) for each in largest]),
                of_values=_adds(model),
            )
        )
    told = (
        "A coefficient of a number is per standard deviation of a uniform distribution over its "
        "public range, of a level where it holds, of a curve what its hat at a knot adds there."
    )
    return Picture("Coefficients", tuple(panels), f"{told} {_told(model)}")


def _comparable(found: Coefficient) -> tuple[float, float | None, float | None, float | None]:
    """Return a coefficient, its estimate and the ends of its interval, of a number all per
    deviation. A coefficient of exactly 0 does not tell that factor, and has no interval."""
    per_unit, value = found.per_unit, found.per_deviation
    value = per_unit if value is None else value
    if found.estimate is None or found.low is None or found.high is None or per_unit == 0.0:
        return value, None, None, None
    times = value / per_unit
    return value, times * found.estimate, times * found.low, times * found.high


def _series(
    found: list[tuple[float, float | None, float | None, float | None]],
) -> tuple[Series, ...]:
    values, estimates, lows, highs = zip(*found, strict=True)
    own = Series("model", values, mark="bars")
    if all(each is None for each in estimates):
        return (own,)
    return own, Series("estimate, 95 %", estimates, lows, highs, mark="dots")


def _adds(model: Model) -> str:
    """Return to what a column adds, as the name of an axis."""
    if model.schema.label.is_real:
        return "added to the logarithm" if model.log_link else "added to the prediction"
    if np.ndim(model.w) > 1:
        return "added to the margin of each class"
    kind = "log odds" if model.has_log_odds else "margin"
    return f"added to the {kind} of {(model.classes or ('', 'the class'))[1]}"


def columns_picture(model: Model) -> Picture | None:
    """Return what each named column adds; ``None`` for a model of unnamed features."""
    if model.schema.width is not None:
        return None
    names = tuple(map(str, model.classes or ())) if np.ndim(model.w) > 1 else ("",)
    adds, found = _adds(model), list(contributions_of(model))
    size = np.array([np.ptp(of.added, axis=1).max(initial=0.0) for of in found])
    kept = np.sort(np.argsort(-size, kind="stable")[:_MOST_COLUMNS])
    panels = tuple(_panel(found[k], names, adds) for k in kept)
    more = len(found) - len(kept)
    shown = f"Of {len(found):,} columns those {len(kept)} that add most. " if more else ""
    return Picture("What each column adds", panels, shown + _told(model))


def _panel(of: Contribution, names: tuple[str, ...], adds: str) -> Panel:
    empty = ""
    if of.empty is not None:
        empty = f" (an empty cell: {', '.join(f'{each:+.3g}' for each in of.empty)})"
    is_levels = isinstance(of.cells, tuple)
    kept = _most(of) if is_levels else np.arange(len(of.cells))
    series = [
        Series(name, tuple(added[kept].tolist()), mark="bars" if is_levels else "line")
        for name, added in zip(names, of.added, strict=True)
    ]
    if of.middle is not None and of.reach is not None:
        middle, reach = of.middle[kept], of.reach[kept]
        ends = tuple((middle - reach).tolist()), tuple((middle + reach).tolist())
        mark: Mark = "dots" if is_levels else "line"
        series.append(Series("estimate, 95 %", tuple(middle.tolist()), *ends, mark=mark))
    more = len(of.cells) - len(kept)
    shown = f", {len(kept)} of {len(of.cells):,} levels" if more else ""
    places: tuple[float, ...] | tuple[str, ...]
    if isinstance(of.cells, tuple):
        places = tuple(_level(of, int(k)) for k in kept)
    else:
        places = tuple(of.cells.tolist())
    title = f"{of.column}{shown}{empty}"
    return Panel(title, places, tuple(series), of.column, adds, is_date=of.is_date)


def _most(of: Contribution) -> np.ndarray:
    """Return the places of the levels that add most, in their order."""
    size = np.abs(of.added).max(axis=0)
    return np.sort(np.argsort(-size, kind="stable")[:_MOST_ROWS])


def _level(of: Contribution, place: int) -> str:
    level = str(of.cells[place])
    return "(empty)" if level == f"{of.column} is empty" else level


PICTURES: Mapping[str, Callable[[Model], Picture | None]] = {
    "coefficients": coefficients_picture,
    "columns": columns_picture,
    "held-out": held_out_picture,
}
"""The pictures of a model, by the names that the command line has for them."""


def pictures_of(model: Model) -> Iterator[Picture]:
    """Yield the pictures that a model has: made of what its file holds, and nothing else."""
    for draw in PICTURES.values():
        if (picture := draw(model)) is not None:
            yield picture
