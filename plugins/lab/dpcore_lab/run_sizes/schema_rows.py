"""Rows that a schema allows, made from its public facts alone: no private row is read."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.plugin.columns import transforms
from dpcore.plugin.parts import Table
from dpcore_lab.made_tables.special_rows import SPECIAL_VALUES
from dpcore_lab.made_tables.tables import Rows
from dpcore_tables.cells.columns import Columns
from dpcore_tables.cells.features import encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore import Schema
    from dpcore.plugin.columns import Encoding

__all__ = ["rows_of_schema", "special_rows_of"]

_EVERY = 4
"""One row in four has each of its numbers at an end of its bounds."""
_SHORT, _LONG = slice(5, None, 4 * _EVERY), slice(9, None, 4 * _EVERY)
"""Rows whose numbers are all at their lower ends, without a level, and rows whose
numbers are all at their upper ends."""
_FAINT = slice(13, None, 4 * _EVERY)
"""Rows whose numbers are all a little above their lower ends, by the same share of their range, and
no level: they differ from the shortest in one weak direction."""
_SHARES = 2.0 ** -np.arange(2.0, 9.0)
_FEW = 16
"""Rows that take special values."""
_ANY = 100.0
"""Numbers whose kind of column states no bounds are up to this size."""
_SIZES = np.array([2.0**-12, 0.01, 0.1, 0.5, 0.9, 1.0, 1.0, 1.0])
"""Lengths of rows without named columns, in multiples of the row norm."""


def rows_of_schema(schema: Schema, n: int, seed: int = 0) -> Rows:
    """Return ``n`` rows that the schema allows, encoded as a run would have them, with labels of
    every class or real ones. Where the schema has units, there is a unit for every row or for as
    many as a unit may have.

    Some rows have all numbers at an end of their bounds, some no level of any column. Raises
    InvalidInputError while bounds of columns are still to be released.
    """
    if schema.unbounded:
        names = ", ".join(repr(column.name) for column in schema.unbounded)
        raise InvalidInputError(
            f"The bounds of {names} are private, and so are the sizes of a run's rows: give a "
            "schema with bounds of these columns."
        )
    rng = np.random.default_rng(seed)
    y = _labels(schema, n, rng)
    if schema.width is not None:
        X: Any = _unnamed(schema, n, rng)
    else:
        values = {p.name: _cells(p.encoding, n, rng) for p in schema.plans if p.encoding}
        X, _ = encode(Columns(values, n), schema)
    rows = Rows(
        X,
        y,
        row_norm=min(schema.row_norm, schema.raw_norm_bound),
        raw_norm_bound=schema.raw_norm_bound,
        n_classes=schema.label.n_classes,
        capacity=schema.capacity or Table.CAPACITY,
    )
    if schema.units is None:
        return rows
    return replace(rows, units=_units(n, schema.units.rows_per_unit))


def special_rows_of(rows: Rows, numbers: Sequence[int]) -> Rows:
    """Return some rows of a schema, and each of them with one of its ``numbers``, the places of
    features between 0 and 1, at each of the special values there."""
    few = rows.take(np.arange(min(_FEW, len(rows.y))))
    found = np.concatenate([block.rows() for block in few.table().blocks])
    values = SPECIAL_VALUES[SPECIAL_VALUES <= 1.0]
    changes = list(product(range(len(found)), numbers, values))
    places = np.array([place for place, _, _ in changes], dtype=np.int64)
    changed = found[places]
    for row, (_, at, value) in zip(changed, changes, strict=True):
        row[at] = value
    y = np.concatenate([few.y, few.y[places]])
    return replace(few, X=np.concatenate([found, changed]), y=y, units=None)


def _units(n: int, most: int) -> np.ndarray:
    """Return units of ``most`` rows and of one row in turn, those of each side by side."""
    sizes = np.resize([most, 1, max(1, most // 2)], n)
    return np.repeat(np.arange(n), sizes)[:n].astype(np.int64)


def _labels(schema: Schema, n: int, rng: np.random.Generator) -> np.ndarray:
    label = schema.label
    if not label.n_classes:
        y = rng.uniform(-1, 1, n)
        y[::7], y[1::7], y[2::7] = -1.0, 0.0, 1.0
        return y
    return np.asarray(label.labels_at(rng.integers(0, label.n_classes, n)), dtype=np.float64)


def _cells(encoding: Encoding, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return plain numbers as the encoding reads them: levels, or numbers within their bounds."""
    if encoding.is_code:
        levels = encoding.parts[0].width
        found = rng.integers(-1, levels, n)
        # A level in a thousand rows is as likely to matter as one in two.
        found[1::_EVERY] = rng.integers(0, min(levels, 2), found[1::_EVERY].size)
        found[3 :: 8 * _EVERY] = found[_SHORT] = found[_FAINT] = -1
        return found.astype(np.int64)
    low, high = _bounds(encoding)
    values = rng.uniform(low, high, n)
    values[::_EVERY] = rng.choice([low, high], values[::_EVERY].size)
    values[_SHORT], values[_LONG] = low, high
    values = np.floor(values) if high - low > 2 * _EVERY else values
    faint = low + (high - low) * np.resize(_SHARES, values[_FAINT].size)
    values[_FAINT] = faint
    return values


def _bounds(encoding: Encoding) -> tuple[float, float]:
    if encoding.bounds is not None:
        return encoding.bounds
    last = encoding.chains[0][-1]
    return (last.lower, last.upper) if isinstance(last, transforms.Affine) else (-_ANY, _ANY)


def _unnamed(schema: Schema, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows of as many features, of every length up to the row norm."""
    X = rng.normal(size=(n, schema.n_features))
    some = np.arange(n) % _EVERY == 0
    X[some] = np.where(rng.random((int(some.sum()), X.shape[1])) < 1 / math.sqrt(X.shape[1]), 1, 0)
    if schema.intercept:
        X[:, -1] = 1.0
    norms = np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    lengths = rng.choice(_SIZES, (n, 1)) * schema.row_norm * (1 - 2.0**-20)
    return np.ascontiguousarray(X / norms * lengths)
