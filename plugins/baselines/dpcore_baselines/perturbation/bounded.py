"""The minimiser of a strongly convex objective, held within a public radius."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dpcore.plugin import InvalidInputError, Problem, RowCount, ordered_norm, round_to
from dpcore.plugin.parts import (
    LossFacts,
    Sensitivity,
    Table,
    sealed,
)
from dpcore_baselines.queries.descent import minimize
from dpcore_baselines.queries.gradient_sum import (
    GradientSum,
    dry_run_gradient,
    gradient_bits,
    gradient_error,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import Loss, NeighboringRelation
    from dpcore.plugin.parts import NoiseSource

__all__ = ["BoundedMinimizer", "PenalisedMinimizer"]

_UP = 1.0 + 2.0**-40
_LARGEST_MARGIN = 2.0 ** (Problem.MARGIN_BITS - 5)
"""At the radius r; 6 r, where the solver may look, is well below what is exact."""
_ROWS = Table.CAPACITY
"""How many rows there may be at least where their number is private."""
_TOLERANCE = 2.0**-12
"""The gradient at the end, relative to the largest gradient of a row, at least."""


@sealed
class PenalisedMinimizer:
    """The common part of the two minimisers of a penalised objective (``BoundedMinimizer``).

    Every value follows from the public facts and the arguments when it is asked for, so that what
    is claimed and what is answered cannot be those of different ones.
    """

    __slots__ = ()

    problem: Problem
    regularisation: float
    grid_bits: int

    kind: ClassVar[str] = "minimizer"

    def _require_arguments(self) -> None:
        loss, grid_bits = self.loss, self.grid_bits
        if self.problem.n_margins > 1:
            raise InvalidInputError(
                f"This minimiser is of a loss of one margin, and {loss.name} has "
                f"{self.problem.n_margins}."
            )
        if not (math.isfinite(loss.smoothness) and math.isfinite(loss.lipschitz)):
            raise InvalidInputError(f"The loss {loss.name} is not smooth with a bounded slope.")
        if not LossFacts.of(loss).convex:
            raise InvalidInputError(f"The loss {loss.name} does not declare convex = True.")
        if not (math.isfinite(self.regularisation) and self.regularisation > 0):
            raise InvalidInputError(
                f"Expected regularisation={self.regularisation!r} to be finite and > 0."
            )
        if not 8 <= grid_bits <= Problem.FINE_BITS:
            raise InvalidInputError(
                f"Expected 8 <= grid_bits={grid_bits!r} <= {Problem.FINE_BITS}."
            )

    @property
    def loss(self) -> Loss:
        return self.problem.loss

    @property
    def radius(self) -> float:
        """r, in l2."""
        return _LARGEST_MARGIN / self.problem.raw_norm_bound

    @property
    def row_gradient(self) -> float:
        """L: bound of the l2 norm of a row's gradient."""
        return self.loss.lipschitz * self.problem.row_norm * _UP

    @property
    def rows(self) -> int:
        """Up to how many rows the errors are bounded; all of them where their number is public."""
        problem = self.problem
        return max(problem.capacity, _ROWS) if problem.n is None else problem.n

    @property
    def most_rows(self) -> int | None:
        return self.rows if self.problem.n is None else None

    @property
    def rows_that_fit(self) -> int | None:
        # Below the capacity that errors are bounded for, no sum wraps.
        capacity = self.problem.capacity
        return capacity if self.problem.n is None and capacity >= _ROWS else None

    @property
    def gap(self) -> float:
        """How far what is found can be from the minimiser, in l2."""
        # The norm that is compared with the tolerance is rounded as well.
        left = self._tolerance() * (1 + self._roundings()) + self._error() + self._offset()
        return left / self.regularisation * _UP

    def dry_run_queries(self) -> tuple[GradientSum]:
        return (dry_run_gradient(self.problem, precise=True),)

    def _slope(self) -> float:
        return 2 * self.loss.lipschitz + 1.0

    def _bits(self) -> int:
        return gradient_bits(self.problem, self.rows, self._slope())

    def _width(self) -> float:
        return math.sqrt(self.problem.n_features) * _UP

    def _roundings(self) -> float:
        # A norm of n_features terms (Higham 2002, section 3.1), and a few terms of a gradient.
        return (self.problem.n_features + 16) * 2.0**-51

    def _error(self) -> float:
        """Return a bound of the l2 error of a gradient that is computed."""
        error = gradient_error(self.problem, self.rows, self._slope(), precise=True)
        terms = self._longest() + 6 * self.radius * (self.regularisation + self._penalty())
        return (error + terms * self._roundings()) * _UP

    def _tolerance(self) -> float:
        fine = self._width() * self._curvature(self.rows) * 2.0**-Problem.FINE_BITS
        return _TOLERANCE * self.row_gradient + 4 * (self._error() + fine)

    def _longest(self) -> float:
        """Return a bound of the linear term that the solver may meet."""
        return 0.0

    def _offset(self) -> float:
        """Return how far the linear term can be from the real one, in l2."""
        return 0.0

    def _penalty(self) -> float:
        """Return K: at the minimiser K (||w|| - 2 r) is at most all other gradients, <= K r."""
        return (self._longest() + self.rows * self.row_gradient) / self.radius

    def _curvature(self, rows: int) -> float:
        bends = rows * self.loss.smoothness * self.problem.row_norm**2
        return (bends + self.regularisation + self._penalty()) * _UP

    def _in_steps(self, w: np.ndarray) -> np.ndarray:
        steps: np.ndarray = np.rint(np.ldexp(w, self.grid_bits)).astype(np.int64)
        return steps

    def _require(self, relation: NeighboringRelation) -> None:
        known = self.problem.relation
        if relation is not known:
            raise InvalidInputError(f"The sensitivity was worked out under {known.value}.")

    def _solve(self, ask: Callable[[Any], np.ndarray], linear: np.ndarray) -> np.ndarray:
        """Return the minimiser with the term ``linear.w``, within ``gap``."""
        problem, penalty, far = self.problem, self._penalty(), True
        bits, radius, regularisation = self._bits(), self.radius, self.regularisation
        # For the solver alone: the certificate is the same for every number of rows.
        rows = self.rows if problem.n is not None else int(ask(RowCount())[0])
        curvature = self._curvature(rows)
        # Beyond it a step of 1 / curvature loses next to nothing to the coarse grid.
        coarse = 64 * self._width() * curvature * 2.0**-Problem.PARAMETER_BITS

        def gradient(w: np.ndarray) -> np.ndarray:
            nonlocal far
            total = ask(GradientSum(problem, w, bits, precise=True))
            beyond = 1 - 2 * radius / max(ordered_norm(w), 2 * radius)
            whole: np.ndarray = np.ldexp(total.astype(np.float64), -bits) + linear
            whole += (regularisation + penalty * beyond) * w
            far = ordered_norm(whole) > coarse
            return whole

        def rounded(w: np.ndarray) -> np.ndarray:
            # Far from the minimum the coarse grid does, and saves half of the products.
            return round_to(w, Problem.PARAMETER_BITS if far else Problem.FINE_BITS)

        return minimize(
            gradient,
            rounded,
            np.zeros(problem.n_features),
            curvature=curvature,
            mu=regularisation,
            radius=3 * radius,
            tolerance=self._tolerance(),
        )


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class BoundedMinimizer(PenalisedMinimizer):
    """argmin of ``sum_i loss(x_i.w, y_i) + (Lambda / 2) ||w||^2 + (K / 2) max(0, ||w|| - 2 r)^2``.

    Lambda, K and r are public. The objective is Lambda-strongly convex, and at the other table's
    minimiser its gradient is that of the rows that differ: one, of norm at most L, under
    add-or-remove-one, two under replace-one. So minimisers are L / Lambda or 2 L / Lambda apart in
    l2 (Chaudhuri, Monteleoni & Sarwate 2011, Lemma 7 with Corollary 8), L = lipschitz * row_norm.
    What is found lies within ``gap``, which counts twice; it is rounded to the answer's grid.

    With K r >= L times the rows the minimiser is within 3 r, where margins are exact; the last term
    is 0 up to 2 r, a margin of 512. The solver stops at a gradient of a public tolerance, and by
    public constants it reaches it (``dpcore_baselines.queries.descent``). Where the number of rows
    is private, what rounding can add to a gradient is bounded for tables of up to 2^27 rows, or of
    up to ``capacity`` if that is more: that value, ``most_rows``, is part of the promise there. A
    ``capacity`` below it promises nothing, since it may be a guess that is too small.

    Parameters
    ----------
    problem : public facts; a convex, smooth loss of bounded slope. Its l2 is not looked at.
    regularisation : Lambda > 0, of the sum of losses; every coordinate's.
    grid_bits : the answer is in steps of ``2**-grid_bits``.
    norm : ``"l2"`` or ``"l1"``, in which the sensitivity is stated: ``||v||_1 <= sqrt(d) ||v||_2``.

    Raises InvalidInputError for a problem without one of these.
    """

    problem: Problem
    regularisation: float
    grid_bits: int = 40
    norm: Literal["l2", "l1"] = "l2"

    def __post_init__(self) -> None:
        self._require_arguments()
        if self.norm not in ("l2", "l1"):
            raise InvalidInputError(f"Expected norm={self.norm!r} to be l2 or l1.")

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        self._require(relation)
        moved = relation.rows_changed * self.row_gradient / self.regularisation
        bound = moved + 2 * self.gap + self._width() * 2.0**-self.grid_bits
        if self.norm == "l1":
            bound *= self._width()
        return Sensitivity(self.norm, bound * _UP, relation, grid_bits=self.grid_bits)

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        return self._in_steps(self._solve(ask, np.zeros(self.problem.n_features)))
