"""Columns to feature rows by the schema alone: the same function when training and predicting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.data.blocks.coded import CodedLayout, CodedRows
from dpcore.data.cells.features import crossed_codes, features_of
from dpcore.exact.grid import FEATURE_BITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcore.data.cells.conform import Columns
    from dpcore.data.schema.parts import Part
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
    layout = coded_layout(schema)
    waiting = any(part.in_waiting for part in schema.parts)
    form = np.float64 if waiting else np.float32
    numbers = np.ones((columns.n_rows, layout.numeric.size), dtype=form)
    codes = np.empty((columns.n_rows, layout.starts.size - 1), dtype=layout.code_type)
    at = coded = 0
    for part, values in _parts(columns, schema):
        width = part.width
        if part.is_code:
            start = layout.starts[coded]
            codes[:, coded] = start + np.where(values >= 0, values, width)
            coded += 1
        else:
            held = values if part.in_waiting else on_grid(values)
            numbers[:, at : at + width] = held.reshape(-1, width)
            at += width
    y = columns.values.get(schema.label.name)
    return CodedRows(layout, numbers, codes) if codes.shape[1] else numbers, y


def _parts(columns: Columns, schema: Schema) -> Iterator[tuple[Part, np.ndarray]]:
    """Yield the schema's ``parts`` with what rows hold of each, one column after the other."""
    parts = iter(schema.parts)
    for column in schema.features:
        for features in features_of(column, columns.values[column.name]):
            yield next(parts), features
    for cross, part in zip(schema.crossed, parts, strict=True):
        yield part, crossed_codes(cross, columns.values)


def on_grid(unit: np.ndarray) -> np.ndarray:
    """Return numbers in [0, 1], truncated in float64: float32 would round to nearest, and up to 1
    at that."""
    np.ldexp(unit, FEATURE_BITS, out=unit)
    return np.asarray(np.ldexp(np.trunc(unit, out=unit), -FEATURE_BITS, out=unit))


def coded_layout(schema: Schema) -> CodedLayout:
    """Return the feature that each stored cell of a schema with named columns means."""
    numeric: list[int] = []
    code_features: list[int] = []
    starts: list[int] = []
    at = 0
    for part in schema.parts:
        features = range(at, at + part.width)
        if part.is_code:
            starts.append(len(code_features))
            code_features += [*features, schema.n_features]
        else:
            numeric += features
        at += part.width
    if schema.intercept:
        numeric.append(schema.n_features - 1)
    return CodedLayout(
        schema.n_features,
        np.array(numeric, dtype=np.int64),
        np.array(code_features, np.int64),
        np.array([*starts, len(code_features)], np.int64),
    )
