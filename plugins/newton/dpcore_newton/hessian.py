"""The Hessian of a sum of losses in standardised columns, with an l2 sensitivity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, NeighboringRelation, Problem
from dpcore.plugin.parts import (
    CoefficientSum,
    Sensitivity,
    Table,
    float_up,
    sealed,
    sqrt_up,
)
from dpcore_baselines.queries.standardization import SCALE_BITS, Standardization
from dpcore_newton.kernels import write_roots

if TYPE_CHECKING:
    from dpcore.plugin.parts import Block, NoiseSource

__all__ = ["HessianSum", "HessianTrace", "unpacked"]

_ONE, _PAIR, _WEIGHT_BITS = 32, 45, 6
"""An entry beside the diagonal counts 45/32 times, a little less than the root of 2: the l2 norm of
the triangle that a row adds is then that of its whole matrix."""
_ROOT_OF_2 = float_up(sqrt_up(Fraction(2)))
_DOWN = 1.0 - 2.0**-36
_CELLS = 2**20
"""Cells of rows that are mapped at a time."""


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class HessianSum(CoefficientSum):
    """The upper triangle of ``sum_i c_i phi_i phi_i'``, row by row, entries beside the diagonal
    counted omega = 45/32 times. Here c_i >= 0 is what ``function`` makes of the row's margin, phi_i
    the row standardised by a public linear map, and ``c_i ||phi_i||^2 <= clip``.

    Sensitivity in l2, of rows with the root vectors p = sqrt(c) phi and q, ||p||^2, ||q||^2 <= clip
    (c is made less where it is more), u and v their triangles:

    * ||u||^2 = sum_j p_j^4 + omega^2 sum_{j<k} p_j^2 p_k^2 <= ||p||^4, since omega^2 <= 2: clip
      under add-or-remove-one and replace-special.
    * u.v = (1 - omega^2 / 2) sum_j p_j^2 q_j^2 + omega^2 (p.q)^2 / 2 >= 0, so that ||u - v||^2 <=
      ||u||^2 + ||v||^2: sqrt(2) clip under replace-one, less than twice.

    Both need c >= 0, and hold whatever ``function`` is: a number below 0, or not finite, counts as
    0. They hold for any w and map that were public or released before the rows are asked. In
    integers: root vectors are truncated towards zero to ``2**-steps_bits``, so that no square
    grows, the clip is taken 1 - 2^-36 times as large, more than their roundings add over up to 2^14
    columns, and their products are added as whole numbers, exactly, modulo 2^64 too.

    Parameters
    ----------
    As of ``CoefficientSum``; ``function`` : of ``weight``. ``clip`` : the bound of a row's matrix
    in the Frobenius norm, c ||phi||^2 and not its root. ``standardization`` : the map.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin.parts import Logistic
    >>> from dpcore.plugin import NeighboringRelation, Problem
    >>> from dpcore.plugin.parts import RowFunction
    >>> from dpcore_baselines.queries.standardization import Standardization
    >>> from dpcore_newton.curvature import hessian
    >>> from dpcore_newton.hessian import HessianSum
    >>> add = NeighboringRelation.ADD_OR_REMOVE_ONE
    >>> problem = Problem(Logistic(), 0.0, 3, row_norm=1.0, raw_norm_bound=1.0, relation=add)
    >>> same = Standardization.nearest(np.ones(3), np.zeros(3), None)
    >>> curvature = RowFunction.weight(hessian)
    >>> query = HessianSum(problem, np.zeros(3), curvature, 0.25, standardization=same)
    >>> query.start().shape, query.sensitivity(add).bound
    ((6,), 0.25)
    """

    standardization: Standardization | None = None

    form: ClassVar[str] = "weight"
    kind: ClassVar[str] = "hessian"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        CoefficientSum.__post_init__(self)
        if self.standardization is None or self.norm != "l2":
            raise InvalidInputError("Expected a map of the columns, and a clip in l2.")
        self.standardization.require_columns(self.problem.n_features)
        if self.problem.n_features > 2**14 or self.steps_bits < 4:
            raise InvalidInputError(
                f"A Hessian of {self.problem.n_features:,} columns has no room: expected at most "
                f"{2**14:,}, and rows that are fewer or shorter."
            )

    @property
    def _most_rows(self) -> int:
        problem = self.problem
        return problem.capacity if problem.n is None else problem.n

    @property
    def steps_bits(self) -> int:
        """Root vectors are in steps of ``2**-steps_bits``: a block's sums are below 2^53 steps, and
        all rows', weighted, below 2^62."""
        largest = math.frexp(max(self.clip, 2.0**-20))[1]
        room = 61 - self._most_rows.bit_length() - _WEIGHT_BITS - largest
        return min(Problem.FEATURE_BITS, (Table.BLOCK_SUM_BITS - largest) // 2, room // 2)

    def start(self) -> np.ndarray:
        d = self.problem.n_features
        return np.zeros(d * (d + 1) // 2, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        d = self.problem.n_features
        z = np.ascontiguousarray(block.margins(self.w))
        with np.errstate(all="ignore"):
            c = np.ascontiguousarray(self.numbers(block)(z, slice(0, block.n_rows)))
        maps, params = self._maps()
        rows = np.ascontiguousarray(block.rows(), dtype=np.float64)
        gram, at_a_time = np.zeros((d, d)), max(1, _CELLS // d)
        roots = np.empty((min(at_a_time, block.n_rows), d))
        for begin in range(0, block.n_rows, at_a_time):
            part = rows[begin : begin + at_a_time]
            write_roots(part, c[begin : begin + at_a_time], maps, params, roots[: len(part)])
            # Whole numbers whose sums over a block are below 2^53: exact in any order.
            gram += roots[: len(part)].T @ roots[: len(part)]
        weights = np.full((d, d), _PAIR) + (_ONE - _PAIR) * np.eye(d, dtype=int)
        return np.asarray((gram.astype(np.int64) * weights)[np.triu_indices(d)])

    def _maps(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the map and the params as the kernel takes them."""
        known = self.standardization
        assert known is not None
        maps = np.ldexp(np.array([known.scales, known.shifts], dtype=np.float64), -SCALE_BITS)
        last = 0 if known.constant is None else known.constant
        return maps, np.array([self.clip * _DOWN, 2.0**self.steps_bits, last])

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = self.clip
        if relation is NeighboringRelation.REPLACE_ONE:
            bound = float_up(Fraction(self.clip) * Fraction(_ROOT_OF_2))
        return Sensitivity("l2", bound, relation, grid_bits=2 * self.steps_bits + _WEIGHT_BITS - 1)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class HessianTrace:
    """The trace of a ``HessianSum``: ``sum_i c_i ||phi_i||^2``.

    A row adds a number from 0 to the Hessian's clip: sensitivity clip under every relation, since
    two such numbers differ by no more (Dwork, McSherry, Nissim & Smith 2006, of a sum of numbers in
    an interval). In integers it is the sum of the diagonal, without rounding.

    Raises InvalidInputError for the sum of another class, whose rows may add less than 0 or more.
    """

    hessian: HessianSum

    kind: ClassVar[str] = "trace"

    def __post_init__(self) -> None:
        if type(self.hessian) is not HessianSum:
            raise InvalidInputError(
                f"Expected the trace of a HessianSum, not of {type(self.hessian).__name__}."
            )

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        d = self.hessian.problem.n_features
        places = np.cumsum(np.append(0, np.arange(d, 1, -1)))
        return np.asarray(ask(self.hessian)[places].sum(keepdims=True))

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bits = self.hessian.sensitivity(relation).grid_bits
        return Sensitivity("l2", self.hessian.clip, relation, grid_bits=bits)


def unpacked(answer: np.ndarray, width: int) -> np.ndarray:
    """Return the symmetric matrix, float64, entries beside the diagonal as they are, of a triangle
    as ``HessianSum`` has it."""
    matrix = np.zeros((width, width))
    matrix[np.triu_indices(width)] = answer
    matrix[np.triu_indices(width, 1)] *= _ONE / _PAIR
    return np.asarray(matrix + np.triu(matrix, 1).T)
