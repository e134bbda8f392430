"""Rows that hold their own places, and a sum that tells which of them were in a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin.parts import SeededNoise, Sensitivity
from dpcore_lab.made_tables.tables import RAW_NORM_BOUND, Rows

if TYPE_CHECKING:
    from dpcore.plugin import NeighboringRelation
    from dpcore.plugin.parts import Block

__all__ = ["FEW", "Places", "hits_of", "placed_rows", "rare_order", "with_units"]

FEW = 3
"""Rows of a label that is rare, and rows of a unit at most."""
_PLACE_BITS, _SEED = 12, 15


@dataclass(frozen=True)
class Places:
    """A sum that counts how often each row is in it: its place is in the row."""

    n_rows: int
    kind: ClassVar[str] = "places"

    def start(self) -> np.ndarray:
        return np.zeros(self.n_rows, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        low, high = np.rint(block.rows()[:, :2].T * 2**_PLACE_BITS).astype(np.int64)
        counts: np.ndarray = np.bincount(low + (high << _PLACE_BITS), minlength=self.n_rows)
        return counts.astype(np.int64)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return Sensitivity("l2", float(relation.rows_changed), relation)


def placed_rows(n: int, order: np.ndarray | None = None) -> Rows:
    """Return rows that hold their places in two columns, and contents of every kind in the
    others: zeros, long rows, both labels. ``order`` : which content each place has."""
    rng = np.random.default_rng(_SEED)
    content = rng.uniform(-0.5, 0.5, (n, 3))
    content[::4] = 0.0
    content[1::4] = np.sign(content[1::4]) * 0.6
    labels = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    order = np.arange(n) if order is None else order
    held = np.arange(n) % 2**_PLACE_BITS, np.arange(n) >> _PLACE_BITS
    X = np.column_stack([*(np.ldexp(part, -_PLACE_BITS) for part in held), content[order]])
    return Rows(X, labels[order], row_norm=RAW_NORM_BOUND)


def hits_of(places: Any, rows: Rows, releases: int, seed: int) -> np.ndarray:
    """Return how often each row is in each sample: int64 of shape (releases, n_rows)."""
    table, noise = rows.table(), SeededNoise(seed)
    return np.array([places.answer_table(table, noise) for _ in range(releases)])


def rare_order(n: int) -> np.ndarray:
    """Return contents of rows: the first few alone have their label."""
    labels = placed_rows(n).y
    order = np.full(n, int(np.argmin(labels)))
    order[: min(FEW, n - 1)] = int(np.argmax(labels))
    return order


def with_units(rows: Rows) -> Rows:
    """Return the rows as those of units of three, one and two rows."""
    n = len(rows.y)
    return replace(rows, units=np.repeat(np.arange(n), np.resize([FEW, 1, 2], n))[:n])
