"""The sum of clipped per-row gradients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.exact.grid import FEATURE_BITS, round_parameters
from dpcore.privacy.immutable import constant, sealed
from dpcore.privacy.sensitivity import NeighboringRelation, Norm, Sensitivity, require_norm
from dpcore.queries.clipping import clip_rows

if TYPE_CHECKING:
    from dpcore.data.blocks.block import Block, Coefficients
    from dpcore.protocols import Loss
    from dpcore.protocols.problem import Problem

__all__ = ["ClippedGradientSum", "ClippedGradients"]


@sealed
class ClippedGradients:
    """Base of sums of clipped gradients of rows, at a released point ``w``.

    Its answer is of those that clip each row by itself: the sum of the rows, each times what its
    margin makes of it. Others have an ``answer_block`` of their own, and may clip by ``clip_rows``.
    """

    __slots__ = ()

    problem: Problem
    w: np.ndarray
    clip: float
    noise_multiplier: float
    bits: int

    kind: ClassVar[str] = "gradient"
    clip_rows = staticmethod(clip_rows)

    @property
    def loss(self) -> Loss:
        return self.problem.loss

    @property
    def rows_that_fit(self) -> int | None:
        return self.problem.unsure_capacity

    def start(self) -> np.ndarray:
        return np.zeros(self.w.shape, dtype=np.int64)

    def _take_grids(self, widest: float | None = None) -> None:
        """Round ``w`` to its grid, and set ``bits``, so that a block's sum of coefficients times
        rows is exact: of at most ``widest`` a row, ``clip`` if that is ``None``."""
        rounded = round_parameters(self.w, self.problem.raw_norm_bound)
        if rounded.shape != self.problem.w_shape:
            raise InvalidInputError(
                f"Expected w of the problem's shape {self.problem.w_shape}, not {rounded.shape}."
            )
        object.__setattr__(self, "w", constant(rounded))
        object.__setattr__(self, "clip", float(self.clip))
        bits = self.problem.coefficient_bits(widest or self.clip, self.noise_multiplier)
        object.__setattr__(self, "bits", bits)

    def _slopes(self, block: Block) -> np.ndarray:
        """Return the loss's slopes at every row, not clipped: float64 of the margins' shape."""
        z = np.ascontiguousarray(block.margins(self.w))
        c = np.empty(z.shape)
        self.loss.dvalue(z, block.y, c)
        return c

    def coefficients(self, block: Block) -> Coefficients:
        """Return what makes of the rows' margins at ``w`` their clipped slopes."""
        y, factor, scale = block.y, block.factor, 2.0**self.bits
        norms, norm = self._norms(block)

        def clipped(z: np.ndarray, rows: slice) -> np.ndarray:
            c = np.empty(z.shape)
            self.loss.dvalue(z, y[rows], c)
            clip_rows(c, factor[rows], norms[rows], self.clip, scale, norm)
            return c

        return clipped

    def from_sum(self, total: np.ndarray) -> np.ndarray:
        """Return a block's part from the sum of its raw rows times their clipped slopes: int64, in
        steps of ``2**-(FEATURE_BITS + bits)``."""
        # Multiples of 2^-(16+k) below 2^53 steps: the product and the conversion are exact.
        return np.asarray(np.ldexp(total, FEATURE_BITS + self.bits)).astype(np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        return self.from_sum(block.sum_at(self.w, self.coefficients(block)))

    def _norms(self, block: Block) -> tuple[np.ndarray, str]:
        """Return bounds of the rows' norms to clip against, and the norm: l1, l2 or linf."""
        raise TypeError("a clipped sum says which norms its rows are clipped by")


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class ClippedGradientSum(ClippedGradients):
    """The sum of the rows' gradients, each clipped: ``sum_i clip(l'(x_i.w, y_i) x_i)``.

    Every row's gradient is scaled down to norm ``clip``; of several classes, the gradient in all of
    their parameters.

    Sensitivity (Abadi et al. 2016, section 3.1; Lee & Kifer 2018, gradient approximation): a row
    contributes a vector of norm at most ``clip``, so the sum moves by at most ``clip`` under
    add-or-remove-one and replace-special, and by ``2 clip`` under replace-one (two vectors of norm
    ``clip`` apart). In integers this holds exactly: the coefficient is at most
    ``trunc(nextafter(clip / norm, 0) 2^k) / 2^k`` with ``norm`` rounded up.

    Parameters
    ----------
    problem : public facts; its loss runs on raw rows.
    w : float64 of the problem's shape, a released value; rounded to the parameters' grid.
    clip : the bound of a row's gradient, in ``norm``.
    norm : ``"l2"`` (Gaussian noise), ``"l1"`` (Laplace noise) or ``"linf"`` (each entry's bound).
    noise_multiplier : the noise the answer will get, which bounds how fine the grid may be.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin.parts import Logistic
    >>> from dpcore.plugin import ClippedGradientSum, NeighboringRelation, Problem
    >>> add = NeighboringRelation.ADD_OR_REMOVE_ONE
    >>> problem = Problem(Logistic(), 0.0, 2, row_norm=1.0, raw_norm_bound=1.0, relation=add)
    >>> query = ClippedGradientSum(problem, np.zeros(2), clip=0.5)
    >>> query.sensitivity(add).norm, query.sensitivity(add).bound
    ('l2', 0.5)
    """

    problem: Problem
    w: np.ndarray
    clip: float
    norm: Norm = "l2"
    noise_multiplier: float = 1.0
    bits: int = field(init=False)

    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_norm(self.norm)
        self._take_grids()

    def _norms(self, block: Block) -> tuple[np.ndarray, str]:
        return block.row_norms(self.norm), self.norm

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = self.clip * relation.rows_changed
        return Sensitivity(self.norm, bound, relation, grid_bits=FEATURE_BITS + self.bits)
