"""The sum of clipped gradients on a coarse grid, record by record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.exact.grid import FEATURE_BITS, coefficient_bits, round_parameters
from dpcore.privacy.sealed import constant, sealed
from dpcore.privacy.sensitivity import NeighboringRelation, Sensitivity
from dpcore.queries.clipping import clip_coefficients

if TYPE_CHECKING:
    from dpcore.data.blocks.table import Block
    from dpcore.protocols import Loss
    from dpcore.protocols.problem import Problem

__all__ = ["RecordGradientSum"]


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class RecordGradientSum:
    """``ClippedGradientSum`` whose every record is truncated towards zero to ``2**-grid_bits``.

    On a grid that is coarse against its noise, noise is drawn in bulk and an answer is short.
    Sensitivity (Abadi et al. 2016, section 3.1): truncation towards zero makes no coordinate of a
    record's vector larger, so its norm stays at most ``clip`` and the sum moves by at most ``clip``
    under add-or-remove-one and replace-special, by ``2 clip`` under replace-one. (To truncate the
    sum instead would add sqrt(d) grid steps.) It goes record by record: meant for small samples.

    Parameters
    ----------
    problem, w, clip, noise_multiplier : as there, in the norm l2.
    grid_bits : the answer stands on ``2**-grid_bits``; at most that of ``ClippedGradientSum``.
    """

    problem: Problem
    w: np.ndarray
    clip: float
    grid_bits: int
    noise_multiplier: float = 1.0
    bits: int = field(init=False)

    kind: ClassVar[str] = "gradient"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        rounded = round_parameters(self.w, self.problem.raw_norm_bound)
        object.__setattr__(self, "w", constant(rounded))
        object.__setattr__(self, "clip", float(self.clip))
        bits = coefficient_bits(self.clip, self.problem.capacity, self.noise_multiplier)
        object.__setattr__(self, "bits", bits)
        if self.grid_bits > FEATURE_BITS + self.bits:
            raise InvalidInputError(
                f"Expected grid_bits={self.grid_bits!r} <= {FEATURE_BITS + self.bits}: products of "
                "coefficients and features stand on that grid."
            )

    @property
    def loss(self) -> Loss:
        return self.problem.loss

    @property
    def rows_that_fit(self) -> int | None:
        return self.problem.unsure_capacity

    def start(self) -> np.ndarray:
        return np.zeros(self.w.shape[0], dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        c = np.empty(block.n_rows)
        self.loss.dvalue(np.ascontiguousarray(block.margins(self.w)), block.y, c)
        clip_coefficients(c, block.factor, block.row_norms("l2"), self.clip, 2.0**self.bits)
        total = self.start()
        alone = np.zeros(block.n_rows)
        for i in np.flatnonzero(c):
            alone[i] = c[i]
            # The product is exact (dpcore.exact.grid.coefficient_bits), so the truncation is of it.
            total += np.trunc(np.ldexp(block.weighted_sum(alone), self.grid_bits)).astype(np.int64)
            alone[i] = 0.0
        return total

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = self.clip * relation.rows_changed
        return Sensitivity("l2", bound, relation, grid_bits=self.grid_bits)
