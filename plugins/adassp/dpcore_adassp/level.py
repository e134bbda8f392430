"""The number of rows, the constant that is nearest to their targets, and the columns' means."""

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

__all__ = ["Level", "level_within", "middles_within"]

_BITS = 20
_UP = 1 + 2.0**-50
_SURE_OF_MIDDLE = 5.0
"""Deviations of its noise by which a mean is off the middle from which on it counts fully."""
_SURE = 4.0
"""Deviations of its noise from which on a level counts fully: a false one costs much where targets
are far smaller than their bounds."""


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """``sum_i (1, c_i^2, y_i c_i)``, c the intercept's column held to [-1, 1] (0 without one) and y
    the target in [-1, 1]: rows, and the least squares of y on c alone. With ``columns``, behind it
    ``sum_i c_i x_i / R`` of all other columns x, R the row norm; ||x|| is held to R. With
    ``squares``, behind it ``sum_i y_i^2``. All of it is truncated to 2^-20.

    A row's parts are of length 1 each, and there are three (one without an intercept), and one more
    with the columns and with the squares each: the root of their number is the sensitivity under
    add-or-remove-one and replace-special. Under replace-one the first number stays, the second
    moves by at most 1, the third by at most 2, and so do the columns, and squares by at most 1: the
    root of 5, and 4 and 1 more; without an intercept the squares alone move, and 1 is stated, so
    that the release stays defined without them too.

    Parameters
    ----------
    problem : public facts; which column is the intercept's among them.
    columns : whether the other columns are asked for, beside an intercept.
    squares : whether the targets' squares are.
    """

    problem: Problem
    columns: bool = False
    squares: bool = False

    kind: ClassVar[str] = "level"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("columns", "squares"):  # They are counted: 1 or 0, and nothing else.
            object.__setattr__(self, name, bool(getattr(self, name)))
        if self.columns and not self.problem.intercept:
            raise InvalidInputError("Columns are weighted by the intercept's, and there is none.")

    def start(self) -> np.ndarray:
        columns = self.problem.n_features - 1 if self.columns else 0
        return np.zeros(3 + columns + self.squares, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        numbers = np.zeros((block.n_rows, len(self.start())))
        numbers[:, 0] = 1.0
        targets = bounded_labels(block)
        if self.problem.intercept:
            last = np.eye(1, self.problem.n_features, self.problem.n_features - 1)[0]
            column = np.clip(block.margins(last), -1.0, 1.0)
            numbers[:, 1] = column * column
            numbers[:, 2] = column * targets
        if self.columns:
            others = block.rows()[:, :-1]
            longest = np.maximum(self.problem.row_norm, lengths_of(others))
            shares = others * (column / longest)[:, np.newaxis] * (1 - 2.0**-40)
            numbers[:, 3 : 3 + others.shape[1]] = shares
        if self.squares:
            numbers[:, -1] = targets * targets
        return np.asarray(np.trunc(np.ldexp(numbers, _BITS)).astype(np.int64).sum(axis=0))

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        replaced = relation is NeighboringRelation.REPLACE_ONE
        square = 1 if replaced else 1 + self.squares
        if self.problem.intercept:
            square = (5 if replaced else 3) + (4 if replaced else 1) * self.columns + self.squares
        return Sensitivity("l2", math.sqrt(square) * _UP, relation, grid_bits=_BITS)


def level_within(squares: float, products: float, deviation: float) -> float:
    """Return the coefficient of the intercept's column alone, in [-1, 1]: shrunk towards 0 as far
    as its noise makes it doubtful. Post-processing."""
    if squares <= _SURE * deviation:
        return 0.0
    sure = min(1.0, abs(products) / (_SURE * deviation))
    return max(-1.0, min(1.0, products / squares * sure**4))


def middles_within(
    squares: float, sums: np.ndarray, deviation: float, row_norm: float
) -> tuple[float, ...]:
    """Return the means of columns in [0, 1], of rows whose intercept is 1: each as far from 1/2 as
    it surely is. Post-processing."""
    if squares <= _SURE * deviation:
        return (0.5,) * len(sums)
    apart = sums * row_norm / squares - 0.5
    sure = np.minimum(1.0, np.abs(apart) * squares / (_SURE_OF_MIDDLE * deviation * row_norm))
    return tuple(float(m) for m in np.clip(0.5 + apart * sure**4, 0.0, 1.0))
