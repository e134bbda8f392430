"""Rows counted by the length of their image, and the length that most of them are within."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import Sensitivity, sealed

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore.plugin.parts import Block
    from dpcore_adassp.row_map import RowMap

__all__ = ["CLASSES", "RowLengths", "length_within"]

CLASSES, _PER_HALVING = 28, 6
_ROOT = math.sqrt(2.0) * (1 + 2.0**-50)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class RowLengths:
    """How many rows have an image of a length in each of some classes, the longest first: class k
    is from ``longest 2^-((k + 1) / 6)`` up to ``longest 2^-(k / 6)``; the first and last are open.

    A row is in one class: its count moves by 1 under add-or-remove-one and replace-special, and two
    of them by 1 under replace-one, sqrt(2) in l2 (Dwork, McSherry, Nissim & Smith 2006).

    Parameters
    ----------
    problem : public facts. ``row_map`` : gives the images.
    """

    problem: Problem
    row_map: RowMap

    kind: ClassVar[str] = "lengths"
    thread_safe: ClassVar[bool] = True

    @property
    def edges(self) -> np.ndarray:
        """The upper ends of the classes, falling, float64 of shape (CLASSES,)."""
        longest = self.row_map.longest(self.problem.row_norm)
        return np.asarray(longest * 2.0 ** (-np.arange(CLASSES) / _PER_HALVING))

    def start(self) -> np.ndarray:
        return np.zeros(CLASSES, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        norms = self.row_map.apply(block)[1]
        classes = (norms[:, np.newaxis] <= self.edges[1:]).sum(axis=1)
        return np.bincount(classes, minlength=CLASSES).astype(np.int64)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = _ROOT if relation is NeighboringRelation.REPLACE_ONE else 1.0
        return Sensitivity("l2", bound, relation)


def length_within(
    edges: np.ndarray, counts: np.ndarray, n: float, share: float, deviation: float
) -> float:
    """Return the least of the ends above which are at most ``share`` of ``n`` rows, as far as
    counts with noise of this standard deviation tell."""
    classes = np.arange(1, CLASSES)
    too_many = np.cumsum(counts[:-1]) > share * n + deviation * np.sqrt(classes)
    return float(edges[np.argmax(too_many) if too_many.any() else CLASSES - 1])
