"""The minimiser of an objective with a random linear term: private by that noise alone.

The argument, for a loss of the margin (a linear model), rows of norm at most R, |l'| <= g,
0 <= l'' <= s, and F(w) = sum of losses + (Lambda / 2) ||w||^2, Lambda public and the same for all
tables. The private answer is t = argmin F(w) + b.w, b of density nu. Then b = -grad F(t), and t
has the density nu(-grad F(t)) det(Hess F(t)): grad F is one to one and Lipschitz in both directions
(and for a loss with a continuous l' only, such as the huberised hinge, differentiable outside
hyperplanes, a set of measure 0). For neighbours D and D':

* Determinants. One row adds l'' x x' of rank one, so that with A >= Lambda from the rows in common
  det(A + l'' x x') / det(A) = 1 + l'' x'A^-1 x lies between 1 and 1 + s R^2 / Lambda. The log of
  the ratio is at most log_determinant = log(1 + s R^2 / Lambda), under either relation: with a row
  replaced, one factor is in the numerator, at most that, one in the denominator, at least 1.
* Noise. At the same t the two values of b are v apart: v = a x for a row added or removed, and
  v = a x - a' x' for one replaced, with a and a' slopes at t, which depend on b. For normal noise
  the logarithm of nu(b) / nu(b + v) is b.v / sigma^2 + ||v||^2 / (2 sigma^2), convex in (a, a'), so
  at most its largest value at a vertex of the box of all slopes; a vertex is a *fixed* vector v_k,
  and there the ratio is that of two normal laws ||v_k|| / sigma apart. The maximum is at most the
  sum: delta(epsilon) <= sum_k delta_Gauss(||v_k|| / sigma; epsilon - log_determinant).
  With slopes of either sign the vertices are +-g x: 2 times length g R, which is Theorem 3.1 of
  Redberg, Koskela & Wang (2023), for add-or-remove; under replace-one 4, of length 2 g R at most.
  A loss that falls with y z has slopes of one sign, and 0 is the other vertex: 1 of length g R, and
  under replace-one 2 of g R and 1 of 2 g R. (Kifer, Smith & Thakurta 2012, Theorem 4, take b.v for
  normal, as if v did not depend on b.)
* For the density exp(-||b|| / s) the ratio is at most exp(||v|| / s) (Chaudhuri, Monteleoni &
  Sarwate 2011, Theorem 9, who bound both rows' determinants): epsilon = log_determinant + g R / s,
  or 2 g R / s under replace-one.

What is computed. b is known up to its floor on a grid, sqrt(d) steps; a gradient at most g in
length leaves a point within g / Lambda of t. So that this is bounded whatever b is, the answer is
not t but h(t) t, h(t) = 1 up to the public radius r, then falling linearly to 0 at 2 r: a function
of t, so as private, and 2-Lipschitz in t. Beyond 2 r a penalty of slope K (||w|| - 2 r) keeps the
minimiser within 3 r and changes no answer; where ||b|| is so long that ||t|| > 2 r for certain, the
answer is 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.grid import PARAMETER_BITS, round_to
from dpcore.losses.huber import HuberSvm
from dpcore.losses.logistic import Logistic
from dpcore.noise.scale import GridScale
from dpcore.queries.count import RowCount
from dpcore.queries.descent import minimize
from dpcore.queries.gradient_sum import FINE_BITS, GradientSum, gradient_bits, gradient_error
from dpcore.sensitivity import NeighboringRelation, PerturbedSensitivity

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.noise.source import NoiseSource
    from dpcore.problem import Problem

__all__ = ["PerturbedMinimizer", "vertices"]

_UP = 1.0 + 2.0**-40
_LARGEST_MARGIN = 2.0**8
"""At the radius r; 6 r, where the solver may look, is well below the 2^13 of exact margins."""
_TOLERANCE = 2.0**-16
"""The gradient at the end, relative to the largest gradient of a row, at least."""
_ONE_SIGN = (Logistic, HuberSvm)


def vertices(problem: Problem) -> tuple[int, ...]:
    """Return the lengths of the vertices of the box of slopes, in largest gradients of a row."""
    # The very class: a subclass may be another function.
    one_sign = type(problem.loss) in _ONE_SIGN
    if problem.relation.rows_changed == 1:
        return (0, 1) if one_sign else (1, 1)
    return (0, 1, 1, 2) if one_sign else (2, 2, 2, 2)


class PerturbedMinimizer:
    """argmin of ``sum_i loss(x_i.w, y_i) + (regularisation / 2) ||w||^2 + b.w``, b drawn here.

    Theorems, relations and constants: the head of this file. ``ApproximateMinima`` charges for b;
    for any other mechanism the sensitivity is that of the minimiser with b known: L / Lambda for
    every row that changes (Chaudhuri et al. 2011, Lemma 7), twice that for the factor h.

    Where the number of rows is private, what rounding can add to a gradient is bounded for tables
    of up to ``capacity`` rows: that figure is part of the promise there.

    Parameters
    ----------
    problem : public facts; a convex, smooth loss of bounded slope. Its l2 is not looked at.
    regularisation : Lambda > 0, of the sum of losses; every coordinate's.
    scale : of the noise b: the standard deviation sigma, or s of the density exp(-||b|| / s).
    law : ``"gaussian"`` or ``"gamma"``.
    grid_bits : the answer is in steps of ``2**-grid_bits``.

    Raises InvalidInputError for a problem without one of these.
    """

    kind: ClassVar[str] = "minimizer"

    def __init__(
        self,
        problem: Problem,
        regularisation: float,
        scale: float,
        law: Literal["gaussian", "gamma"] = "gaussian",
        grid_bits: int = 40,
    ) -> None:
        loss = problem.loss
        if not (math.isfinite(loss.smoothness) and math.isfinite(loss.lipschitz)):
            raise InvalidInputError(f"The loss {loss.name} is not smooth with a bounded slope.")
        if getattr(loss, "convex", False) is not True:
            raise InvalidInputError(f"The loss {loss.name} does not declare convex = True.")
        for name, value in (("regularisation", regularisation), ("scale", scale)):
            if not (math.isfinite(value) and value > 0):
                raise InvalidInputError(f"Expected {name}={value!r} to be finite and > 0.")
        if law not in ("gaussian", "gamma"):
            raise InvalidInputError(f"Expected law={law!r} to be gaussian or gamma.")
        if not 8 <= grid_bits <= FINE_BITS:
            raise InvalidInputError(f"Expected 8 <= grid_bits={grid_bits!r} <= {FINE_BITS}.")
        self.problem, self.loss, self.law, self.grid_bits = problem, loss, law, grid_bits
        self.regularisation = regularisation
        self.scale = scale
        self.noise_bits = min(40, 56 - math.frexp(scale)[1])
        self.radius = _LARGEST_MARGIN / problem.raw_norm_bound
        self.row_gradient = loss.lipschitz * problem.row_norm * _UP
        rows = problem.capacity if problem.n is None else problem.n
        self._bits = gradient_bits(problem, rows, 2 * loss.lipschitz + 1.0)
        width = math.sqrt(problem.n_features) * _UP
        # Five terms of this size, and a norm of n_features terms (Higham 2002, section 3.1).
        roundings = (problem.n_features + 16) * 2.0**-51
        largest = self._longest(rows) + 6 * self.radius * (regularisation + self._penalty(rows))
        error = gradient_error(problem, rows, 2 * loss.lipschitz + 1.0, precise=True)
        self._error = (error + largest * roundings) * _UP
        fine = width * self._curvature(rows) * 2.0**-FINE_BITS
        self._tolerance = _TOLERANCE * self.row_gradient + 4 * (self._error + fine)
        floor = width * 2.0**-self.noise_bits
        # The norm that is compared with the tolerance is rounded as well.
        left = self._tolerance * (1 + roundings) + self._error + floor
        # h is 2-Lipschitz; then half a grid step for each coordinate, and float64 in between.
        rounding = width * 2.0 ** -(grid_bits + 1) + self.radius * roundings
        self.gap = (2 * left / regularisation + rounding) * _UP

    def _longest(self, rows: int) -> float:
        """Return the length of b beyond which the minimiser is beyond 2 r, with some to spare."""
        return 2 * (2 * self.radius * self.regularisation + rows * self.row_gradient + 1.0)

    def _penalty(self, rows: int) -> float:
        """Return K: with it the minimiser is within 3 r, since K r >= ||b|| + rows L."""
        return (self._longest(rows) + rows * self.row_gradient) / self.radius

    def _curvature(self, rows: int) -> float:
        problem = self.problem
        loss = rows * problem.loss.smoothness * problem.row_norm**2
        return (loss + self.regularisation + self._penalty(rows)) * _UP

    def sensitivity(self, relation: NeighboringRelation) -> PerturbedSensitivity:
        problem = self.problem
        if relation is not problem.relation:
            raise InvalidInputError(
                f"The sensitivity was worked out under {problem.relation.value}."
            )
        row = self.row_gradient
        moved = 2 * relation.rows_changed * row / self.regularisation
        bends = problem.loss.smoothness * problem.row_norm**2 / self.regularisation
        known: dict[str, Any] = {}
        if self.law == "gaussian":
            known["ratios"] = tuple(k * row / self.scale * _UP for k in vertices(problem))
        else:
            known["epsilon"] = relation.rows_changed * row / self.scale * _UP
        return PerturbedSensitivity(
            "l2",
            (moved + 2 * self.gap) * _UP,
            relation,
            self.grid_bits,
            rest=2 * self.gap * _UP,
            log_determinant=math.log1p(bends * _UP) * _UP,
            **known,
        )

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        problem = self.problem
        rows = int(ask(RowCount())[0]) if problem.n is None else problem.n
        b = self._draw(noise)
        if float(np.linalg.norm(b)) > self._longest(rows):
            return np.zeros(problem.n_features, dtype=np.int64)
        penalty, curvature, far = self._penalty(rows), self._curvature(rows), True
        # Beyond it a step of 1 / curvature loses next to nothing to the coarse grid.
        coarse = 64 * math.sqrt(problem.n_features) * curvature * 2.0**-PARAMETER_BITS

        def gradient(w: np.ndarray) -> np.ndarray:
            nonlocal far
            total = ask(GradientSum(problem, w, self._bits, precise=True))
            beyond = max(0.0, 1 - 2 * self.radius / max(float(np.linalg.norm(w)), 1e-300))
            whole = np.ldexp(total.astype(np.float64), -self._bits) + b
            whole += (self.regularisation + penalty * beyond) * w
            far = bool(np.linalg.norm(whole) > coarse)
            return whole

        def rounded(w: np.ndarray) -> np.ndarray:
            # Far from the minimum the coarse grid does, and saves half of the products.
            return round_to(w, PARAMETER_BITS if far else FINE_BITS)

        w = minimize(
            gradient,
            rounded,
            np.zeros(problem.n_features),
            curvature=curvature,
            mu=self.regularisation,
            radius=3 * self.radius,
            tolerance=self._tolerance,
        )
        share = min(1.0, max(0.0, 2 - float(np.linalg.norm(w)) / self.radius))
        return np.rint(np.ldexp(share * w, self.grid_bits)).astype(np.int64)

    def _draw(self, noise: NoiseSource) -> np.ndarray:
        """Return b, rounded down to steps of ``2**-noise_bits``: float64."""
        width = self.problem.n_features
        scale = GridScale.at_least(1.0, self.scale, self.noise_bits)
        draw = noise.unwrapped_gaussian if self.law == "gaussian" else noise.gamma
        return np.ldexp(draw(scale, width).astype(np.float64), -self.noise_bits)
