"""Sums of clipped squared errors of a model that predicts a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.evaluation.held_out_sums import BITS, HeldOutSums
from dpcore.exact.rounding import float_up, sqrt_up
from dpcore.privacy.sealed import sealed
from dpcore.privacy.sensitivity import Sensitivity
from dpcore.queries.clipping import clipped_total

if TYPE_CHECKING:
    from dpcore.data.blocks.block import Block
    from dpcore.privacy.sensitivity import NeighboringRelation

__all__ = ["ErrorSums"]

_NUMBERS = 5


@sealed
class ErrorSums(HeldOutSums):
    """Five sums over rows, of a target y scaled to [-1, 1] and a prediction z: e = min((z - y)^2,
    1), e^2, (y + 1) / 2, y^2 and 1.

    A row's five numbers are each clipped to [0, 1] and truncated to 2^-20, so each sum moves by at
    most 1 when a row is added, removed or replaced: by at most 5 in l1 and the square root of 5,
    rounded up, in l2, under every relation. An error is so clipped at a public bound, half of the
    range of the target.
    """

    __slots__ = ()

    @property
    def shape(self) -> tuple[int]:
        return (_NUMBERS,)

    def answer_block(self, block: Block) -> np.ndarray:
        numbers = self._numbers(np.ascontiguousarray(block.margins(self.w)), block.y)
        return np.array([clipped_total(each, 1.0, 2.0**BITS) for each in numbers], dtype=np.int64)

    def _numbers(self, z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
        error = np.minimum((z - y) ** 2, 1.0)
        return error, error**2, (y + 1.0) / 2.0, y**2, np.ones(y.size)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = float(_NUMBERS) if self.norm == "l1" else float_up(sqrt_up(_NUMBERS))  # type: ignore[arg-type]
        return Sensitivity(self.norm, bound, relation, BITS)
