"""Neighbouring tables of a few made rows that an algorithm is likely to tell apart.

A gradient algorithm tells a row best where no other row has anything, or where the row goes against
a rule that all others follow: its slope is then as steep as the loss is. Rows are as long as the
public norm allows, so that a clip holds them. No row is of anyone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.plugin import NeighboringRelation

__all__ = ["N_FEATURES", "N_ROWS", "ROW_NORM", "Pair", "Side", "pairs_of"]

N_ROWS, N_FEATURES, ROW_NORM = 64, 3, 1.0

_LAST = N_FEATURES - 1


@dataclass(frozen=True, eq=False)
class Side:
    """A table: X float64 (n, d), y (n,), and the unit of each row, ``None`` where units are
    rows."""

    X: np.ndarray
    y: np.ndarray
    units: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring tables, and in words what tells them apart."""

    words: str
    here: Side
    there: Side

    def side(self, world: int) -> Side:
        return self.there if world else self.here


@dataclass(frozen=True)
class _Change:
    words: str
    rows: tuple[np.ndarray, np.ndarray]
    """Of the tables that both have."""
    row: tuple[np.ndarray, float]
    other: tuple[np.ndarray, float]
    """In its place under the relations that keep the number of rows."""


def pairs_of(
    relation: NeighboringRelation,
    labels: tuple[float, float],
    rows_per_unit: int = 1,
    n_rows: int = N_ROWS,
) -> list[Pair]:
    """Return the pairs of tables under a relation. ``labels`` : the two furthest apart.

    ``rows_per_unit`` : how many rows, all alike, a unit has that is added or replaced; every other
    unit has one row. ``n_rows`` : of the larger table, where units are rows.
    """
    changes = _changes(labels, relation, n_rows - 1)
    return [_pair(change, relation, rows_per_unit) for change in changes]


def _changes(
    labels: tuple[float, float], relation: NeighboringRelation, common: int
) -> list[_Change]:
    low, high = labels
    axes = ROW_NORM * np.eye(N_FEATURES)
    rule = _rule(labels, common)
    agreeing, empty = (_alike(x, high, common) for x in (axes[0], 0 * axes[0]))
    last, nothing = axes[_LAST], np.zeros(N_FEATURES)
    changes = [
        _Change(f"a row along axis {j} beside a rule", rule, (axes[j], low), (axes[j], high))
        for j in range(N_FEATURES)
    ]
    changes += [
        _Change("a row against rows that agree", agreeing, (axes[0], low), (axes[0], high)),
        _Change("a row beside empty rows", empty, (last, low), (last, high)),
        _Change("a row longer than the norm", empty, (2 * last, low), (2 * last, high)),
    ]
    if relation.size_is_public:
        changes += [
            _Change("a row against an empty row", rule, (last, low), (nothing, low)),
            _Change("a row along another axis", rule, (last, low), (axes[1], low)),
        ]
    if relation is NeighboringRelation.REPLACE_SPECIAL:
        # The row is swapped for one that contributes nothing.
        changes = [_Change(c.words, c.rows, c.row, (nothing, c.row[1])) for c in changes[:-2]]
    return changes


def _rule(labels: tuple[float, float], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose label is the sign of the first feature."""
    sign = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = np.zeros((n, N_FEATURES))
    X[:, 0], X[:, 1] = 0.75 * sign, 0.5
    return X, np.where(sign > 0, labels[1], labels[0])


def _alike(x: np.ndarray, label: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.tile(x, (n, 1)), np.full(n, label)


def _pair(change: _Change, relation: NeighboringRelation, k: int) -> Pair:
    here = _with(change.rows, change.row, k)
    if relation.size_is_public:
        return Pair(change.words, here, _with(change.rows, change.other, k))
    return Pair(change.words, here, _with(change.rows, None, k))


def _with(
    rows: tuple[np.ndarray, np.ndarray], row: tuple[np.ndarray, float] | None, k: int
) -> Side:
    X, y = rows
    count = 0 if row is None else k
    units = None if k == 1 else np.append(np.arange(len(y)), np.full(count, len(y)))
    if row is None:
        return Side(X, y, units)
    return Side(np.vstack([X, np.tile(row[0], (k, 1))]), np.append(y, np.full(k, row[1])), units)
