"""The sum of the rows' gradients, for what is derived from it, and how exact it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, Problem, round_parameters
from dpcore.plugin.parts import LossFacts, Table, constant, sealed
from dpcore_baselines.queries.descent import load_descent
from dpcore_baselines.queries.kernels import write_parts

if TYPE_CHECKING:
    from dpcore.plugin import Loss, NeighboringRelation
    from dpcore.plugin.parts import Block, Sensitivity

__all__ = [
    "GradientSum",
    "bounded_labels",
    "gradient_bits",
    "gradient_error",
    "loss_error",
    "dry_run_gradient",
]

_LOSS_ERROR = 2.0**-36
"""Bound of the error of a loss or slope that is computed (dpcore.losses: 1e-11)."""
_PRECISE_ERROR = 2.0**-46
"""The same of a loss's ``precise_dvalue``."""
_UP = 1.0 + 2.0**-40
_FINEST = 43
"""Bits of the finest grid that a block's sum is rounded to."""


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class GradientSum:
    """``sum_i l'(x_i.w, y_i) x_i``, unclipped: for use inside a derived query only.

    It is not released, and what is made of it counts its error, so that sums need not be exact.
    ``w`` : float64 of the problem's shape, on the grid of ``2**-FINE_BITS``. ``precise`` : for many
    rows: slopes by the loss's ``precise_dvalue`` where it has one, in two parts whose sums over a
    block are exact.
    """

    problem: Problem
    w: np.ndarray
    bits: int
    precise: bool = False
    rest: np.ndarray = field(init=False)

    kind: ClassVar[str] = "gradient"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        rounded = round_parameters(self.w, self.problem.raw_norm_bound)
        rest = np.ldexp(self.w - rounded, Problem.FINE_BITS - Problem.PARAMETER_BITS)
        object.__setattr__(self, "rest", constant(rest))
        object.__setattr__(self, "w", constant(rounded))

    @property
    def loss(self) -> Loss:
        return self.problem.loss

    def start(self) -> np.ndarray:
        return np.zeros(self.w.shape, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        z = block.margins(self.w)
        c = np.empty(z.shape)
        if self.rest.any():
            z = z + np.ldexp(block.margins(self.rest), Problem.PARAMETER_BITS - Problem.FINE_BITS)
        y = bounded_labels(block, self.problem.n_margins)
        precise = LossFacts.of(self.loss).precise_dvalue if self.precise else None
        (precise or self.loss.dvalue)(z, y, c)
        if not self.precise:
            c *= block.factor
            return self._in_steps(block.weighted_sum(c))
        one = 2.0 ** _part_bits(self.problem, self.loss.lipschitz)
        slopes = np.atleast_2d(c)
        parts = np.empty((2, *slopes.shape))
        write_parts(slopes, block.factor, one, parts)
        first, second = (block.weighted_sum(part.reshape(c.shape)) for part in parts)
        return self._in_steps(first + second * (1 / one / one))

    def _in_steps(self, total: np.ndarray) -> np.ndarray:
        """Return a block's sum rounded to steps of ``2**-bits``, int64."""
        steps: np.ndarray = np.rint(np.ldexp(total, self.bits))
        return steps.astype(np.int64)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        raise InvalidInputError("A sum of unclipped gradients has no sensitivity of its own.")


def dry_run_gradient(problem: Problem, precise: bool = False) -> GradientSum:
    """Return the sum at a point that only the fine grid has: all that one loads is loaded by it.
    The kernel of a minimiser's step is loaded too."""
    load_descent()
    unit = np.eye(1, math.prod(problem.w_shape)).reshape(problem.w_shape)
    return GradientSum(problem, np.ldexp(unit, -Problem.FINE_BITS), 0, precise)


def bounded_labels(block: Block, n_margins: int = 1) -> np.ndarray:
    """Return the rows' labels, clamped to [-1, 1], or of several classes to their places: what the
    bounds of derived queries take them to be. Schemas clamp them already; this does not rely on
    it. Of one margin with their weights, if they have some."""
    if n_margins > 1:
        places: np.ndarray = np.clip(np.rint(block.y), 0.0, n_margins - 1.0)
        return places
    return Table.clamped_labels(block.y)


def loss_error(loss: Loss, precise: bool = False) -> float:
    """Return a bound of the error of a loss or slope that is computed; ``precise`` : of a slope by
    ``precise_dvalue``. A weight multiplies it, and rounds: by less than 2^-6 of it, for slopes of
    up to 2 and losses of up to 2^11 before the weight."""
    error, weight = _PRECISE_ERROR if precise else _LOSS_ERROR, LossFacts.of(loss).largest_weight
    return error if weight == 1.0 else error * weight * (1.0 + 2.0**-6)


def _part_bits(problem: Problem, lipschitz: float) -> int:
    """Return p at which a block's sums of rows times slopes, to p bits and to the next p, stay
    below 2^53 of their steps, p and 2 p bits finer than features, and so are exact."""
    if not math.isfinite(lipschitz):
        return 0
    room = Table.BLOCK_SUM_BITS - Problem.FEATURE_BITS
    longest = max(lipschitz * problem.row_norm, problem.raw_norm_bound)
    return max(0, min(20, room - math.frexp(longest)[1]))


def gradient_error(problem: Problem, rows: int, slope: float, precise: bool = False) -> float:
    """Return a bound of the l2 error of ``GradientSum`` over ``rows`` rows. It covers the slopes,
    of exact margins in float64 and their finer part, the product over one block (Higham 2002,
    section 3.1), and one rounding per block and coordinate, all blocks full but the last.

    Of several classes, each slope and margin of a row has such an error, together sqrt(n_margins)
    times it in l2; the products of all classes err by what is relative to ``slope``, the bound of
    a row's slopes in l2 (Minkowski's inequality over the rows)."""
    known = precise and LossFacts.of(problem.loss).precise_dvalue is not None
    slopes = loss_error(problem.loss, precise=known)
    added = 2.0 ** (1 - Problem.FEATURE_BITS - Problem.PARAMETER_BITS) + _rest_error(problem)
    classes = math.sqrt(problem.n_margins) * (1.0 if problem.n_margins == 1 else _UP)
    margins = rows * problem.loss.smoothness * problem.row_norm * added * classes
    longest = slope * problem.raw_norm_bound
    product = rows * longest * 2 * (Table.BLOCK_ROWS + 8) * 2.0**-53
    if precise:
        # Each coefficient to half a step; two exact sums of a block added once.
        half_step = 2.0 ** -(2 * _part_bits(problem, problem.loss.lipschitz) + 1)
        product = rows * (problem.raw_norm_bound * half_step * classes + longest * 2.0**-51)
    # Blocks need not be full: of a part of a store, which has capacity rows at most, or of files.
    partial = max(Table.MOST_FILES, problem.capacity / Table.BLOCK_ROWS)
    blocks = min(float(rows), rows / Table.BLOCK_ROWS + 1 + partial)
    roundings = blocks * math.sqrt(problem.n_margins * problem.n_features)
    rounding = roundings * 2.0 ** -(gradient_bits(problem, rows, slope) + 1)
    return (rows * slopes * problem.row_norm * classes + margins + product + rounding) * _UP


def _rest_error(problem: Problem) -> float:
    """Return how far a margin of ``GradientSum.rest`` can be from the exact one, in the unit of
    margins: 0 but for rows so long and wide that they are taken on a coarser grid than
    ``2**-PARAMETER_BITS`` (``dpcore.exact.grid.round_parameters``)."""
    longest = problem.raw_norm_bound * math.sqrt(problem.n_features) * _UP
    # A coordinate is half a step of the parameters' grid at most, as many bits up as the fine grid
    # is finer; with what rounding adds it is below one.
    excess = (
        math.frexp(longest * 2.0 ** (Problem.FINE_BITS - 2 * Problem.PARAMETER_BITS))[1]
        - Problem.MARGIN_BITS
    )
    if excess <= 0:
        return 0.0
    return longest * 2.0 ** (excess - Problem.FINE_BITS - 1)


def gradient_bits(problem: Problem, rows: int, slope: float) -> int:
    """Return how fine the grid is on which a block's sum is rounded: the total fits 61 bits."""
    largest = (rows or 1) * slope * problem.raw_norm_bound
    return min(_FINEST, 61 - math.frexp(largest)[1])
