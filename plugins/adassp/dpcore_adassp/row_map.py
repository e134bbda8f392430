"""Rows mapped by public or released values before their products are summed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from dpcore.plugin import InvalidInputError, ordered_dot
from dpcore.plugin.parts import sealed

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore.plugin.parts import Block

__all__ = ["LARGEST_SCALE", "MOST_COLUMNS", "MOST_TURNED", "RowMap", "lengths_of", "turn_of"]

_UP = 1.0 + 2.0**-40
"""Above the rounding of a sum of squares over up to 2^11 columns, and of its root."""
MOST_COLUMNS = 2**11
LARGEST_SCALE = 8.0
"""Of a column on [0, 1]: far cells of a nearly constant column are then at most so long."""
MOST_TURNED = 2**6
_TWO = 2.0
_IMAGE_BITS, _TURN_BITS, _LONGEST_BITS = 16, 18, 28
"""A turned row is a sum of up to 2^6 products of whole numbers of up to 2^28 and 2^18: below 2^53,
so that it is exact in float64 in any order of adding."""
_SPREAD_OUT = 8.0
"""Lengths are counted up to so many times the root of the columns once these are scaled to 1."""


@sealed
@dataclass(frozen=True, slots=True)
class RowMap:
    """phi_j = s_j (x_j - m_j x_c), or x_j itself, and phi_c = weight x_c of the constant column c.

    The first takes the middle off every column in [0, 1], which a row scaled down keeps in scale,
    and, with a scale of 2, brings one whose middle is 1/2 to [-1, 1]. The map is linear, of public
    or released values, and a row's image is a function of that row alone: products and sums are
    taken entry by entry, in the order of the columns.

    Parameters
    ----------
    width : the number of columns, the constant one included.
    intercept : whether the last column is the constant one; no other is taken for it.
    middles : m of every column but the constant one, public or released; ``None`` for rows as they
        are.
    weight : of the constant column, > 0 and at most 1.
    scales : s of every column but the constant one, public or released; ``None`` for 2 of columns
        with a middle.
    turn : T in steps of 2^-18, width rows of as many whole numbers of size 2^18 at most, public or
        released: images are then phi T, of phi truncated to 2^-16 and held to 2^12; ``None`` for
        phi itself.
    """

    width: int
    intercept: bool
    middles: tuple[float, ...] | None = None
    weight: float = 1.0
    scales: tuple[float, ...] | None = None
    turn: tuple[tuple[int, ...], ...] | None = None

    def __post_init__(self) -> None:
        if not (0 < self.weight <= 1 and 1 <= self.width <= MOST_COLUMNS):
            raise InvalidInputError(
                f"Expected at most {MOST_COLUMNS} columns, and a weight in (0, 1]."
            )
        if self.turn is not None:
            object.__setattr__(self, "turn", _whole(self.turn, self.width))
        if self.middles is None:
            if self.scales is not None:
                raise InvalidInputError("Expected a middle for every column with a scale.")
            return
        if not self.intercept:
            raise InvalidInputError("Columns are centred by the intercept's, and there is none.")
        middles = tuple(float(m) for m in self.middles)
        if len(middles) != self.width - 1 or not all(0 <= m <= 1 for m in middles):
            raise InvalidInputError("Expected a middle in [0, 1] for every column but the last.")
        object.__setattr__(self, "middles", middles)
        scales = (_TWO,) * len(middles) if self.scales is None else self.scales
        scales = tuple(float(s) for s in scales)
        if len(scales) != len(middles) or not all(1 <= s <= LARGEST_SCALE for s in scales):
            raise InvalidInputError("Expected a scale from 1 to 8 for every column but the last.")
        object.__setattr__(self, "scales", scales)

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
                scales = np.array(self.scales)
                rows[:, :-1] *= scales
                rows[:, :-1] -= last[:, np.newaxis] * (scales * np.array(self.middles))
            rows[:, -1] = self.weight * last
        if self.turn is not None:
            whole = np.trunc(np.ldexp(rows, _IMAGE_BITS, out=rows), out=rows)
            np.clip(whole, -(2.0**_LONGEST_BITS), 2.0**_LONGEST_BITS, out=whole)
            rows = np.ldexp(whole @ np.array(self.turn, float), -_IMAGE_BITS - _TURN_BITS)
        return rows, lengths_of(rows)

    def longest(self, row_norm: float) -> float:
        """Return about the largest length of a row's image, the intercept's column left out; a
        value for scales, on which no sensitivity rests."""
        if self.middles is None:
            return row_norm
        if self.is_scaled:
            return _SPREAD_OUT * math.sqrt(self.width - 1)
        return min(1.0, row_norm) * math.sqrt(self.width - 1)

    @property
    def is_scaled(self) -> bool:
        """Whether columns are scaled to one size, as far as it is known."""
        return self.scales is not None and any(s != _TWO for s in self.scales)

    def usual(self, row_norm: float) -> float:
        """Return the length of the image of a row whose columns, the middle taken off, are together
        as long as the intercept's 1: a guess, for scales."""
        if not self.intercept:
            return row_norm
        if self.is_scaled:
            return math.sqrt(self.width - 1) * math.sqrt(1 + self.weight**2)
        before = 1 + self.width / 4 if self.middles else 2.0
        return min(1.0, row_norm / math.sqrt(before)) * math.sqrt(1 + self.weight**2)

    def pull_back(self, v: np.ndarray) -> np.ndarray:
        """Return the ``w`` with ``x.w = phi.v`` for every row, float64."""
        if self.turn is not None:
            v = ordered_dot(np.ldexp(np.array(self.turn, float), -_TURN_BITS), v)
        if self.middles is None:
            w = np.array(v, dtype=np.float64)
            if self.intercept:
                w[-1] *= self.weight
            return w
        scaled = np.array(self.scales) * v[:-1]
        off = float(ordered_dot(scaled, np.array(self.middles)))
        return np.append(scaled, self.weight * v[-1] - off)

    def turned_back(self, v: np.ndarray) -> np.ndarray:
        """Return the coefficients of images that predict what ``v`` does of images that are not
        turned."""
        if self.turn is None:
            return v
        return np.asarray(np.linalg.solve(np.ldexp(np.array(self.turn, float), -_TURN_BITS), v))

    def squares(self) -> np.ndarray:
        """Return A with ``||pull_back(v)||^2 = v'A v``, float64 of shape (width, width)."""
        if self.turn is not None:
            columns = np.ldexp(np.array(self.turn, float), -_TURN_BITS).T
            before = replace(self, turn=None).squares()
            turned = [ordered_dot(before, column) for column in columns]
            return np.array([ordered_dot(columns, column) for column in turned])
        if self.middles is None:
            return np.diag(np.square(self.pull_back(np.ones(self.width))))
        # The last coordinate of w is this sum of all of v, and each other one is s times that of v.
        scales = np.array(self.scales)
        last = np.append(-scales * np.array(self.middles), self.weight)
        return np.outer(last, last) + np.diag(np.append(np.square(scales), 0.0))


def lengths_of(rows: np.ndarray) -> np.ndarray:
    """Return upper bounds of the rows' l2 norms, float64 of shape (n_rows,)."""
    squares = np.zeros(len(rows))
    for column in rows.T:  # one after the other: a sum's order must not follow the layout
        squares += column * column
    return np.asarray(np.sqrt(squares) * _UP)


def turn_of(matrix: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """Return a square matrix, over its largest entry, as ``RowMap`` has a turn."""
    whole = np.rint(np.ldexp(matrix / np.abs(matrix).max(), _TURN_BITS)).astype(int)
    return tuple(tuple(row) for row in whole.tolist())


def _whole(turn: tuple[tuple[int, ...], ...], width: int) -> tuple[tuple[int, ...], ...]:
    """Return a turn of plain whole numbers; InvalidInputError for others than are expected."""
    rows = tuple(tuple(int(entry) for entry in row) for row in turn)
    square = len(rows) == width <= MOST_TURNED and all(len(row) == width for row in rows)
    if not square or any(abs(entry) > 2**_TURN_BITS for row in rows for entry in row):
        raise InvalidInputError(
            f"Expected at most {MOST_TURNED} columns, and a square turn of whole numbers of size "
            "2^18 at most."
        )
    return rows
