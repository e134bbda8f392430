"""The objective at one point, and the number of rows that are misclassified there."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, ordered_norm, round_parameters
from dpcore.plugin.parts import Sensitivity, clipped_total, constant, sealed
from dpcore_accuracy_first.objectives.public_ball import penalty_of
from dpcore_accuracy_first.objectives.radial_penalty import public_rows, rows_at_most
from dpcore_baselines.queries.gradient_sum import bounded_labels

if TYPE_CHECKING:
    from dpcore.plugin import Loss, NeighboringRelation, Problem
    from dpcore.plugin.parts import Block
    from dpcore_accuracy_first.objectives.public_ball import PublicBall

__all__ = ["ErrorCount", "ObjectiveSum"]

_COUNT_BITS = 20
_UP = 1.0 + 2.0**-40


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class ObjectiveSum:
    """``sum_i clip(loss(x_i.w, y_i)) + (n l2 / 2) ||w||^2``, each loss clipped to the ball's range.

    A row contributes its loss less ``low``, clipped to [0, ``spread``] and truncated to whole grid
    steps, and n ``low`` is added as a public value: so the sum moves by at most ``spread`` when a
    row is replaced. For ``w`` in the ball nothing is clipped.

    Where n is private the sum is ``sum_i (clip(loss) - less) + (n0 l2 / 2) ||w||^2`` and the
    penalty, which is public: ``low`` is added for no row, and ``less`` is subtracted for each. So a
    mean is tested by a sum that is compared with 0, whatever n is, and a row more or less moves it
    by max(high - less, less - low): half of the spread for ``less`` in the middle.

    Parameters
    ----------
    problem : public facts, ``n_public`` among them; its loss runs on raw rows.
    w : float64 of the problem's shape, rounded to the parameters' grid.
    ball : the public ball in which ``w`` lies.
    less : a public value from low to high + spread, rounded down to the grid; where n is private.
    """

    problem: Problem
    w: np.ndarray
    ball: PublicBall
    less: float | None = None
    _start: np.ndarray = field(init=False, repr=False)

    kind: ClassVar[str] = "objective"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        problem = self.problem
        w = round_parameters(self.w, problem.raw_norm_bound)
        n = public_rows(problem)
        public = 0.5 * n * problem.l2 * ordered_norm(w) ** 2
        if problem.n is None:
            public += penalty_of(problem).value(w)
        else:
            public += n * self.ball.low
        if self.less is not None and problem.n is not None:
            raise InvalidInputError("Expected no less where the number of rows is public.")
        most = self.ball.high + self.ball.spread
        if self.less is not None and not self.ball.low <= self.less <= most:
            raise InvalidInputError(
                f"Expected {self.less:g} per row to be from {self.ball.low:g} to {most:g}: a "
                "target beyond that is met by every model in the public ball, or by none."
            )
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

    @property
    def most_rows(self) -> int | None:
        """Up to so many rows no sum wraps around, as a test of it has to trust."""
        return rows_at_most(self.problem) if self.problem.n is None else None

    def start(self) -> np.ndarray:
        return self._start.copy()

    def answer_block(self, block: Block) -> np.ndarray:
        values = np.empty(block.n_rows)
        labels = bounded_labels(block, self.problem.n_margins)
        self.loss.value(block.margins(self.w), labels, values)
        values -= self.ball.low
        total = clipped_total(values, self.ball.spread, 2.0**self.bits)
        return np.array([int(total) - block.n_rows * self._less_steps()], dtype=np.int64)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        # A row adds a value in [0, spread], truncated to whole steps, beside the public part.
        bound, less = self.ball.spread, math.ldexp(self._less_steps(), -self.bits)
        if self.problem.n is None:
            if relation.size_is_public:
                raise InvalidInputError("The sum was made for a number of rows that is private.")
            bound = max(bound - less, less) * _UP
        return Sensitivity("l1", bound, relation, grid_bits=self.bits)

    def _less_steps(self) -> int:
        """Return ``less`` above ``low`` in whole steps, rounded down."""
        if self.less is None:
            return 0
        return math.floor(math.ldexp(self.less - self.ball.low, self.bits))


def objective_bits(problem: Problem, ball: PublicBall) -> int:
    """Return how fine the grid of a sum of losses may be: at most 2^-30, the sum over all rows, or
    over those that errors are bounded for, below 2^61 steps."""
    if problem.n is None:
        # The public part is below n0 ``high``, which may be more than the spreads of all rows.
        return min(
            30, 61 - math.frexp(max(ball.high, -ball.low))[1] - rows_at_most(problem).bit_length()
        )
    rows = max(problem.n, 2)
    return min(30, 61 - math.frexp(ball.high + ball.spread)[1] - rows.bit_length() - 1)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class ErrorCount:
    """The number of rows whose margin has not the sign of their label, where a margin of 0 counts
    as -1. Of several classes it is the number of rows of another class than that of the largest
    margin, the first of equals.

    A row counts 0 or 1, so one row more, less or other moves it by at most 1 under either relation.
    Its grid is 2^-20 rows, for finer noise. Where the number of rows is private, a share ``less``
    is subtracted for each row: the share of errors is at most that where the answer is at most 0,
    whatever n is, and one row more or less moves it by max(less, 1 - less).

    Parameters
    ----------
    problem : public facts.
    w : float64 of the problem's shape, a released value.
    less : a share from 0 to 1, rounded down to the grid.
    """

    problem: Problem
    w: np.ndarray
    less: float = 0.0

    kind: ClassVar[str] = "error-count"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        rounded = round_parameters(self.w, self.problem.raw_norm_bound)
        object.__setattr__(self, "w", constant(rounded))
        if not 0 <= self.less <= 1:
            raise InvalidInputError(f"Expected less={self.less!r} to be a share, from 0 to 1.")

    def start(self) -> np.ndarray:
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        margins = block.margins(self.w)
        if margins.ndim > 1:
            wrong = int(np.count_nonzero(margins.argmax(axis=0) != block.y))
        else:
            wrong = int(np.count_nonzero((margins > 0) != (block.y > 0)))
        steps = (wrong << _COUNT_BITS) - block.n_rows * self._less_steps()
        return np.array([steps], dtype=np.int64)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        less = math.ldexp(self._less_steps(), -_COUNT_BITS)
        bound = 1.0 if relation.size_is_public else max(less, 1 - less)
        return Sensitivity("l1", bound, relation, grid_bits=_COUNT_BITS)

    def _less_steps(self) -> int:
        return math.floor(math.ldexp(self.less, _COUNT_BITS))
