"""The sum of clipped gradients on a coarse grid, record by record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, Problem
from dpcore.plugin.parts import (
    ClippedGradients,
    Sensitivity,
    clip_coefficients,
    sealed,
)

if TYPE_CHECKING:
    from dpcore.plugin import NeighboringRelation
    from dpcore.plugin.parts import Block

__all__ = ["RecordGradientSum"]

_RECORDS, _CELLS = 64, 1 << 20
"""Records whose products are worked out at a time, and their entries, at most."""


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class RecordGradientSum(ClippedGradients):
    """``ClippedGradientSum`` whose every record is truncated towards zero to ``2**-grid_bits``.

    On a grid that is coarse against its noise, noise is drawn in bulk and an answer is short.
    Sensitivity (Abadi et al. 2016, section 3.1): truncation towards zero makes no coordinate of a
    record's vector larger, so its norm stays at most ``clip`` and the sum moves by at most ``clip``
    under add-or-remove-one and replace-special, by ``2 clip`` under replace-one. (To truncate the
    sum instead would add sqrt(d) grid steps.)

    Parameters
    ----------
    problem, w, clip, noise_multiplier : as there, in the norm l2.
    grid_bits : the answer's grid is ``2**-grid_bits``; at most that of ``ClippedGradientSum``.
    """

    problem: Problem
    w: np.ndarray
    clip: float
    grid_bits: int
    noise_multiplier: float = 1.0
    bits: int = field(init=False)

    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._take_grids()
        if self.grid_bits > Problem.FEATURE_BITS + self.bits:
            raise InvalidInputError(
                f"Expected grid_bits={self.grid_bits!r} <= {Problem.FEATURE_BITS + self.bits}: "
                "products of coefficients and features have that grid."
            )

    def answer_block(self, block: Block) -> np.ndarray:
        c = self._slopes(block)
        clip_coefficients(c, block.factor, block.row_norms("l2"), self.clip, 2.0**self.bits)
        total, places = self.start(), np.flatnonzero(c)
        some = max(1, min(_RECORDS, _CELLS // total.size))
        for first in range(0, places.size, some):
            these = places[first : first + some]
            # A product is exact (dpcore.exact.grid.coefficient_bits), so the truncation is of it;
            # each record is the only one of its row of coefficients.
            products = block.take(these).weighted_sum(np.diag(c[these]))
            total += np.trunc(np.ldexp(products, self.grid_bits)).astype(np.int64).sum(axis=0)
        return total

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = self.clip * relation.rows_changed
        return Sensitivity("l2", bound, relation, grid_bits=self.grid_bits)
