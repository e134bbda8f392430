"""Columns moved to the middle of their features, where rows are shorter and noise is less."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import InvalidInputError, ordered_dot, ordered_norm, ordered_sum
from dpcore.plugin.parts import float_up, sealed, sqrt_up
from dpcore_baselines.queries.standardization import SCALE_BITS, Standardization

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin import Problem

__all__ = ["Centring", "centring_of"]

_ONE, _HALF = 2**SCALE_BITS, 2 ** (SCALE_BITS - 1)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class Centring:
    """The public map phi_j = x_j - x_c / 2 of some features j, c the intercept; phi_j = x_j of the
    rest. It turns round: x.w = phi.v with v = w but for v_c = w_c + sum_j w_j / 2.

    Where a column's K features are in [0, 1], those of its part of a row times a factor f <= 1 are
    within f / 2 of f / 2: centred, they add at most K / 4 to the square of the row's norm. They are
    centred where that is below what the column is known to add (``square`` of its kind), so that

        ||phi||^2 <= square = (intercept) 1 + sum over columns of min(K / 4, square of the column).

    No query rests on this: a row that is longer counts as none (``rows``), or is clipped.

    Parameters
    ----------
    standardization : the map. ``row_norm`` : the bound of ||phi||, rounded up.
    rest : that of the norm of the features that are not centred, without the intercept, rounded up.
    """

    standardization: Standardization
    row_norm: float
    rest: float

    def __post_init__(self) -> None:
        if not (0 < self.row_norm < math.inf and 0 <= self.rest < math.inf):
            raise InvalidInputError("Expected row_norm > 0 and rest >= 0, both finite.")

    def rows(self, rows: np.ndarray) -> np.ndarray:
        """Return rows of shape (n_rows, n_features) under the map, one above the bound as zeros.

        Entries are on the grid of features, or one bit below it, and factors: float64 holds what
        it takes, up to a relative 2^-53, which the caller's bound counts. Squares are added one
        after the other: whether a row is left out must not depend on the rows beside it.
        """
        mapped = self.standardization.map_gradient(rows)
        squares = np.cumsum(mapped * mapped, axis=1)[:, -1]
        mapped[~(squares <= self.row_norm**2)] = 0.0
        return mapped

    def point(self, w: np.ndarray) -> np.ndarray:
        """Return v with x.w = phi.v for every row."""
        v = np.array(w, dtype=np.float64)
        v[-1] += float(ordered_dot(w, self.standardization.shifts)) / _ONE
        return v

    def longest_margin(self, w: np.ndarray) -> float:
        """Return a bound of |x.w| of every row: |v_c|, half of the sizes of what is centred, and by
        Cauchy and Schwarz of the rest."""
        centred = self.standardization.shifts != 0
        rest = np.where(centred, 0.0, w)[:-1]
        halves = float(ordered_sum(np.abs(w[centred]))) / 2.0
        return abs(float(self.point(w)[-1])) + halves + self.rest * ordered_norm(rest)


def centring_of(schema: Schema, problem: Problem) -> Centring | None:
    """Return the centring of a schema's columns, ``None`` where it makes no row shorter than
    ``problem.row_norm``, or the rows have no intercept or no named columns."""
    if schema.width is not None or not schema.intercept:
        return None
    known = [(sum(part.width for part in c.parts), c.square) for c in schema.features]
    known += [(cross.part.width, 1) for cross in schema.encoded.crossed]
    shifts = [_HALF * (k < 4 * square) for k, square in known for _ in range(k)]
    rest = sum(square for k, square in known if k >= 4 * square)
    square = Fraction(sum(k for k, square in known if k < 4 * square), 4) + rest + 1
    row_norm = float_up(sqrt_up(square))
    if not row_norm < problem.row_norm:
        return None
    scales = np.full(schema.n_features, _ONE, dtype=np.int64)
    whole = np.array([*shifts, 0], dtype=np.int64)
    standardization = Standardization(scales, whole, schema.n_features - 1)
    return Centring(standardization, row_norm, float_up(sqrt_up(Fraction(rest))))
