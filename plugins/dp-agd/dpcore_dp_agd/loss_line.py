"""Clipped losses of all candidates along a search line, as scores for a selection."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, round_parameters
from dpcore.plugin.parts import Logistic, LossFacts, Sensitivity, clipped_total, constant, sealed
from dpcore_dp_agd.kernels import line_margins
from dpcore_dp_agd.logistic_line import logistic_totals

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import Loss, NeighboringRelation, Problem
    from dpcore.plugin.parts import Block

__all__ = ["ClippedLossLine", "first_line"]

_LOSS_BITS = 20
_CONTRIBUTION_BITS = 22
"""A row's contribution is below 2^22 steps, the offset below 2^61: scores cannot wrap before 2^40
rows, and a selection, unlike a noisy sum, must not see a wrapped score."""


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class ClippedLossLine:
    """Scores ``-sum_i clip(loss(x_i.(w - a_k d), y_i))`` of the candidates ``a_k``, largest best.

    A row contributes to every score a value in ``[-loss_clip, 0]``. Under add-or-remove-one (and
    replace-special) all scores therefore move the same way, by at most ``loss_clip``: the range of
    the change is ``loss_clip``. Under replace-one one score may rise by ``loss_clip`` while another
    falls by it: the range is ``2 loss_clip`` (Lee & Kifer 2018, step size selection, take the
    first for both; exact quadrature shows that it is not enough). ``offset``, the regulariser of
    each candidate, is public and moves nothing.

    Parameters
    ----------
    problem : public facts; its loss runs on raw rows.
    w, direction : float64 of the problem's shape, released values, rounded to the grid.
    step_sizes : float64 of shape (n_candidates,).
    loss_clip : bound of a row's loss.
    offset : float64 of shape (n_candidates,), public, subtracted from the scores; or ``None``.
    """

    problem: Problem
    w: np.ndarray
    direction: np.ndarray
    step_sizes: np.ndarray
    loss_clip: float
    offset: np.ndarray | None = None
    _start: np.ndarray = field(init=False, repr=False)
    _step: float | None = field(init=False, repr=False)

    kind: ClassVar[str] = "selection"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        clip = self.loss_clip
        if not (math.isfinite(clip) and 2.0**-10 <= clip <= 2.0**20):
            raise InvalidInputError(f"Expected 2^-10 <= loss_clip={clip!r} <= 2^20.")
        object.__setattr__(self, "loss_clip", float(clip))
        # Blocks recognise a vector that nobody can write to, and round it once.
        for name in ("w", "direction"):
            rounded = round_parameters(getattr(self, name), self.problem.raw_norm_bound)
            object.__setattr__(self, name, constant(rounded))
        sizes = constant(self.step_sizes)
        if sizes.ndim != 1 or not sizes.size or not np.isfinite(sizes).all():
            raise InvalidInputError("Expected step_sizes to be a vector of finite numbers.")
        object.__setattr__(self, "step_sizes", sizes)
        offset = np.zeros(sizes.shape) if self.offset is None else constant(self.offset)
        steps = np.rint(np.ldexp(offset, self.bits))
        if steps.shape != sizes.shape or not (np.abs(steps) < 2.0**61).all():
            raise InvalidInputError("The public offset is too large or of the wrong shape.")
        object.__setattr__(self, "_start", constant(-steps, np.int64))
        object.__setattr__(self, "_step", _even_step(sizes))

    @property
    def loss(self) -> Loss:
        return self.problem.loss

    @property
    def bits(self) -> int:
        """Scores are multiples of ``2**-bits``."""
        return min(_LOSS_BITS, _CONTRIBUTION_BITS - math.frexp(self.loss_clip)[1])

    def start(self) -> np.ndarray:
        return self._start.copy()

    def answer_block(self, block: Block) -> np.ndarray:
        z, z_direction = block.line(self.w, self.direction)
        if not block.n_rows:
            # Asked before a charge: what the next gradient, on along this line, needs is loaded.
            # Where that is too far for exact margins nothing is said: with rows it is not asked.
            with suppress(InvalidInputError):
                block.margins(self.w - self.step_sizes[-1] * self.direction)
        line_totals = _line_totals_of(self.loss)
        if self._step is not None and line_totals is not None:
            line, count = (z, z_direction, block.factor), self._start.size
            totals: np.ndarray | None = line_totals(
                line, block.y, self._step, count, self.loss_clip, 2.0**self.bits
            )
            if totals is not None:
                return -totals
        margins, values = np.empty(z.shape), np.empty(block.n_rows)
        classes = [np.atleast_2d(part) for part in (z, z_direction, margins)]
        scores = np.zeros(self.step_sizes.shape[0], dtype=np.int64)
        for k, step in enumerate(self.step_sizes):
            for at, along, out in zip(*classes, strict=True):
                line_margins(at, along, step, block.factor, out)
            self.loss.value(margins, block.y, values)
            scores[k] = -clipped_total(values, self.loss_clip, 2.0**self.bits)
        return scores

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        change_range = self.loss_clip * relation.rows_changed
        return Sensitivity(
            "linf", self.loss_clip, relation, grid_bits=self.bits, change_range=change_range
        )


def _line_totals_of(loss: Loss) -> Callable[..., np.ndarray | None] | None:
    """Return what adds up a loss at evenly spaced candidates, ``None`` where nothing does faster
    than the loss itself: of the logistic loss, and of no subclass, this package."""
    return logistic_totals if type(loss) is Logistic else LossFacts.of(loss).line_totals


def _even_step(step_sizes: np.ndarray) -> float | None:
    """Return the spacing of step sizes 0, h, 2h, ... to the bit, or ``None``."""
    if step_sizes.size < 2:
        return None
    step = float(step_sizes[1])
    return step if np.array_equal(step_sizes, np.arange(step_sizes.size) * step) else None


def first_line(problem: Problem) -> ClippedLossLine:
    """Return a line that is as good as any: for the dry run before the first charge."""
    zero, unit = np.zeros(problem.w_shape), np.zeros(problem.w_shape)
    unit.flat[0] = 1.0
    return ClippedLossLine(problem, zero, unit, np.array([0.0, 0.5]), 1.0)
