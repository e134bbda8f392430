"""Columns to feature rows by the schema alone: the same function when training and predicting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.data.blocks.coded import CodedLayout, CodedRows
from dpcore.data.cells.features import crossed_codes, features_of
from dpcore.exact.grid import FEATURE_BITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dpcore.data.cells.readings import Columns
    from dpcore.data.schema.crosses import Crossed
    from dpcore.data.schema.encoding import Part
    from dpcore.data.schema.plan import ColumnPlan
    from dpcore.data.schema.schema import Schema

__all__ = ["coded_layout", "encode", "on_grid"]


def encode(columns: Columns, schema: Schema) -> tuple[np.ndarray | CodedRows, np.ndarray | None]:
    """Return the feature rows and the labels of ``columns``.

    Returns
    -------
    X : of shape (n_rows, n_features), in [0, 1], truncated to the feature grid: coded rows if some
        features are held as codes, dense float32 in C order otherwise. The intercept, a column of
        ones, is the last. Columns that wait for bounds are numbers as they are, in float64
        (``dpcore.bounds.waiting``).
    y : float64 of shape (n_rows,), or None where the label was not asked for.
    """
    known = schema.encoded
    layout = _layout(known.parts, known.width + schema.intercept, schema.intercept)
    waiting = any(part.in_waiting for part in known.parts)
    form = np.float64 if waiting else np.float32
    numbers = np.ones((columns.n_rows, layout.numeric.size), dtype=form)
    codes = np.empty((columns.n_rows, layout.starts.size - 1), dtype=layout.code_type)
    at = coded = 0
    of_each = _features(columns.values, schema.plans, known.crossed)
    for part, found in zip(known.parts, of_each, strict=True):
        if part.is_code:
            codes[:, coded] = layout.starts[coded] + np.where(found >= 0, found, part.width)
            coded += 1
        else:
            held = found if part.in_waiting else on_grid(found)
            numbers[:, at : at + part.width] = held.reshape(-1, part.width)
            at += part.width
    y = columns.values.get(schema.label.name)
    return CodedRows(layout, numbers, codes) if codes.shape[1] else numbers, y


def _features(
    values: Mapping[str, np.ndarray], plans: Sequence[ColumnPlan], crosses: Sequence[Crossed]
) -> Iterator[np.ndarray]:
    """Yield what rows hold of each of a schema's parts, one column after the other."""
    for plan in plans:
        if plan.encoding is not None:
            yield from features_of(plan.encoding, values[plan.name])
    for cross in crosses:
        yield crossed_codes(cross, values)


def on_grid(unit: np.ndarray) -> np.ndarray:
    """Return numbers in [0, 1], truncated in float64: float32 would round to nearest, and up to 1
    at that."""
    np.ldexp(unit, FEATURE_BITS, out=unit)
    return np.asarray(np.ldexp(np.trunc(unit, out=unit), -FEATURE_BITS, out=unit))


def coded_layout(schema: Schema) -> CodedLayout:
    """Return the feature that each stored cell of a schema with named columns means."""
    return _layout(schema.parts, schema.n_features, schema.intercept)


def _layout(parts: Sequence[Part], n_features: int, intercept: bool) -> CodedLayout:
    numeric: list[int] = []
    code_features: list[int] = []
    starts: list[int] = []
    at = 0
    for part in parts:
        features = range(at, at + part.width)
        if part.is_code:
            starts.append(len(code_features))
            code_features += [*features, n_features]
        else:
            numeric += features
        at += part.width
    if intercept:
        numeric.append(n_features - 1)
    return CodedLayout(
        n_features,
        np.array(numeric, dtype=np.int64),
        np.array(code_features, np.int64),
        np.array([*starts, len(code_features)], np.int64),
    )
