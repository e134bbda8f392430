"""Scores of several candidates on the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, ordered_dot, round_parameters
from dpcore.plugin.parts import LossFacts, Sensitivity, clipped_total, constant, sealed
from dpcore_baselines.queries.gradient_sum import bounded_labels, loss_error
from dpcore_baselines.queries.kernels import widest_square

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

_MARGIN_ERROR = 2.0**-51
"""Of two margins together, rounded once each, over the longest candidate and the row norm."""
_UP = 1.0 + 2.0**-40
"""Above the rounding of a few products, and of sums of squares over up to 2^12 coordinates."""


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class ClippedLossScores:
    """Scores ``-sum_i clip(loss(x_i.w_k, y_i)) - (n l2 / 2) ||w_k||^2`` of candidates w_k, largest
    best.

    A row contributes to every score a value in [-loss_clip, 0], truncated to whole steps, of 2^-20
    or, for a ``loss_clip`` of 4 or more, coarser ones.
    Under add-or-remove-one all scores move the same way, by at most ``loss_clip``, which is the
    range of their change; under replace-one one may rise by it while another falls: twice that. The
    second term is public, n the public number of rows, if there is one.

    ``enhanced``: the range of the change is also at most how far apart one row's losses at two of
    the candidates can be, and twice that under replace-one: the scores' common change takes nothing
    from a selection (Zhang, Xiao, Yang, Zhang & Winslett 2013, enhanced exponential mechanism;
    proof: with utilities u and u' = u + c on neighbours, log p_i - log p'_i = -c_i / s + log of the
    mean over p of e^(c_j / s), which is within (max c - min c) / s of 0 on either side). Losses are
    Lipschitz in the margin, the clip to [0, loss_clip] takes nothing away, and margins of a row are
    at most ``row_norm`` times the candidates' distance apart. All of that is public: candidates
    are released values or public ones. Rounding is counted: the margins', the losses' and one step
    for truncation.

    Parameters
    ----------
    problem : public facts; its loss runs on raw rows.
    candidates : float64 of shape (n_candidates, n_features), released values or public ones; each
        is rounded to the parameters' grid.
    loss_clip : bound of a row's loss, from 2^-10 to 2^20.
    enhanced : whether the range follows the candidates' distances, where that is less.
    """

    problem: Problem
    candidates: np.ndarray
    loss_clip: float
    enhanced: bool = False
    _spread: float = field(init=False, repr=False)
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
        if points.ndim != 2:
            raise InvalidInputError("Expected candidates of shape (n_candidates, n_features).")
        object.__setattr__(self, "candidates", points)
        # Blocks recognise an array that they have seen, and round it once.
        cuts = range(_AT_ONCE, len(points), _AT_ONCE)
        object.__setattr__(self, "_groups", tuple(np.split(points, cuts)))
        weight = 0.5 * problem.l2 * (problem.n_public or 0)
        steps = np.rint(np.ldexp(weight * ordered_dot(points, points), self.bits))
        if not (np.abs(steps) < 2.0**61).all():
            raise InvalidInputError(
                "The regulariser of a candidate is too large: lower --l2 (l2=)."
            )
        object.__setattr__(self, "_start", constant(-steps, np.int64))
        object.__setattr__(self, "_spread", self._row_spread() if self.enhanced else self.loss_clip)

    def _row_spread(self) -> float:
        """Return a bound, rounded up, of how far apart two scores' parts of one row are."""
        slope, row_norm = LossFacts.of(self.loss).lipschitz, self.problem.row_norm
        if math.isinf(slope):
            return self.loss_clip
        longest = math.sqrt(ordered_dot(self.candidates, self.candidates).max())
        margins = row_norm * (_diameter_up(self.candidates) + _MARGIN_ERROR * longest)
        rounding = 2.0**-self.bits + 2 * loss_error(self.loss)
        return min(self.loss_clip, (slope * margins + rounding) * _UP)

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
        values, labels = np.empty(block.n_rows), bounded_labels(block)
        scores = np.zeros(self._start.size, dtype=np.int64)
        k = 0
        for points in self._groups:
            for z in block.margins_at(points):
                self.loss.value(z, labels, values)
                scores[k] = -clipped_total(values, self.loss_clip, 2.0**self.bits)
                k += 1
        return scores

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        change = self._spread * relation.rows_changed
        return Sensitivity("linf", self.loss_clip, relation, self.bits, change_range=change)


def _diameter_up(points: np.ndarray) -> float:
    """Return the largest l2 distance between two of the points, rounded up.

    The noise follows it, and has the same bits everywhere.
    """
    square = widest_square(np.ascontiguousarray(points.T), np.empty(len(points)))
    widened = 1.0 + (points.shape[1] + 8) * 2.0**-52
    return math.sqrt(square * widened) * _UP
