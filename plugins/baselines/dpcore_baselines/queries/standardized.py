"""The sum of clipped per-row gradients of standardised rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import ClippedGradients, Sensitivity, sealed
from dpcore_baselines.queries.standardization import SCALE_BITS

if TYPE_CHECKING:
    from dpcore.plugin.parts import Block
    from dpcore_baselines.queries.standardization import Standardization

__all__ = ["StandardizedGradientSum"]


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class StandardizedGradientSum(ClippedGradients):
    """``sum_i clip(l'(x_i.w, y_i) phi_i)``, phi_i the row standardised by a public linear map.

    A row contributes its coefficient times phi_i, of l2 norm at most ``clip``: sensitivity ``clip``
    under add-or-remove-one and replace-special, ``2 clip`` under replace-one (Abadi et al. 2016,
    section 3.1, of the rows phi_i). In integers this holds exactly: the coefficient is truncated
    below ``clip / ||phi_i||``, the norm rounded up; the rows' own sum is exact, and so is its map
    to the standardised rows', in whole numbers modulo 2^64.

    Parameters
    ----------
    problem : public facts; its loss runs on raw rows.
    w : float64 of the problem's shape, a released value, of the rows as they are.
    standardization : the map, of public or released values.
    clip : the bound of a standardised row's gradient.
    noise_multiplier : the noise the answer will get, which bounds how fine the grid may be.
    """

    problem: Problem
    w: np.ndarray
    standardization: Standardization
    clip: float
    noise_multiplier: float = 1.0
    bits: int = field(init=False)

    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.standardization.require_columns(self.problem.n_features)
        # A row's own part of a sum, and the final steps, are 2^6 times the clip at most.
        self._take_grids(widest=float(self.clip) * 2.0**SCALE_BITS)

    def _norms(self, block: Block) -> tuple[np.ndarray, str]:
        # Beside the clip: |c| ||x_i|| <= 2^6 clip, so that the sum of a block is exact.
        return block.standardized_norms(self.standardization, 2.0**-SCALE_BITS), "l2"

    def from_sum(self, total: np.ndarray) -> np.ndarray:
        # No bare super(): a class with slots is made anew, and the cell would hold the first one.
        return self.standardization.map_sums(ClippedGradients.from_sum(self, total))

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bits = Problem.FEATURE_BITS + self.bits + SCALE_BITS
        return Sensitivity("l2", self.clip * relation.rows_changed, relation, grid_bits=bits)
