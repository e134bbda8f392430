"""The smallest eigenvalue of a sum of products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import Sensitivity, sealed
from dpcore_adassp.products import Products, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import NeighboringRelation
    from dpcore.plugin.parts import NoiseSource

__all__ = ["SmallestEigenvalue"]

_BITS = 20
_LARGEST_ERROR = 2.0**-6


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class SmallestEigenvalue:
    """The smallest eigenvalue of ``sum_i p_i p_i'``, rows held to length 1, on a grid of 2^-20.

    Weyl's inequality: adding the matrix M moves an eigenvalue by no less than the smallest of M's
    and no more than the largest. A row added has M = p p', of eigenvalues in [0, 1]; one replaced
    M = p p' - q q', of eigenvalues in [-1, 1]: sensitivity 1 under every relation (Wang 2018,
    Algorithm 2, whose constant it is).

    The matrix is an exact sum, divided by omega off the diagonal; LAPACK's symmetric solver returns
    the eigenvalues of a matrix that differs from it by at most d^2 2^-50 times its norm (Anderson
    et al. 1999, LAPACK Users' Guide, section 4.7: a modest function of d, here 8 d^2, times 2^-53),
    which is at most the number of rows. That error counts twice, and rounding to the grid once. It
    is for tables of up to ``most_rows`` rows: beyond, the sums may wrap around as well.

    Parameters
    ----------
    products : the rows' map and length; its part is the matrix alone.
    """

    products: Products

    kind: ClassVar[str] = "eigenvalue"

    def __post_init__(self) -> None:
        if self.products.part != "squares":
            raise InvalidInputError("Expected the products of rows with themselves alone.")
        if self._error > _LARGEST_ERROR:
            raise InvalidInputError("Too many rows or columns for an eigenvalue in float64.")

    @property
    def most_rows(self) -> int:
        problem = self.products.problem
        return problem.capacity if problem.n is None else problem.n

    @property
    def _error(self) -> float:
        return 2.0**-50 * self.products.problem.n_features**2 * self.most_rows

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        scale = 2.0 ** -self.products.sensitivity(self.products.problem.relation).grid_bits
        width = self.products.problem.n_features
        matrix = unpacked(ask(self.products).astype(np.float64) * scale, width)
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        return np.array([round(smallest * 2**_BITS)], dtype=np.int64)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = 1.0 + 2 * self._error + 2.0**-_BITS
        return Sensitivity("l2", bound * (1 + 2.0**-50), relation, grid_bits=_BITS)
