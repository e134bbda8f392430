"""The Newton direction itself, released with noise: the second noise of the paper's algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, NeighboringRelation, ordered_dot, ordered_norm
from dpcore.plugin.parts import Sensitivity, constant, float_up, sealed, sqrt_up
from dpcore_newton.hessian import HessianSum, unpacked
from dpcore_newton.spectrum import CHANGES, changed

if TYPE_CHECKING:
    from dpcore.plugin.parts import NoiseSource

__all__ = ["NewtonDirection"]

_BITS = 30
_LARGEST_ERROR = 2.0**-4
_ROOT_OF_2 = sqrt_up(Fraction(2))


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class NewtonDirection:
    """``least M(H)^-1 g / ||g||``, H a ``HessianSum`` and g a gradient that was released before. M
    lifts the eigenvalues of H: by ``least`` (``add``), or to ``least`` where they are smaller
    (``clip``). Its length is at most 1, whatever the rows are.

    Sensitivity in l2. A row adds the matrix a = c phi phi' to H, 0 <= a, of norm clip or less; let
    k = clip, l = least, and A = H + l or M(H), whose eigenvalues are l or more.

    * ``add``, one row more: with u = A^(-1/2) sqrt(c) phi, Sherman and Morrison's formula has
      A^-1 g - (A + a)^-1 g = A^(-1/2) u u' A^(-1/2) g / (1 + ||u||^2), of length at most
      ||g|| / l times ||u||^2 / (1 + ||u||^2), and ||u||^2 <= k / l: so k / (l + k) in units of
      ||g|| / l. That is the constant of the authors' code.
    * ``add``, one row replaced: A^-1 - B^-1 = A^-1 (B - A) B^-1, of norm at most ||B - A|| / l^2,
      and the difference of two matrices that are not below 0 and not above k has a norm of k at
      most: k / l, and twice the bound above where that is less.
    * ``clip``: H -> M(H) is the nearest matrix of the convex set of those whose eigenvalues are l
      or more, in the Frobenius norm, so it moves by no more than H does: k, and sqrt(2) k where a
      row is replaced (``HessianSum``). With the same identity k / l and sqrt(2) k / l. (The
      authors' code has k / (l - k), which is more.)

    The length bounds all of them by 2. LAPACK returns the eigenvalues and vectors of a matrix that
    differs from H by at most e = d^2 2^-50 times its norm (Anderson et al. 1999, LAPACK Users'
    Guide, section 4.7: a modest function of d, here 8 d^2, times 2^-53), which is at most clip
    times the number of rows; vectors are orthogonal as nearly. What that moves the answer by counts
    twice in the bound, and rounding to the grid of 2^-30 once for each coordinate. It is for tables
    of up to ``most_rows`` rows: beyond, the sums may wrap around as well.

    Parameters
    ----------
    hessian : the sum. ``gradient`` : released, float64 of shape (n_features,), not all 0.
    least : public or released, > 0, in the Hessian's own units. ``change`` : ``add`` or ``clip``.
    """

    hessian: HessianSum
    gradient: np.ndarray
    least: float
    change: str = "add"

    kind: ClassVar[str] = "direction"

    def __post_init__(self) -> None:
        object.__setattr__(self, "least", float(self.least))
        gradient = constant(self.gradient)
        if gradient.shape != (self.hessian.problem.n_features,) or not (
            np.isfinite(gradient).all() and gradient.any()
        ):
            raise InvalidInputError("Expected a finite gradient that is not 0 everywhere.")
        object.__setattr__(self, "gradient", gradient)
        if self.change not in CHANGES or not 0 < self.least < math.inf:
            raise InvalidInputError(
                f"Expected least={self.least!r} > 0, and change={self.change!r} of {CHANGES}."
            )
        if not self._error <= _LARGEST_ERROR:
            raise InvalidInputError(
                "Too many rows or columns for a Newton direction in float64: state a smaller "
                "capacity, or add more to the Hessian's eigenvalues."
            )

    @property
    def most_rows(self) -> int:
        return self.hessian._most_rows

    @property
    def _error(self) -> float:
        """A bound of the distance by which LAPACK's rounding moves the answer."""
        d = self.hessian.problem.n_features
        share = 2.0**-50 * d**2
        return share * (math.sqrt(d) * self.hessian.clip * self.most_rows / self.least + 8.0)

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        scale = 2.0 ** -self.hessian.sensitivity(self.hessian.problem.relation).grid_bits
        matrix = unpacked(ask(self.hessian).astype(np.float64) * scale, self.gradient.size)
        values, vectors = np.linalg.eigh(matrix)
        weights = self.least / changed(np.maximum(values, 0.0), self.least, self.change)
        unit = self.gradient / ordered_norm(self.gradient)
        direction = ordered_dot(vectors, weights * ordered_dot(vectors.T, unit))
        return np.rint(np.ldexp(direction, _BITS)).astype(np.int64)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        k, least = Fraction(self.hessian.clip), Fraction(self.least)
        replaced = relation is NeighboringRelation.REPLACE_ONE
        if self.change == "add":
            bound = k / (least + k)
            bound = min(2 * bound, k / least) if replaced else bound
        else:
            bound = k / least * (_ROOT_OF_2 if replaced else 1)
        d = self.gradient.size
        rounding = sqrt_up(Fraction(d)) / 2**_BITS
        bound = min(bound, Fraction(2)) + 2 * Fraction(self._error) + rounding
        return Sensitivity("l2", float_up(bound), relation, grid_bits=_BITS)
