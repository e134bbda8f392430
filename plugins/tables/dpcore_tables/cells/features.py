"""Plain numbers as feature rows, by the schema alone: the same function when training and
predicting.

Each result is a function of one number alone, and has the same bits wherever that is in an array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin.columns import transforms
from dpcore.plugin.parts import Table
from dpcore_tables.cells.weights import beside
from dpcore_tables.coded.rows import CodedLayout, CodedRows
from dpcore_tables.kinds.even_hats import EvenHats, even_hats, hats_behind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcore import Schema
    from dpcore.plugin.columns import ColumnPlan, Encoding, Part
    from dpcore_tables.cells.columns import Columns

__all__ = [
    "coded_layout",
    "encode",
    "features_of",
    "hats",
    "transformed",
]


def hats(values: np.ndarray, knots: tuple[float, ...]) -> np.ndarray:
    """Return the hat function of each knot at values clamped to the first and the last knot. The
    result is float64 of shape (n_values, n_knots), at most two neighbours not 0, t and 1 - t of a t
    in [0, 1]."""
    edges, rows = np.array(knots), np.arange(len(values))
    clamped = np.clip(values, edges[0], edges[-1])
    left = np.clip(np.searchsorted(edges, clamped, side="right") - 1, 0, len(edges) - 2)
    t = scale_to_unit_each(clamped, edges[left], edges[left + 1])
    out = np.zeros((len(values), len(edges)))
    out[rows, left] = 1.0 - t
    out[rows, left + 1] = t
    return out


def scale_to_unit_each(values: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip((values - lower) / (upper - lower), 0.0, 1.0))


def features_of(encoding: Encoding, values: np.ndarray) -> list[np.ndarray]:
    """Return what rows hold of each of an encoding's ``parts``, as new arrays. They are float64 in
    [0, 1] of shape (n_rows,) or (n_rows, n_features); or int codes of shape (n_rows,), -1 for no
    level; or, where bounds are still to be released, the values as they are.

    ``values`` : plain numbers, of ``dpcore_tables.cells.cell_values``. Where one is NaN, the
    cell is empty: it is the fill, or all features are 0 but for the indicator.
    """
    if encoding.is_code:
        return [values]
    empty = np.isnan(values)
    filled = np.where(empty, encoding.stand_in, values) if empty.any() else values
    features = [transformed(chain, filled) for chain in encoding.chains]
    last = encoding.chains[0][-1]
    if isinstance(last, transforms.Held):
        features[0] = values
    elif isinstance(last, transforms.OneHot) and encoding.indicator:
        features[0][empty] = last.width
    elif encoding.fill is None:
        features[0][empty] = -1 if isinstance(last, transforms.OneHot) else 0.0
    if encoding.fill is None:
        for chain, made in zip(encoding.chains[1:], features[1:], strict=True):
            made[empty] = -1 if isinstance(chain[-1], transforms.OneHot) else 0.0
    if encoding.indicator and not isinstance(last, transforms.OneHot):
        features.insert(1, empty.astype(np.float64))
    return features


def _crossed_codes(cross: Any, values: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return each row's combination of the levels of a cross's columns, -1 for none: int64."""
    levels = [_level(column.encoding, values[column.name]) for column in cross.columns]
    code, known = np.zeros_like(levels[0]), np.ones(len(levels[0]), dtype=bool)
    for level, n_levels in zip(levels, cross.levels, strict=True):
        known &= level >= 0
        code = code * n_levels + level
    return np.where(known, code, -1)


def _level(encoding: Encoding, values: np.ndarray) -> np.ndarray:
    """Return the level of each row, the last for an empty cell that has one, -1 for none."""
    if isinstance(encoding.chains[0][-1], transforms.OneHot):
        return features_of(encoding, values)[0].astype(np.int64)
    empty = np.isnan(values)
    level = np.where(empty, encoding.stand_in, values).astype(np.int64)
    if encoding.indicator:
        level[empty] = len(encoding.levels)
    return level


def transformed(chain: transforms.Chain, values: np.ndarray) -> np.ndarray:
    """Return what a chain makes of plain numbers."""
    for transform in chain:
        values = _TRANSFORMS[type(transform)](transform, values)
    return values


def _affine(to: transforms.Affine, values: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip((values - to.lower) / (to.upper - to.lower), 0.0, 1.0))


def _even_hats(to: EvenHats, values: np.ndarray) -> np.ndarray:
    lower, upper = to.knots[0], to.knots[-1]
    return even_hats(Table.on_grid(_affine(transforms.Affine(lower, upper), values)), to.width)


def _levels(to: transforms.OneHot, values: np.ndarray) -> np.ndarray:
    """Return whole numbers as levels, -1 for what is none of them."""
    return np.where((values >= 0) & (values < to.width), values, -1).astype(np.int64)


