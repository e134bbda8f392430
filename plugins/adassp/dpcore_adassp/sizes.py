"""Rows counted by their length, and the size of targets about their level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, NeighboringRelation
from dpcore.plugin.parts import Sensitivity, sealed
from dpcore_adassp.row_map import lengths_of
from dpcore_baselines.queries.gradient_sum import bounded_labels

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore.plugin.parts import Block
    from dpcore_adassp.row_map import RowMap

__all__ = ["CLASSES", "RowSizes", "length_within"]

CLASSES, _PER_HALVING = 28, 6
_BITS = 20
_UP = 1 + 2.0**-50


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class RowSizes:
    """How many rows have an image of a length in each of some classes, the longest first, and
    behind it a sum of residuals. The sum is of |y - level c| held to [0, 1], truncated to 2^-20; c
    is the intercept's column, which no length counts. Class k is from ``longest 2^-((k + 1) / 6)``
    up to ``longest 2^-(k / 6)``; the first and last are open.

    A row is in one class: its count moves by 1 under add-or-remove-one and replace-special, and two
    of them by 1 under replace-one, sqrt(2) in l2 (Dwork, McSherry, Nissim & Smith 2006); the sum
    moves by at most 1: sqrt(2) and sqrt(3) together.

    Parameters
    ----------
    problem : public facts. ``row_map`` : gives the images. ``level`` : public or released.
    """

    problem: Problem
    row_map: RowMap
    level: float = 0.0

    kind: ClassVar[str] = "sizes"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", float(self.level))
        if not math.isfinite(self.level):
            raise InvalidInputError(f"Expected level={self.level!r} to be finite.")

    @property
    def edges(self) -> np.ndarray:
        """The upper ends of the classes, falling, float64 of shape (CLASSES,)."""
        longest = self.row_map.longest(self.problem.row_norm)
        return np.array([longest * 2.0 ** (-k / _PER_HALVING) for k in range(CLASSES)])

    def start(self) -> np.ndarray:
        return np.zeros(CLASSES + 1, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        rows = self.row_map.apply(block)[0]
        missed = np.array(bounded_labels(block), dtype=np.float64)
        if self.problem.intercept:
            missed -= self.level * rows[:, -1] / self.row_map.weight
            rows = rows[:, :-1]
        classes = (lengths_of(rows)[:, np.newaxis] <= self.edges[1:]).sum(axis=1)
        counts = np.ldexp(np.bincount(classes, minlength=CLASSES), _BITS)
        sizes = np.trunc(np.ldexp(np.minimum(np.abs(missed), 1.0), _BITS))
        return np.append(counts, sizes.sum()).astype(np.int64)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        square = 3 if relation is NeighboringRelation.REPLACE_ONE else 2
        return Sensitivity("l2", math.sqrt(square) * _UP, relation, grid_bits=_BITS)


def length_within(
    edges: np.ndarray, counts: np.ndarray, n: float, share: float, deviation: float
) -> float:
    """Return the least of the ends above which are at most ``share`` of ``n`` rows, as far as
    counts with noise of this standard deviation tell."""
    classes = np.arange(1, CLASSES)
    too_many = np.cumsum(counts[:-1]) > share * n + deviation * np.sqrt(classes)
    return float(edges[np.argmax(too_many) if too_many.any() else CLASSES - 1])
