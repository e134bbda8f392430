"""Least squares fits of many parts of the rows, on a public grid."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, NeighboringRelation, Problem, ordered_sum
from dpcore.plugin.parts import LossFacts, Sensitivity, Table, sealed
from dpcore_tukey.kernels import add_products, back_substitute, eliminate

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin.parts import Block, NoiseSource

__all__ = [
    "LARGEST_STEPS",
    "MOST_ENTRIES",
    "PartModels",
    "entries_of",
    "middle_of",
    "require_squares",
]

LARGEST_STEPS = 2**61
"""A coefficient in grid steps at most: 2^37, far beyond any that fits rows of length 1."""
MOST_ENTRIES = 2**26
"""Of all products that are kept at once, 8 bytes each."""
_MOST_BITS = 24
_EVEN_BITS = 6
"""Coins beyond those that tell the parts: the likeliest is at most 1/64 likelier than another."""
_LEAST_SHARE = 2.0**-36
"""Of a column's square; rounding leaves about the columns' number times 2^-53 of it."""


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class PartModels:
    """The coefficients of a least squares fit in each of ``models`` parts, int64 of shape (models,
    n_columns), in steps of ``2**-PARAMETER_BITS``.

    A row's part is drawn by itself: the same distribution for every row, whatever is in it and in
    others. A fit is a function of the rows of its part alone. Products of rows and targets,
    truncated to ``2**-bits``, are added up as whole numbers, modulo 2^64; equations are solved by
    elimination in one fixed order of operations, without LAPACK. So a model has the same bits on
    two tables that have the same rows in its part, in whatever order. A column that depends on
    others there has coefficient 0; so has each column of a part without rows. The intercept's place
    has the prediction at the middles of all numbers between bounds, which varies with the other
    coefficients less than the one at their lower bounds. All are rounded to the grid and held to
    ``LARGEST_STEPS``.

    Neighbours. Let the parts of the rows that both tables have be drawn, and the part of a row that
    was added, removed or replaced, which has one distribution on both. Given these, the tables
    differ in the rows of one part: so in one model, which may be any other, under add-or-remove-one
    and replace-one alike. What holds of two tables of models that differ in one of them, whatever
    it is, holds given the draws; and so without, as the mean of distributions that are within
    (epsilon, delta) of each other is too. That is what a mechanism over models may rest on
    (``ProposeTestRelease``). As a norm it says next to nothing: a model may cross the grid.

    Parameters
    ----------
    problem : public facts, of the squared loss without weights. ``models`` : of parts, public.
    columns : places of the features that the fits have, increasing: public, or released. ``None``:
        all of them.
    """

    problem: Problem
    models: int
    columns: tuple[int, ...] | None = None

    kind: ClassVar[str] = "models"
    whole_table: ClassVar[str] = "draws a part for each row"

    def __post_init__(self) -> None:
        require_squares(self.problem)
        if type(self.models) is not int or not 3 <= self.models <= 2**16:
            raise InvalidInputError(f"Expected 3 <= models={self.models!r} <= 65536, an int.")
        entries = entries_of(self.n_columns, self.models)
        if entries > MOST_ENTRIES or self.bits < 8:
            raise InvalidInputError(
                f"The products of {self.n_columns} columns in {self.models} parts are too many: "
                "take fewer columns (--set columns=), or fewer parts (--set models=)."
            )
        if not all(a < b for a, b in pairwise((-1, *self.places, self.problem.n_features))):
            raise InvalidInputError(f"Expected columns={self.columns!r} to be places of features.")

    @property
    def places(self) -> tuple[int, ...]:
        """The places of the features that the fits have."""
        return tuple(range(self.problem.n_features)) if self.columns is None else self.columns

    @property
    def n_columns(self) -> int:
        return len(self.places)

    @property
    def bits(self) -> int:
        """Rows and targets are in steps of ``2**-bits``: sums of eight times as many rows as a part
        has of ``capacity`` ones fit."""
        problem = self.problem
        rows = problem.capacity if problem.n is None else problem.n
        room = 62 - (8 * (rows // self.models + 1)).bit_length()
        longest = max(1.0, problem.row_norm)
        return min(_MOST_BITS, (room - 2 * int(np.ceil(np.log2(longest)))) // 2)

    @property
    def rows_that_fit(self) -> int | None:
        return self.problem.capacity if self.problem.n is None else None

    def answer_table(self, table: Table, noise: NoiseSource) -> np.ndarray:
        width = self.n_columns + 1
        counts = np.zeros(self.models, dtype=np.int64)
        products = np.zeros((self.models, width * (width + 1) // 2), dtype=np.int64)
        parts, begin = self._parts(table.n_rows, noise), 0
        for block in table.blocks:
            whose = parts[begin : begin + block.n_rows]
            add_products(self._steps(block), whose, counts, products)
            begin += block.n_rows
        return np.stack([self._fit(*part) for part in zip(counts.tolist(), products, strict=True)])

    def _parts(self, n_rows: int, noise: NoiseSource) -> np.ndarray:
        """Return the part of each row, int64: by coins of its own, as many for every row."""
        bits = self.models.bit_length() + _EVEN_BITS
        parts = np.zeros(n_rows, dtype=np.int64)
        for _ in range(bits):
            parts = 2 * parts + noise.coins(n_rows, 2**63)
        return (parts * self.models) >> bits

    def _steps(self, block: Block) -> np.ndarray:
        """Return the rows in whole steps, the last column first, and the target behind them."""
        columns = (block.rows()[:, self.places[::-1]], Table.clamped_labels(block.y)[:, np.newaxis])
        steps = np.ldexp(np.concatenate(columns, axis=1), self.bits)
        return np.trunc(steps).astype(np.int64)

    def _fit(self, count: int, products: np.ndarray) -> np.ndarray:
        """Return the model of a part: its number of rows, and the triangle of their products."""
        d = self.n_columns
        matrix, kept, w = np.zeros((d + 1, d + 1)), np.zeros(d, dtype=np.bool_), np.empty(d)
        matrix[np.triu_indices(d + 1)] = products
        squares = np.diagonal(matrix)[:d] + self.problem.l2 * count * 4.0**self.bits
        matrix[range(d), range(d)] = squares
        matrix[d, :d] = squares  # Beneath the triangle: what a pivot is compared with.
        eliminate(matrix, _LEAST_SHARE, kept)
        back_substitute(matrix, kept, w)
        w = w[::-1]
        if self.problem.intercept:
            w[-1] += middle_of(self.problem, self.spread(w))
        steps = np.rint(np.ldexp(w, Problem.PARAMETER_BITS))
        held = np.clip(np.nan_to_num(steps, nan=0.0), -LARGEST_STEPS, LARGEST_STEPS)
        return np.asarray(held.astype(np.int64))

    def spread(self, w: np.ndarray) -> np.ndarray:
        """Return the coefficients of all features, 0 for those that the fits do not have."""
        spread = np.zeros(self.problem.n_features)
        spread[list(self.places)] = w
        return spread

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = float(np.ldexp(2.0 * LARGEST_STEPS, -Problem.PARAMETER_BITS))
        return Sensitivity("linf", bound, relation, grid_bits=Problem.PARAMETER_BITS)

    def dry_run_queries(self) -> tuple[Callable[[Block], None]]:
        return (self._load,)

    def _load(self, none: Block) -> None:
        """Call what an answer calls, with a block of no rows."""
        width = self.n_columns + 1
        products = np.zeros((1, width * (width + 1) // 2), dtype=np.int64)
        whose = np.empty(0, dtype=np.int64)
        add_products(self._steps(none), whose, np.zeros(1, dtype=np.int64), products)
        self._fit(0, products[0])


def middle_of(problem: Problem, w: np.ndarray) -> float:
    """Return what coefficients add to a prediction at the middles of the numbers between bounds,
    which are in [0, 1]."""
    return 0.5 * float(ordered_sum(w[list(problem.numbers)]))


def entries_of(n_columns: int, models: int) -> int:
    """Return the numbers of the triangles of all parts."""
    return models * ((n_columns + 1) * (n_columns + 2) // 2)


def require_squares(problem: Problem) -> None:
    """Raise InvalidInputError for a problem of another loss, or of rows with weights."""
    if problem.loss.name != "ridge" or LossFacts.of(problem.loss).weighs_rows:
        raise InvalidInputError(
            "Tukey depth is for the squared loss, of rows without weights: --loss ridge "
            "(loss='ridge')."
        )
