"""The number of rows, and the constant that is nearest to their targets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import Sensitivity, bounded_labels, sealed

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore.plugin.parts import Block

__all__ = ["Level", "level_within"]

_BITS = 20
_UP = 1 + 2.0**-50
_SURE = 4.0
"""Deviations of its noise from which on a level counts fully: a false one costs much where targets
are far smaller than their bounds."""


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """``sum_i (1, c_i^2, y_i c_i)``, c the intercept's column held to [-1, 1] (0 without one) and y
    the target in [-1, 1], truncated to 2^-20: rows, and the least squares of y on c alone.

    A row's part is of length sqrt(3) at most (1 without an intercept): the sensitivity under
    add-or-remove-one and replace-special. Under replace-one the first number stays, the second
    moves by at most 1 and the third by at most 2: sqrt(5), and without an intercept 1 is stated, so
    that the release stays defined.

    Parameters
    ----------
    problem : public facts; which column is the intercept's among them.
    """

    problem: Problem

    kind: ClassVar[str] = "level"
    thread_safe: ClassVar[bool] = True

    def start(self) -> np.ndarray:
        return np.zeros(3, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        numbers = np.zeros((block.n_rows, 3))
        numbers[:, 0] = 1.0
        if self.problem.intercept:
            column = np.clip(block.rows()[:, -1], -1.0, 1.0)
            numbers[:, 1] = column * column
            numbers[:, 2] = column * bounded_labels(block)
        return np.asarray(np.trunc(np.ldexp(numbers, _BITS)).astype(np.int64).sum(axis=0))

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        square = 1
        if self.problem.intercept:
            square = 5 if relation is NeighboringRelation.REPLACE_ONE else 3
        return Sensitivity("l2", math.sqrt(square) * _UP, relation, grid_bits=_BITS)


def level_within(squares: float, products: float, deviation: float) -> float:
    """Return the coefficient of the intercept's column alone, in [-1, 1]: shrunk towards 0 as far
    as its noise makes it doubtful. Post-processing."""
    if squares <= 2 * deviation:
        return 0.0
    sure = min(1.0, abs(products) / (_SURE * deviation))
    return max(-1.0, min(1.0, products / squares * sure**4))