def _part_of_date(part: transforms.DatePart, days: np.ndarray) -> np.ndarray:
    """Return a part of each whole day since 1970-01-01, a Thursday."""
    whole = days.astype(np.int64)
    if part.key == "weekday":
        return (whole + 3) % 7
    dates = whole.view("datetime64[D]")
    if part.key == "month":
        return dates.astype("datetime64[M]").astype(np.int64) % 12
    years = dates.astype("datetime64[Y]").astype(np.int64) + 1970
    return np.clip(years, part.first, part.last) - part.first


_TRANSFORMS: Mapping[type, Callable[[Any, np.ndarray], np.ndarray]] = {
    transforms.Clip: lambda to, values: np.clip(values, to.lower, to.upper),
    transforms.Log: lambda to, values: transforms.Log.of(values),
    transforms.Bin: lambda to, values: np.searchsorted(to.edges, values, side="right"),
    transforms.DatePart: _part_of_date,
    transforms.Affine: _affine,
    transforms.Hat: lambda to, values: hats(values, to.knots),
    EvenHats: lambda to, values: _even_hats(to, values),
    transforms.OneHot: _levels,
    transforms.Held: lambda to, values: values,
}


def encode(columns: Columns, schema: Schema) -> tuple[np.ndarray | CodedRows, np.ndarray | None]:
    """Return the feature rows and the labels of ``columns``.

    Returns
    -------
    X : of shape (n_rows, n_features), in [0, 1], truncated to the feature grid: coded rows if some
        features are held as codes, dense float32 in C order otherwise. The intercept, a column of
        ones, is the last. Columns that wait for bounds are numbers as they are, in float64
        (``dpcore_tables.bounds.unbounded_rows``).
    y : float64 of shape (n_rows,), or None where the label was not asked for; with weights of rows,
        pairs of both (``dpcore_tables.cells.weights``).
    """
    known = schema.known or schema.encoded  # which says what is missing
    waiting = any(part.in_waiting for part in known.parts)
    form = np.float64 if waiting else np.float32
    layout = _layout(known, known.width + schema.intercept, schema.intercept)
    numbers = np.ones((columns.n_rows, layout.numeric.size), dtype=form)
    codes = np.empty((columns.n_rows, layout.starts.size - 1), dtype=layout.code_type)
    at = coded = 0
    for part, found in _features(columns.values, schema.plans, known.crossed):
        if part.is_code:
            codes[:, coded] = layout.starts[coded] + np.where(found >= 0, found, part.width)
            coded += 1
        else:
            held = found if part.in_waiting else Table.on_grid(found)
            numbers[:, at : at + part.width] = held.reshape(-1, part.width)
            at += part.width
    y = columns.values.get(schema.label.name)
    y = None if y is None else beside(y, columns.weights)
    is_coded = codes.shape[1] or len(layout.hats)
    return CodedRows(layout, numbers, codes) if is_coded else numbers, y


def _features(
    values: Mapping[str, np.ndarray], plans: Sequence[ColumnPlan], crosses: Sequence[Any]
) -> Iterator[tuple[Part, np.ndarray]]:
    """Yield each of a schema's parts that rows hold, with what they hold of it."""
    for plan in plans:
        if plan.encoding is not None:
            held = held_of(plan.encoding)
            yield from zip(held.parts, features_of(held, values[plan.name]), strict=True)
    for cross in crosses:
        yield cross.part, _crossed_codes(cross, values)


def held_of(encoding: Encoding) -> Encoding:
    """Return the encoding of what rows hold of a column: without hats that follow from it."""
    return replace(encoding, chains=encoding.chains[:-1]) if hats_behind(encoding) else encoding


def coded_layout(schema: Schema) -> CodedLayout:
    """Return the feature that each stored cell of a schema with named columns means."""
    return _layout(schema.known or schema.encoded, schema.n_features, schema.intercept)


def _layout(known: Any, n_features: int, intercept: bool) -> CodedLayout:
    numeric: list[int] = []
    code_features: list[int] = []
    starts: list[int] = []
    hats: list[tuple[int, int, int]] = []
    at = 0
    encodings = [column.encoding for column in known.columns]
    of_each = [(held_of(encoding).parts, hats_behind(encoding)) for encoding in encodings]
    for parts, behind in (*of_each, *(((cross.part,), 0) for cross in known.crossed)):
        if behind:
            hats.append((len(numeric), at + sum(part.width for part in parts), behind))
        for part in parts:
            features = range(at, at + part.width)
            if part.is_code:
                starts.append(len(code_features))
                code_features += [*features, n_features]
            else:
                numeric += features
            at += part.width
        at += behind
    if intercept:
        numeric.append(n_features - 1)
    return CodedLayout(
        n_features,
        np.array(numeric, dtype=np.int64),
        np.array(code_features, np.int64),
        np.array([*starts, len(code_features)], np.int64),
        np.array(hats, np.int64).reshape(-1, 3),
    )
