"""Sums of products of rows held to length 1, with an l2 sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpcore.plugin import InvalidInputError, NeighboringRelation, Problem
from dpcore.plugin.parts import (
    Sensitivity,
    Table,
    constant,
    float_up,
    sealed,
    sqrt_up,
)
from dpcore_adassp.kernels import residual_sums
from dpcore_baselines.queries.gradient_sum import bounded_labels

if TYPE_CHECKING:
    from dpcore.plugin.parts import Block
    from dpcore_adassp.row_map import RowMap

__all__ = ["LARGEST_COEFFICIENT", "Products", "unpacked"]

_ONE, _PAIR, _WEIGHT_BITS = 32, 45, 5
"""An off-diagonal product counts 45/32 times, a little less than the root of 2: the l2 norm of the
triangle that a row adds is then that of its whole matrix."""

Part = Literal["squares", "targets"]
LARGEST_COEFFICIENT = 2.0**20
_ROOT_OF_2 = float_up(sqrt_up(Fraction(2)))


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """The weighted upper triangle of ``sum_i p_i p_i'``, row by row, or ``sum_i t_i p_i``, of
    mapped rows p and targets t. They are p = g phi / length with g = min(1, length / ||phi||), and
    t = (stretch g y - p.at) / clip held to [-1, 1]: ||p|| <= 1, |t| <= 1. Off-diagonal entries
    count omega = 45/32 times.

    Sensitivity, of rows (p, t) and (q, s), u and v what they add, c = p.q:

    * squares: ||u||^2 = sum_j p_j^4 + omega^2 sum_{j<k} p_j^2 p_k^2 <= ||p||^4 <= 1, since
      omega^2 <= 2; u.v = (1 - omega^2 / 2) sum_j p_j^2 q_j^2 + omega^2 c^2 / 2 >= 0. So 1 under
      add-or-remove-one and replace-special, and ||u - v||^2 <= 2 under replace-one.
    * targets: ||u|| = |t| ||p|| <= 1, and ||u - v|| <= 2, whatever ``at`` is: it was there before
      the rows were asked.

    A matrix that is symmetric by mirroring costs nothing: the triangle is drawn once (Wang 2018,
    section 3, counts it so; omega is ours). Rows and targets are truncated towards zero to
    ``2**-bits`` once they are mapped and scaled, and multiplied and added as whole numbers, so all
    of this holds exactly, modulo 2^64 too.

    Parameters
    ----------
    problem : public facts. ``row_map`` : phi. ``length`` : a public or released value; rows whose
        image is longer weigh less, so that they are of that length.
    stretch : of the targets, 1 or more.
    part : the matrix, or the vector.
    at : coefficients of p whose residuals are the targets, float64 of shape (n_features,), released
        or public; ``None`` for 0. ``clip`` : the size to which residuals are held, their unit.
    """

    problem: Problem
    row_map: RowMap
    length: float
    stretch: float = 1.0
    part: Part = "squares"
    at: np.ndarray | None = None
    clip: float = 1.0

    kind: ClassVar[str] = "products"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("length", "stretch", "clip"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if not 2.0**-20 <= self.length <= 2.0**20:
            raise InvalidInputError(f"Expected 2^-20 <= length={self.length!r} <= 2^20.")
        if not 1.0 <= self.stretch <= 2.0**20:
            raise InvalidInputError(f"Expected 1 <= stretch={self.stretch!r} <= 2^20.")
        if not 2.0**-20 <= self.clip <= 2.0**20:
            raise InvalidInputError(f"Expected 2^-20 <= clip={self.clip!r} <= 2^20.")
        if self.bits < 4:
            raise InvalidInputError("The rows are too many for exact sums of squares.")
        if self.row_map.width != self.problem.n_features:
            raise InvalidInputError("Expected a map of the problem's columns.")
        if self.at is not None:
            object.__setattr__(self, "at", _coefficients(self.at, self.row_map.width))

    @property
    def bits(self) -> int:
        """Rows and targets are in steps of ``2**-bits``: a block's sums are below 2^53 steps, and
        all rows', weighted, below 2^62."""
        problem = self.problem
        rows = problem.capacity if problem.n is None else problem.n
        room = 61 - rows.bit_length() - _WEIGHT_BITS - 1
        return min(Problem.FEATURE_BITS, Table.BLOCK_SUM_BITS // 2, room // 2)

    @property
    def rows_that_fit(self) -> int | None:
        return self.problem.capacity if self.problem.n is None else None

    def start(self) -> np.ndarray:
        d = self.problem.n_features
        return np.zeros(d * (d + 1) // 2 if self.part == "squares" else d, np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        rows, norms = self.row_map.apply(block)
        norms /= self.length
        # Twice what the bound needs is taken off for the roundings here.
        shrunk = np.where(norms > 1.0, (1.0 - 2.0**-40) / np.maximum(norms, 1.0), 1.0 - 2.0**-40)
        rows *= (shrunk / self.length)[:, np.newaxis]
        np.trunc(np.multiply(rows, 2.0**self.bits, out=rows), out=rows)
        # Whole numbers whose sums over a block are below 2^53: exact in any order.
        if self.part == "squares":
            gram = (rows.T @ rows).astype(np.int64)
            weights = np.full(gram.shape, _PAIR) + (_ONE - _PAIR) * np.eye(len(gram), dtype=int)
            return np.asarray((gram * weights)[np.triu_indices(len(gram))])
        targets = self.stretch * shrunk * bounded_labels(block)
        at = np.zeros(rows.shape[1]) if self.at is None else np.ldexp(self.at, -self.bits)
        sums = np.zeros(rows.shape[1])
        # A block without rows has to be of the layout of any other, which the kernel is made for.
        whole = np.ascontiguousarray(rows)
        residual_sums(whole, targets, at, np.array([self.clip, 2.0**self.bits]), sums)
        return np.asarray(sums.astype(np.int64) * _ONE)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = 1.0
        if relation is NeighboringRelation.REPLACE_ONE:
            bound = _ROOT_OF_2 if self.part == "squares" else 2.0
        return Sensitivity("l2", bound, relation, grid_bits=2 * self.bits + _WEIGHT_BITS)


def _coefficients(at: np.ndarray, width: int) -> np.ndarray:
    """Return a copy that nobody can write to; InvalidInputError for others than are expected."""
    at = constant(at)
    if at.shape != (width,) or not np.all(np.abs(at) <= LARGEST_COEFFICIENT):
        raise InvalidInputError("Expected a finite coefficient of at most 2^20 for every column.")
    return at


def unpacked(answer: np.ndarray, width: int) -> np.ndarray:
    """Return the symmetric matrix, off-diagonal entries as they are, of a released triangle."""
    upper = np.triu_indices(width)
    matrix = np.zeros((width, width))
    matrix[upper] = answer
    matrix[np.triu_indices(width, 1)] *= _ONE / _PAIR
    return np.asarray(matrix + np.triu(matrix, 1).T)
