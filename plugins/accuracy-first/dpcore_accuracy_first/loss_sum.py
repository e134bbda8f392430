"""The objective at one point, and the number of rows that are misclassified there."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import round_parameters
from dpcore.plugin.parts import Sensitivity, bounded_labels, clipped_total, constant, sealed

if TYPE_CHECKING:
    from dpcore.plugin import Loss, NeighboringRelation, Problem
    from dpcore.plugin.parts import Block
    from dpcore_accuracy_first.public_ball import PublicBall

__all__ = ["ErrorCount", "ObjectiveSum"]

_COUNT_BITS = 20
_MOST_ROWS = 2**40
"""More than any table has; 2^43 rows would wrap a count."""


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class ObjectiveSum:
    """``sum_i clip(loss(x_i.w, y_i)) + (n l2 / 2) ||w||^2``, each loss clipped to the ball's range.

    A row contributes its loss less ``low``, clipped to [0, ``spread``] and truncated to whole grid
    steps, and n ``low`` is added as a public figure: so the sum moves by at most ``spread`` when a
    row is added, removed or replaced. For ``w`` in the ball nothing is clipped. ``n`` is the public
    number of rows.

    Parameters
    ----------
    problem : public facts, ``n_public`` among them; its loss runs on raw rows.
    w : float64 of the problem's shape, rounded to the parameters' grid.
    ball : the public ball in which ``w`` lies.
    """

    problem: Problem
    w: np.ndarray
    ball: PublicBall
    _start: np.ndarray = field(init=False, repr=False)

    kind: ClassVar[str] = "objective"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        problem = self.problem
        w = round_parameters(self.w, problem.raw_norm_bound)
        n = problem.n_public or 0
        public = 0.5 * n * problem.l2 * float(w.reshape(-1) @ w.reshape(-1)) + n * self.ball.low
        object.__setattr__(self, "w", constant(w))
        steps = [round(math.ldexp(public, self.bits))]
        object.__setattr__(self, "_start", constant(steps, np.int64))

    @property
    def loss(self) -> Loss:
        return self.problem.loss

    @property
    def bits(self) -> int:
        """The objective is in steps of ``2**-bits``."""
        return objective_bits(self.problem, self.ball)

    def start(self) -> np.ndarray:
        return self._start.copy()

    def answer_block(self, block: Block) -> np.ndarray:
        values = np.empty(block.n_rows)
        labels = bounded_labels(block, self.problem.n_margins)
        self.loss.value(block.margins(self.w), labels, values)
        values -= self.ball.low
        total = clipped_total(values, self.ball.spread, 2.0**self.bits)
        return np.array([total], dtype=np.int64)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        # A row adds a value in [0, spread], truncated to whole steps, beside the public part.
        return Sensitivity("l1", self.ball.spread, relation, grid_bits=self.bits)


def objective_bits(problem: Problem, ball: PublicBall) -> int:
    """Return how fine the grid of a sum of losses may be: at most 2^-30, the sum over the capacity
    below 2^61 steps; over 2^40 rows where their number is private."""
    rows = _MOST_ROWS if problem.n is None else max(problem.n, 2)
    return min(30, 61 - math.frexp(ball.high + ball.spread)[1] - rows.bit_length() - 1)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class ErrorCount:
    """The number of rows whose margin has not the sign of their label (a margin of 0 counts as -1);
    of several classes, those of another class than that of the largest margin, the first of equals.

    A row counts 0 or 1, so one row more, less or other moves it by at most 1 under either relation.
    Its grid is 2^-20 rows, for finer noise.

    Parameters
    ----------
    problem : public facts.
    w : float64 of the problem's shape, a released value.
    """

    problem: Problem
    w: np.ndarray

    kind: ClassVar[str] = "error-count"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        rounded = round_parameters(self.w, self.problem.raw_norm_bound)
        object.__setattr__(self, "w", constant(rounded))

    def start(self) -> np.ndarray:
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        margins = block.margins(self.w)
        if margins.ndim > 1:
            wrong = int(np.count_nonzero(margins.argmax(axis=0) != block.y))
        else:
            wrong = int(np.count_nonzero((margins > 0) != (block.y > 0)))
        return np.array([wrong << _COUNT_BITS], dtype=np.int64)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return Sensitivity("l1", 1.0, relation, grid_bits=_COUNT_BITS)
