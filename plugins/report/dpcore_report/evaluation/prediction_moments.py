"""Sums of products of predictions and targets, of a model that predicts a number."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    LossFacts,
    RowFunction,
    Sensitivity,
    clipped_total,
    float_up,
    sealed,
    sqrt_up,
)
from dpcore_report.evaluation.held_out_sums import BITS, HeldOutSums

if TYPE_CHECKING:
    from dpcore.plugin import Loss
    from dpcore.plugin.parts import Block

__all__ = ["WIDTHS", "PredictionMoments", "moments_of", "widths_of"]

WIDTHS = (0, 2, 2, 1, 2, 1, 1)
"""Of the intervals that a row's 1, z, y, z^2, z y, y^2 and |z - y| / 2 lie in: of the 1, which
every row has, no width, and [0, 1] of a square and of half an error."""


def _mean(z: float, y: float, parameters: np.ndarray) -> float:
    return min(math.expm1(min(z, 1.0)), 1.0)


_MEAN = RowFunction.coefficient(_mean)


@sealed
class PredictionMoments(HeldOutSums):
    """Seven sums over rows, of 1, z, y, z^2, z y, y^2 and |z - y| / 2. Here y is the target scaled
    to [-1, 1], and z the prediction, scaled and held to [-1, 1] likewise, as ``Model.predict``
    holds it.

    The squared errors of the model, z^2 - 2 z y + y^2, and those of a constant m, y^2 - 2 m y +
    m^2, follow from them for the same rows, and neither is clipped.

    A row's seven numbers are truncated towards zero to 2^-20, and each stays in its interval:
    [-1, 1] of z, y and z y, [0, 1] of the others. A row that is added or removed, or replaced by a
    row that contributes nothing, moves each sum by at most 1: all by at most 7 in l1 and sqrt(7) in
    l2. A row that is replaced by another moves each by at most the width of its interval, and the
    count not at all: by at most 9 in l1 and sqrt(15) in l2 (Dwork, McSherry, Nissim & Smith 2006,
    section 3). Roots are rounded up.

    Where rows have weights, each of the seven is times the row's count, from 0 to 1: it stays in
    its interval, that of the 1 is [0, 1], and a row that is replaced moves them by at most 10 in l1
    and 4 in l2.
    """

    __slots__ = ()

    @property
    def shape(self) -> tuple[int]:
        return (len(WIDTHS),)

    def answer_block(self, block: Block) -> np.ndarray:
        margins = np.ascontiguousarray(block.margins(self.w))
        return moments_of(self.problem.loss, margins, self._labels(block), self._counts(block))

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        replaced = relation is NeighboringRelation.REPLACE_ONE
        moves = widths_of(self.largest_weight) if replaced else (1,) * len(WIDTHS)
        squares = Fraction(sum(move**2 for move in moves))
        bound = float(sum(moves)) if self.norm == "l1" else float_up(sqrt_up(squares))
        return Sensitivity(self.norm, bound, relation, BITS)


def widths_of(largest_weight: float | None) -> tuple[int, ...]:
    """Return ``WIDTHS`` of rows whose weights go up to a largest one, if they have some."""
    return WIDTHS if largest_weight is None else (1, *WIDTHS[1:])


def moments_of(
    loss: Loss,
    margins: np.ndarray,
    y: np.ndarray,
    counts: np.ndarray,
    chosen: np.ndarray | None = None,
) -> np.ndarray:
    """Return the sums of the rows of a block, or of the chosen ones (bool), int64 in steps.
    ``counts`` : what each row counts, likewise."""
    z, share = _predictions(loss, margins), np.ldexp(counts.astype(np.float64), -BITS)
    products = [share * each for each in (1.0, z, y, z**2, z * y, y**2, np.abs(z - y) / 2)]
    kept = products if chosen is None else [each[chosen] for each in products]
    return np.array([_signed_total(each) for each in kept], dtype=np.int64)


def _predictions(loss: Loss, margins: np.ndarray) -> np.ndarray:
    """Return the predictions of margins, held to [-1, 1]. The mean of a log link is a function of
    one row: it has the same bits whatever the row's place."""
    if LossFacts.of(loss).log_link:
        means = np.empty_like(margins)
        _MEAN.fill(margins, margins, np.zeros(0), means)
        return means
    return np.asarray(np.clip(margins, -1.0, 1.0))


def _signed_total(values: np.ndarray) -> int:
    """Return the sum of values clipped to [-1, 1] and truncated towards zero, in steps."""
    return int(clipped_total(values, 1.0, 2.0**BITS)) - int(clipped_total(-values, 1.0, 2.0**BITS))
