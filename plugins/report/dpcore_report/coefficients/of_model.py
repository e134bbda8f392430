"""A model's coefficients in the units of its columns, one for each feature.

A margin is the sum of coefficients times encoded features, and an encoded number is
(value - lower) / (upper - lower). So a coefficient over the public range is what one unit of the
column adds to the margin. A *standard deviation of the public range* is that of the uniform
distribution over the bounds, (upper - lower) / sqrt(12): a public fact, where that of the rows
would be private. Dividing by sqrt(12) makes coefficients of different columns comparable.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin.columns import FeatureColumn, transforms
from dpcore.plugin.parts import exact
from dpcore_report.coefficients.summary import Coefficient, Summary, told_of
from dpcore_report.curves.of_columns import curves_of
from dpcore_report.intervals.estimate import NORMAL_975, estimate_of
from dpcore_report.intervals.text import notes_on_intervals

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcore import Schema
    from dpcore.plugin.parts import Model

__all__ = ["summary_of"]

_DEVIATIONS = math.sqrt(12.0)
"""Standard deviations in the width of a uniform distribution."""
_LONG = r"\d+\.\d{6,}"
"""Knots between bounds, as floats print them."""
_UNITS = {transforms.Day: "day", transforms.Lookup: "level"}
"""The unit of a plain number, where it is not 1, by how a cell is read."""


def summary_of(model: Model) -> Summary:
    """Return the coefficients of a model in the units of its columns, and notes on them."""
    found, notes, curves = _coefficients(model), _notes(model), tuple(curves_of(model))
    estimate = estimate_of(model.intervals)
    if estimate is None:
        return Summary(tuple(found), (*_note_on_zeros(found), *notes), curves)
    places = [replace(model, w=w) for w in (estimate.values, *estimate.bounds())]
    values, lows, highs = (_coefficients(each) for each in places)
    shown = tuple(
        replace(
            each,
            estimate=value.per_unit,
            error=(high.per_unit - low.per_unit) / (2.0 * NORMAL_975),
            low=low.per_unit,
            high=high.per_unit,
        )
        for each, value, low, high in zip(found, values, lows, highs, strict=True)
    )
    return Summary(shown, (*notes, *_note_on_those_outside(shown)), curves)


def _note_on_zeros(coefficients: Sequence[Coefficient]) -> tuple[str, ...]:
    n, left_out = len(coefficients), len(coefficients) - len(told_of(coefficients))
    note = f"{left_out:,} of {n:,} coefficients are zero; the table leaves them out."
    return (note,) if left_out else ()


def _note_on_those_outside(coefficients: Sequence[Coefficient]) -> tuple[str, ...]:
    """Return a sentence where coefficients lie outside their own intervals: both are released."""
    outside = sum(
        each.low is not None
        and each.high is not None
        and not each.low <= each.per_unit <= each.high
        for each in coefficients
    )
    if not outside:
        return ()
    return (
        f"{outside} of {len(coefficients)} coefficients of the model lie outside the interval "
        "beside them: noise moves them, and the clip of gradients where the fit has one. The "
        "interval belongs to the estimate, from which the last Newton step took both as far as its "
        "sums tell. Read the effect of a column from its estimate; predictions are made with the "
        "model's coefficients.",
    )


def _coefficients(model: Model) -> list[Coefficient]:
    """Return the coefficients of a model. Each grows with its own parameter, by a public factor."""
    half = model.schema.label.scale[1] if _is_in_unit(model) else 1.0
    names = (None,) if model.w.ndim == 1 else model.classes or ()
    found = []
    for name, w in zip(names, half * np.atleast_2d(model.coef), strict=True):
        found += [
            _coefficient(name, *feature, float(weight))
            for feature, weight in zip(_features(model.schema), w, strict=True)
        ]
    if model.schema.intercept:
        intercepts = np.atleast_1d(np.asarray(model.intercept_, float))
        found += [
            Coefficient(name, "intercept", "", "", float(value), None)
            for name, value in zip(names, intercepts, strict=True)
        ]
    return found


def _is_in_unit(model: Model) -> bool:
    """Return whether what a column adds is in the unit of the target."""
    return model.schema.label.is_real and not model.log_link


def _coefficient(
    of_class: Any, column: str, level: str, unit: str, width: float | None, weight: float
) -> Coefficient:
    if width is None:
        return Coefficient(of_class, column, level, unit, weight, None)
    return Coefficient(of_class, column, level, unit, weight / width, weight / _DEVIATIONS)


def _features(schema: Schema) -> Iterator[tuple[str, str, str, float | None]]:
    """Yield column, level, unit and width of the public range of each feature, in order."""
    if schema.width is not None:
        for name in schema.feature_names[: schema.width]:
            yield name, "", "1", None
        return
    for column in schema.features:
        unit, width = _range(column)
        for name in column.feature_names:
            level = _level(name, column.name, doublings=unit == "doubling")
            if level:
                yield column.name, level, "if so", None
            else:
                yield column.name, "", unit, width
    for cross in schema.encoded.crossed:
        joined = "*".join(column.name for column in cross.columns)
        for name in cross.feature_names:
            yield joined, _level(name, joined), "if so", None


def _range(column: FeatureColumn) -> tuple[str, float | None]:
    """Return the unit of a column whose feature is one number, and how many of it its bounds are
    apart."""
    encoding = column.encoding
    if encoding.bounds is None or isinstance(encoding.reading, transforms.Truth):
        return "if so", None
    lower, upper = encoding.bounds
    if any(isinstance(transform, transforms.Log) for transform in encoding.chains[0]):
        return "doubling", math.log2(upper) - math.log2(lower)
    return _UNITS.get(type(encoding.reading), "1"), upper - lower


def _level(name: str, column: str, *, doublings: bool = False) -> str:
    """Return the level of a feature by its name: ``column=level``, ``column@knot``,
    ``column.month=May`` or ``column is empty``. Knots in ``doublings`` are given in the cells'
    own unit."""
    rest = name[len(column) :]
    if rest[:1] != "@":
        return rest[1:]
    if doublings:
        return f"at {2.0 ** float(rest[1:]):.6g}"
    return f"at {re.sub(_LONG, lambda found: f'{float(found[0]):.6g}', rest[1:])}"


def _notes(model: Model) -> tuple[str, ...]:
    label, schema = model.schema.label, model.schema
    margin = "the margin" if model.w.ndim == 1 else "the margin of the class"
    if model.log_link:
        margin = f"the natural logarithm of the mean of {label.name!r}"
    elif label.is_real:
        held = "before it is held to the label's bounds"
        margin = f"the prediction, in the unit of {label.name!r}, {held}"
    elif model.has_log_odds and model.classes is not None:
        margin = f"the log odds of {model.classes[1]!r}"
    notes = [f"A coefficient is what one unit more of the column adds to {margin}."]
    if model.log_link:
        notes.append("So e to its power is what one unit more multiplies the mean by.")
    if schema.width is None:
        notes.append(
            "Per deviation: for a change by the width of the public bounds over sqrt(12), the "
            "standard deviation of a uniform distribution. Numbers outside the bounds count as the "
            "nearer bound. The intercept is for a row whose numbers are at their lower bounds and "
            "whose levels are none of those listed."
        )
    if schema.width is not None or schema.row_norm < schema.raw_norm_bound:
        notes.append(
            f"This holds for a row that is no longer than {exact(model.row_norm)} as encoded, the "
            "intercept included; all of a longer one is scaled down to that length, and each "
            "of its features then counts for less."
        )
    if any(curves_of(model)):
        notes.append(
            "A column with a curve has a coefficient for its line and one at each knot, which "
            "counts in full there and for less beside it. The table of curves adds both up, at the "
            "lower bound too, which the intercept leaves out; between two knots it is a line."
        )
    notes.append("The coefficients contain the noise of the fit.")
    if "u_with_hats" in model.details and model.intervals is None and any(curves_of(model)):
        lines = "Numbers of that fit are straight lines."
        return (*notes, *(f"{said} {lines}" for said in notes_on_intervals(None)))
    return (*notes, *notes_on_intervals(model.intervals))
