"""A search over neighbouring tables for two whose exact answers are far apart.

Sums need none: a sum's answers are as far apart as two rows' parts are. Of any other answer the
worst pair of tables is rarely a random one: a few hundred are tried, each made from a good one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpcore_lab.made_tables.special_rows import SPECIAL_VALUES, cut_to_bound
from dpcore_lab.made_tables.tables import RAW_NORM_BOUND, Rows, make_rows

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Pair", "climb", "start_pairs"]

_STARTS_KEPT = 4


@dataclass(frozen=True)
class Pair:
    """Two neighbouring tables: common rows, and a row that one of them has more, or that the other
    has instead.

    Parameters
    ----------
    X, y : the common rows.
    rows : the row of the first table, and under replace-one behind it that of the second:
        float64 of shape (1 or 2, n_features).
    labels : theirs.
    n_classes : of all labels, 0 for real-valued targets.
    """

    X: np.ndarray
    y: np.ndarray
    rows: np.ndarray
    labels: np.ndarray
    n_classes: int = 2

    @property
    def tables(self) -> tuple[Rows, Rows]:
        return self._table(slice(1)), self._table(slice(1, None))

    def _table(self, own: slice) -> Rows:
        X, y = np.vstack([self.X, self.rows[own]]), np.append(self.y, self.labels[own])
        return Rows(X, y, n_classes=self.n_classes)

    def filled_up(self, n_rows: int) -> Pair:
        """Return the pair with so many rows in its first table, rows of zeros among the common."""
        missing = n_rows - 1 - len(self.y)
        X = np.vstack([self.X, np.zeros((missing, self.X.shape[1]))])
        return replace(self, X=X, y=np.append(self.y, np.ones(missing)))


def start_pairs(
    n_features: int, replace_one: bool, n_classes: int = 2, seed: int = 0
) -> list[Pair]:
    """Return pairs to start from: tables without common rows, of equal rows, of all directions but
    one, of one class, of extreme and of ordinary rows; of the first two classes."""
    rng = np.random.default_rng(seed)
    bound, eye = RAW_NORM_BOUND, RAW_NORM_BOUND * np.eye(n_features)
    ordinary = make_rows(12, n_features, seed)
    extreme = rng.normal(size=(8, n_features))
    extreme *= bound / np.linalg.norm(extreme, axis=1, keepdims=True)
    commons = [
        (np.empty((0, n_features)), np.empty(0)),
        (np.tile(eye[0], (3, 1)), np.ones(3)),
        (eye[:-1], np.ones(n_features - 1)),
        (ordinary.X, np.ones(12)),
        (ordinary.X, ordinary.y),
        (extreme, np.where(rng.random(8) < 0.5, -1.0, 1.0)),
    ]
    ends = [
        (eye[-1], -eye[-1], (1.0, 1.0)),
        (eye[0], np.zeros(n_features), (1.0, 1.0)),
        (eye[0], eye[0], (1.0, -1.0)),
        (extreme[0], -extreme[0], (-1.0, 1.0)),
    ]
    kept = 2 if replace_one else 1
    pairs = [
        Pair(X, y, np.array([one, other])[:kept], np.array(labels)[:kept], n_classes)
        for X, y in commons
        for one, other, labels in ends
    ]
    if n_classes <= 2:
        return pairs
    return [replace(p, y=np.maximum(p.y, 0.0), labels=np.maximum(p.labels, 0.0)) for p in pairs]


def climb(
    measure: Callable[[Pair], float],
    pairs: list[Pair],
    evaluations: int,
    seed: int = 0,
) -> float:
    """Return the largest measure found in so many evaluations: of the pairs, then uphill from the
    best of them by small changes, which are kept where they lose nothing. ``measure`` : raises
    where it has found what is looked for."""
    rng = np.random.default_rng(seed)
    best = sorted(((measure(pair), k) for k, pair in enumerate(pairs)), reverse=True)
    kept = [(height, pairs[k]) for height, k in best[:_STARTS_KEPT]]
    for turn in range(max(0, evaluations - len(pairs))):
        place = turn % len(kept)
        height, pair = kept[place]
        tried = _changed(pair, rng)
        reached = measure(tried)
        if reached >= height:
            kept[place] = (reached, tried)
    return max(height for height, _ in kept)


def _changed(pair: Pair, rng: np.random.Generator) -> Pair:
    """Return the pair with one or two of its rows changed; the number of rows stays."""
    X, y = np.vstack([pair.X, pair.rows]), np.append(pair.y, pair.labels)
    n = len(pair.y)
    for _ in range(1 + int(rng.integers(2))):
        # Every other time the rows that make the difference.
        i = int(rng.integers(n, len(y)) if rng.random() < 0.5 else rng.integers(len(y)))
        _change_row(X, y, i, pair.n_classes, rng)
    X = cut_to_bound(X)
    return replace(pair, X=X[:n], y=y[:n], rows=X[n:], labels=y[n:])


def _change_row(
    X: np.ndarray, y: np.ndarray, i: int, n_classes: int, rng: np.random.Generator
) -> None:
    n_features = X.shape[1]
    norm = float(np.linalg.norm(X[i]))
    match int(rng.integers(7)):
        case 0:
            X[i, rng.integers(n_features)] = rng.choice(SPECIAL_VALUES) * rng.choice([-1.0, 1.0])
        case 1:
            X[i] *= RAW_NORM_BOUND / norm if norm else 1.0
        case 2:
            X[i] *= 2.0 ** -int(rng.integers(1, 12))
        case 3:
            y[i] = _other_label(y[i], n_classes, rng)
        case 4:
            X[i] = X[rng.integers(len(y))] * rng.choice([-1.0, 1.0])
        case 5:
            X[i] += rng.normal(scale=0.3, size=n_features)
        case _:
            X[i] = RAW_NORM_BOUND * np.eye(n_features)[rng.integers(n_features)]


def _other_label(y: float, n_classes: int, rng: np.random.Generator) -> float:
    if n_classes > 2:
        return float((y + rng.integers(1, n_classes)) % n_classes)
    return -y if n_classes else float(rng.uniform(-1, 1))
