"""Sums of products of rows held to length 1, with an l2 sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpcore.plugin import InvalidInputError, NeighboringRelation
from dpcore.plugin.parts import (
    BLOCK_SUM_BITS,
    FEATURE_BITS,
    Sensitivity,
    bounded_labels,
    float_up,
    sealed,
    sqrt_up,
)

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore.plugin.parts import Block
    from dpcore_adassp.row_map import RowMap

__all__ = ["Products", "unpacked"]

_ONE, _PAIR, _WEIGHT_BITS = 32, 45, 5
"""An off-diagonal product counts 45/32 times, a little less than the root of 2: the l2 norm of the
triangle that a row adds is then that of its whole matrix."""

Part = Literal["all", "squares", "targets"]


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """The weighted upper triangle of ``sum_i p_i p_i'``, row by row, and behind it
    ``sum_i t_i p_i``, of rows p = g phi / length with g = min(1, length / ||phi||), and t = stretch
    g y clipped to [-1, 1]: ||p|| <= 1, |t| <= 1. Off-diagonal entries count omega = 45/32 times.

    Sensitivity, of rows (p, t) and (q, s), u and v what they add, c = p.q:

    * ||u||^2 = sum_j p_j^4 + omega^2 sum_{j<k} p_j^2 p_k^2 + t^2 ||p||^2 <= ||p||^4 + t^2 ||p||^2
      <= 2, since omega^2 <= 2; 1 for the matrix alone, and 1 for the vector alone. That is what
      add-or-remove-one and replace-special move.
    * u.v = (1 - omega^2 / 2) sum_j p_j^2 q_j^2 + omega^2 c^2 / 2 + t s c >= omega^2 c^2 / 2 - |c|,
      at least -1 / (2 omega^2). Replace-one moves ||u - v||^2 = ||u||^2 + ||v||^2 - 2 u.v <= 4 + 1
      / omega^2; the matrix alone has u.v >= 0, so 2; the vector alone 4.

    A matrix that is symmetric by mirroring costs nothing: the triangle is drawn once (Wang 2018,
    section 3, counts it so; omega is ours). Rows and targets are truncated towards zero to
    ``2**-bits`` once they are mapped and scaled, and multiplied and added as whole numbers, so all
    of this holds exactly, modulo 2^64 too.

    Parameters
    ----------
    problem : public facts. ``row_map`` : phi. ``length`` : a public or released figure; rows whose
        image is longer weigh less, target included. ``stretch`` : of the targets, from 1 to 2^10.
    ``part`` : the matrix, the vector or both.
    """

    problem: Problem
    row_map: RowMap
    length: float
    stretch: float = 1.0
    part: Part = "all"

    kind: ClassVar[str] = "products"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", float(self.length))
        if not (math.isfinite(self.length) and 2.0**-20 <= self.length <= 2.0**20):
            raise InvalidInputError(f"Expected 2^-20 <= length={self.length!r} <= 2^20.")
        object.__setattr__(self, "stretch", float(self.stretch))
        if not 1.0 <= self.stretch <= 2.0**10:
            raise InvalidInputError(f"Expected 1 <= stretch={self.stretch!r} <= 2^10.")
        if self.bits < 4:
            raise InvalidInputError("The rows are too many for exact sums of squares.")
        if self.row_map.width != self.problem.n_features:
            raise InvalidInputError("Expected a map of the problem's columns.")

    @property
    def bits(self) -> int:
        """Rows and targets are in steps of ``2**-bits``: a block's sums are below 2^53 steps, and
        all rows', weighted, below 2^62."""
        problem = self.problem
        rows = problem.capacity if problem.n is None else problem.n
        room = 61 - rows.bit_length() - _WEIGHT_BITS - 1
        return min(FEATURE_BITS, BLOCK_SUM_BITS // 2, room // 2)

    @property
    def rows_that_fit(self) -> int | None:
        return self.problem.capacity if self.problem.n is None else None

    def start(self) -> np.ndarray:
        d = self.problem.n_features
        sizes = {"squares": d * (d + 1) // 2, "targets": d}
        return np.zeros(sum(n for part, n in sizes.items() if self.part in (part, "all")), np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        rows, norms = self.row_map.apply(block)
        norms /= self.length
        # Twice what the bound needs is taken off for the roundings here.
        shrunk = np.where(norms > 1.0, (1.0 - 2.0**-40) / np.maximum(norms, 1.0), 1.0 - 2.0**-40)
        rows *= (shrunk / self.length)[:, np.newaxis]
        np.trunc(np.ldexp(rows, self.bits, out=rows), out=rows)
        targets = np.clip(self.stretch * shrunk * bounded_labels(block), -1.0, 1.0)
        targets = np.trunc(np.ldexp(targets, self.bits))
        # Whole numbers whose sums over a block are below 2^53: exact in any order.
        parts = []
        if self.part != "targets":
            gram = (rows.T @ rows).astype(np.int64)
            weights = np.full(gram.shape, _PAIR) + (_ONE - _PAIR) * np.eye(len(gram), dtype=int)
            parts.append((gram * weights)[np.triu_indices(len(gram))])
        if self.part != "squares":
            parts.append((rows.T @ targets).astype(np.int64) * _ONE)
        return np.concatenate(parts)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        square = {"all": Fraction(2), "squares": Fraction(1), "targets": Fraction(1)}[self.part]
        if relation is NeighboringRelation.REPLACE_ONE:
            lowest = Fraction(_ONE, _PAIR) ** 2
            square = {"all": 4 + lowest, "squares": Fraction(2), "targets": Fraction(4)}[self.part]
        bound = float_up(sqrt_up(square))
        return Sensitivity("l2", bound, relation, grid_bits=2 * self.bits + _WEIGHT_BITS)


def unpacked(answer: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the symmetric matrix, off-diagonal entries as they are, and what is behind it, of a
    released answer, float64."""
    upper = np.triu_indices(width)
    matrix = np.zeros((width, width))
    matrix[upper] = answer[: len(upper[0])]
    matrix[np.triu_indices(width, 1)] *= _ONE / _PAIR
    return matrix + np.triu(matrix, 1).T, np.asarray(answer[len(upper[0]) :])
