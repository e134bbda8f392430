"""Rows mapped by public figures before their products are summed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from dpcore.plugin import InvalidInputError, ordered_dot
from dpcore.plugin.parts import sealed

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore.plugin.parts import Block

__all__ = ["MOST_COLUMNS", "RowMap", "lengths_of"]

_UP = 1.0 + 2.0**-40
"""Above the rounding of a sum of squares over up to 2^11 columns, and of its root."""
MOST_COLUMNS = 2**11


@sealed
@dataclass(frozen=True, slots=True)
class RowMap:
    """phi_j = 2 (x_j - m_j x_c), or x_j itself, and phi_c = weight x_c of the constant column c.

    The first takes the middle off every column in [0, 1], which a row scaled down keeps in scale,
    and brings one whose middle is 1/2 to [-1, 1]. The map is linear, of public or released figures,
    and a row's image is a function of that row alone: products and sums are taken entry by entry,
    in the order of the columns.

    Parameters
    ----------
    width : the number of columns, the constant one included.
    intercept : whether the last column is the constant one; no other is taken for it.
    middles : m of every column but the constant one, public or released; ``None`` for rows as they
        are.
    weight : of the constant column, > 0 and at most 1.
    """

    width: int
    intercept: bool
    middles: tuple[float, ...] | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not (0 < self.weight <= 1 and 1 <= self.width <= MOST_COLUMNS):
            raise InvalidInputError(
                f"Expected at most {MOST_COLUMNS} columns, and a weight in (0, 1]."
            )
        if self.middles is None:
            return
        if not self.intercept:
            raise InvalidInputError("Columns are centred by the intercept's, and there is none.")
        middles = tuple(float(m) for m in self.middles)
        if len(middles) != self.width - 1 or not all(0 <= m <= 1 for m in middles):
            raise InvalidInputError("Expected a middle in [0, 1] for every column but the last.")
        object.__setattr__(self, "middles", middles)

    @classmethod
    def of(cls, problem: Problem, weight: float = 1.0) -> Self:
        """Return the map of a problem: centred where its public facts say that every column lies
        between 0 and 1: the square of a row's length is bounded by the number of columns."""
        width = problem.n_features
        between = abs(problem.raw_norm_bound**2 - width) <= width * (_UP - 1.0)
        centred = problem.intercept and width > 1 and between
        middles = (0.5,) * (width - 1) if centred else None
        return cls(width, problem.intercept, middles, weight)

    def apply(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Return the images of a block's rows, float64 of shape (n_rows, width), and upper bounds
        of their l2 norms."""
        rows = block.rows()
        if self.intercept:
            last = rows[:, -1].copy()
            if self.middles is not None:
                rows *= 2.0
                rows[:, :-1] -= last[:, np.newaxis] * (2.0 * np.array(self.middles))
            rows[:, -1] = self.weight * last
        return rows, lengths_of(rows)

    def longest(self, row_norm: float) -> float:
        """Return about the largest length of a row's image, the intercept's column left out; a
        figure for scales, on which no sensitivity rests."""
        if self.middles is None:
            return row_norm
        return min(1.0, row_norm) * math.sqrt(self.width - 1)

    def usual(self, row_norm: float) -> float:
        """Return the length of the image of a row whose columns, the middle taken off, are together
        as long as the intercept's 1: a guess, for scales."""
        if not self.intercept:
            return row_norm
        before = 1 + self.width / 4 if self.middles else 2.0
        return min(1.0, row_norm / math.sqrt(before)) * math.sqrt(1 + self.weight**2)

    def pull_back(self, v: np.ndarray) -> np.ndarray:
        """Return the ``w`` with ``x.w = phi.v`` for every row, float64."""
        if self.middles is None:
            w = np.array(v, dtype=np.float64)
            if self.intercept:
                w[-1] *= self.weight
            return w
        off = float(ordered_dot(2.0 * v[:-1], np.array(self.middles)))
        return np.append(2.0 * v[:-1], self.weight * v[-1] - off)

    def squares(self) -> np.ndarray:
        """Return A with ``||pull_back(v)||^2 = v'A v``, float64 of shape (width, width)."""
        if self.middles is None:
            return np.diag(np.square(self.pull_back(np.ones(self.width))))
        # The last coordinate of w is this sum of all of v, and each other one is twice that of v.
        last = np.append(-2.0 * np.array(self.middles), self.weight)
        return np.outer(last, last) + np.diag(np.append(np.full(self.width - 1, 4.0), 0.0))


def lengths_of(rows: np.ndarray) -> np.ndarray:
    """Return upper bounds of the rows' l2 norms, float64 of shape (n_rows,)."""
    squares = np.zeros(len(rows))
    for column in rows.T:  # one after the other: a sum's order must not follow the layout
        squares += column * column
    return np.asarray(np.sqrt(squares) * _UP)
