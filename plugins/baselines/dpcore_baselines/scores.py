"""Scores of several candidates on the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, round_parameters
from dpcore.plugin.parts import Sensitivity, clipped_total, constant, sealed

if TYPE_CHECKING:
    from dpcore.plugin import Loss, NeighboringRelation, Problem
    from dpcore.plugin.parts import Block

__all__ = ["ClippedLossScores"]

_LOSS_BITS = 20
_AT_ONCE = 64
"""Candidates whose margins are held at a time."""
_CONTRIBUTION_BITS = 22
"""A row's contribution is below 2^22 steps, the public part below 2^61: scores cannot wrap before
2^40 rows, and a selection must not see a wrapped score: one row would move it by 2^64 steps."""


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class ClippedLossScores:
    """Scores ``-sum_i clip(loss(x_i.w_k, y_i)) - (n l2 / 2) ||w_k||^2`` of candidates w_k, largest
    best.

    A row contributes to every score a value in [-loss_clip, 0], truncated to whole steps, of 2^-20
    or, for a ``loss_clip`` of 4 or more, coarser ones.
    Under add-or-remove-one all scores move the same way, by at most ``loss_clip``, which is the
    range of their change; under replace-one one may rise by it while another falls: twice that. The
    second term is public, n the public figure of rows, if there is one.

    Parameters
    ----------
    problem : public facts; its loss runs on raw rows.
    candidates : float64 of shape (n_candidates, n_features), released values or public ones; each
        is rounded to the parameters' grid.
    loss_clip : bound of a row's loss, from 2^-10 to 2^20.
    """

    problem: Problem
    candidates: np.ndarray
    loss_clip: float
    _groups: tuple[np.ndarray, ...] = field(init=False, repr=False)
    _start: np.ndarray = field(init=False, repr=False)

    kind: ClassVar[str] = "selection"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        problem, clip = self.problem, self.loss_clip
        if not (math.isfinite(clip) and 2.0**-10 <= clip <= 2.0**20):
            raise InvalidInputError(f"Expected 2^-10 <= loss_clip={clip!r} <= 2^20.")
        object.__setattr__(self, "loss_clip", float(clip))
        points = constant([round_parameters(w, problem.raw_norm_bound) for w in self.candidates])
        object.__setattr__(self, "candidates", points)
        # Blocks recognise an array that they have seen, and round it once.
        cuts = range(_AT_ONCE, len(points), _AT_ONCE)
        object.__setattr__(self, "_groups", tuple(np.split(points, cuts)))
        weight = 0.5 * problem.l2 * (problem.n_public or 0)
        steps = np.rint(np.ldexp(weight * (points**2).sum(axis=1), self.bits))
        if not (steps < 2.0**61).all():
            raise InvalidInputError("The regulariser of a candidate is too large: lower --l2.")
        object.__setattr__(self, "_start", constant(-steps, np.int64))

    @property
    def loss(self) -> Loss:
        return self.problem.loss

    @property
    def bits(self) -> int:
        """Scores are in steps of ``2**-bits``."""
        return min(_LOSS_BITS, _CONTRIBUTION_BITS - math.frexp(self.loss_clip)[1])

    def start(self) -> np.ndarray:
        return self._start.copy()

    def answer_block(self, block: Block) -> np.ndarray:
        values = np.empty(block.n_rows)
        scores = np.zeros(self._start.size, dtype=np.int64)
        k = 0
        for points in self._groups:
            for z in block.margins_at(points):
                self.loss.value(z, block.y, values)
                scores[k] = -clipped_total(values, self.loss_clip, 2.0**self.bits)
                k += 1
        return scores

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        change = self.loss_clip * relation.rows_changed
        return Sensitivity("linf", self.loss_clip, relation, self.bits, change_range=change)
