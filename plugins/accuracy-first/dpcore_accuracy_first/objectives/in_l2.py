"""The answers that noise is added to, with their sensitivities in l2, for normal noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpcore.plugin import Problem
from dpcore.plugin.parts import Sensitivity, sealed
from dpcore_accuracy_first.objectives.base_releases import CovBase, OutputBase
from dpcore_accuracy_first.objectives.minimizer import Minimizer
from dpcore_accuracy_first.queries.gram import GramMatrix

if TYPE_CHECKING:
    from dpcore.plugin import NeighboringRelation

__all__ = ["CovBaseInL2", "GramInL2", "MinimizerInL2", "OutputBaseInL2"]

_UP = 1.0 + 2.0**-40


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class MinimizerInL2(Minimizer):
    """The minimiser, its sensitivity in l2: the distance that ``Minimizer`` has the proof of, and
    a step of a coarser grid for each coordinate, sqrt(d) of them in l2."""

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        l2, size = self.moves(relation), math.prod(self.problem.w_shape)
        if self.grid_bits < Problem.FINE_BITS:
            l2 += math.sqrt(size) * 2.0**-self.grid_bits
        return Sensitivity("l2", l2 * _UP, relation, grid_bits=self.grid_bits)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class GramInL2(GramMatrix):
    """X'X and X'y, their sensitivity in l2.

    A row of norm at most R, |y| <= 1, contributes to the triangle numbers of squares that add up
    to (||x||^4 + sum x_i^4) / 2 <= R^4, and to the rest at most R^2: sqrt(R^4 + R^2) under
    add-or-remove-one. Two rows' parts of the triangle have the inner product ((x.z)^2 +
    sum x_i^2 z_i^2) / 2 >= 0, so that they are sqrt(2) R^2 apart at most, and the rest 2 R:
    sqrt(2 R^4 + 4 R^2) under replace-one. Rows are truncated before they are multiplied, and
    products are exact, so that this is of the numbers that are added.
    """

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        square, rows = self.l2_norm**2, relation.rows_changed
        bound = math.sqrt(rows * square**2 + rows**2 * square) * _UP
        return Sensitivity("l2", bound, relation, grid_bits=2 * self.bits)


class OutputBaseInL2(OutputBase):
    """Output perturbation by normal noise; mu in place of epsilon."""

    minimizer: ClassVar[type[Minimizer]] = MinimizerInL2
    variance: ClassVar[int] = 1


class CovBaseInL2(CovBase):
    """Covariance perturbation by normal noise; mu in place of epsilon."""

    gram: ClassVar[type[GramMatrix]] = GramInL2
    variance: ClassVar[int] = 1
