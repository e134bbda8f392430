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
  and there the ratio is that of two normal distributions ||v_k|| / sigma apart. The maximum is at
  most the sum: delta(epsilon) <= sum_k delta_Gauss(||v_k|| / sigma; epsilon - log_determinant).
  With slopes of either sign the vertices are +-g x: 2 of length g R, the bound of Redberg, Koskela
  & Wang (2023); under replace-one 4, of length 2 g R at most. A loss that falls with y z has slopes
  of one sign, and 0 is the other vertex: 1 of length g R, and under replace-one 2 of g R and 1 of
  2 g R. (v depends on b, so that b.v itself is not normal.)
* For the density exp(-||b|| / s) the ratio is at most exp(||v|| / s) (Chaudhuri, Monteleoni &
  Sarwate 2011, Theorem 9, who bound both rows' determinants): epsilon = log_determinant + g R / s,
  or 2 g R / s under replace-one.

Several classes are refused, since both steps are of one margin. A row's Hessian of softmax is
(diag(p) - p p') outer x x', of rank K - 1, so that the determinants of neighbours differ by a
product of up to K - 1 factors; 1 + s R^2 / Lambda alone would be too small a bound. And its slopes
p - e_y are no interval with two ends but a simplex with K vertices, so that under replace-one the
sum would go over K^2 of them, of lengths up to 2 sqrt(2) R, for a loss that states that its slopes
are such; the bound of their norm alone has no finite set of vertices.

What is computed. b is known up to its floor on a grid, sqrt(d) steps; a gradient at most g in
length leaves a point within g / Lambda of t. So that this is bounded whatever b is, the answer is
not t but h(t) t, h(t) = 1 up to the public radius r, then falling linearly to 0 at 2 r: a function
of t, so as private, and 2-Lipschitz in t. Beyond 2 r a penalty of slope K (||w|| - 2 r) keeps the
minimiser within 3 r (``BoundedMinimizer``): inside 2 r it is t itself, and if it is outside, so is
t, and the answer is 0 for both. Where b is so long that ||t|| > 2 r for certain, it is 0 at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dpcore.plugin import InvalidInputError, ordered_norm
from dpcore.plugin.parts import GridScale, LossFacts, sealed
from dpcore_baselines.perturbation.bounded import PenalisedMinimizer
from dpcore_baselines.perturbation.gamma_distribution import gamma_deviates
from dpcore_baselines.perturbation.sensitivity import PerturbedSensitivity

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import NeighboringRelation, Problem
    from dpcore.plugin.parts import NoiseSource

__all__ = ["PerturbedMinimizer", "vertices"]

_UP = 1.0 + 2.0**-40


def vertices(problem: Problem) -> tuple[int, ...]:
    """Return the lengths of the vertices of the box of slopes, in largest gradients of a row."""
    one_sign = LossFacts.of(problem.loss).nonincreasing
    if problem.relation.rows_changed == 1:
        return (0, 1) if one_sign else (1, 1)
    return (0, 1, 1, 2) if one_sign else (2, 2, 2, 2)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class PerturbedMinimizer(PenalisedMinimizer):
    """argmin of ``sum_i loss(x_i.w, y_i) + (regularisation / 2) ||w||^2 + b.w``, b drawn here.

    Theorems, relations and constants: the head of this file. ``ApproximateMinima`` charges for b;
    for any other mechanism the sensitivity is that of the minimiser with b known, twice that of
    ``BoundedMinimizer`` for the factor h.

    Parameters
    ----------
    problem, regularisation, grid_bits : as there.
    scale : of the noise b: the standard deviation sigma, or s of the density exp(-||b|| / s).
    distribution : ``"gaussian"`` or ``"gamma"``.

    Raises InvalidInputError for a problem without one of these.
    """

    problem: Problem
    regularisation: float
    scale: float
    distribution: Literal["gaussian", "gamma"] = "gaussian"
    grid_bits: int = 40

    def __post_init__(self) -> None:
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise InvalidInputError(f"Expected scale={self.scale!r} to be finite and > 0.")
        if self.distribution not in ("gaussian", "gamma"):
            raise InvalidInputError(
                f"Expected distribution={self.distribution!r} to be gaussian or gamma."
            )
        self._require_arguments()

    @property
    def noise_bits(self) -> int:
        return min(40, 56 - math.frexp(self.scale)[1])

    @property
    def rest(self) -> float:
        """How far the answer can be from h(t) t, times two."""
        # h is 2-Lipschitz; then half a grid step for each coordinate, and float64 in between.
        step = self._width() * 2.0 ** -(self.grid_bits + 1)
        return 2 * (2 * self.gap + step + self.radius * self._roundings()) * _UP

    def _longest(self) -> float:
        # Were b longer, then Lambda ||t|| >= ||b|| - rows L would be more than 2 r Lambda.
        beyond = 2 * self.radius * self.regularisation + self.rows * self.row_gradient
        return 2 * beyond + 1.0

    def _offset(self) -> float:
        return self._width() * 2.0**-self.noise_bits

    def sensitivity(self, relation: NeighboringRelation) -> PerturbedSensitivity:
        self._require(relation)
        problem, row, rest = self.problem, self.row_gradient, self.rest
        bends = problem.loss.smoothness * problem.row_norm**2 / self.regularisation
        known: dict[str, Any] = {}
        if self.distribution == "gaussian":
            known["ratios"] = tuple(k * row / self.scale * _UP for k in vertices(problem))
        else:
            known["epsilon"] = relation.rows_changed * row / self.scale * _UP
        return PerturbedSensitivity(
            "l2",
            (2 * relation.rows_changed * row / self.regularisation + rest) * _UP,
            relation,
            self.grid_bits,
            rest=rest,
            log_determinant=math.log1p(bends * _UP) * _UP,
            **known,
        )

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        b = self._draw(noise)
        if ordered_norm(b) > self._longest():
            return np.zeros(self.problem.n_features, dtype=np.int64)
        w = self._solve(ask, b)
        share = min(1.0, max(0.0, 2 - ordered_norm(w) / self.radius))
        return self._in_steps(share * w)

    def _draw(self, noise: NoiseSource) -> np.ndarray:
        """Return b, rounded down to steps of ``2**-noise_bits``: float64."""
        scale = GridScale.at_least(1.0, self.scale, self.noise_bits)
        n_features = self.problem.n_features
        if self.distribution == "gaussian":
            steps = noise.unwrapped_gaussian(scale, n_features)
        else:
            steps = gamma_deviates(noise, scale, n_features)
        return np.ldexp(steps.astype(np.float64), -self.noise_bits)
