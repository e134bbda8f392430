"""The sum of clipped per-row gradients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.exact.grid import FEATURE_BITS, coefficient_bits, round_parameters
from dpcore.privacy.sealed import constant, sealed
from dpcore.privacy.sensitivity import NeighboringRelation, Sensitivity
from dpcore.queries.clipping import clip_rows

if TYPE_CHECKING:
    from dpcore.data.blocks.block import Block
    from dpcore.protocols import Loss
    from dpcore.protocols.problem import Problem

__all__ = ["ClippedGradientSum", "ClippedGradients"]


@sealed
class ClippedGradients:
    """Base of the sums over rows of gradients that are clipped, at a released point ``w``."""

    __slots__ = ()

    problem: Problem
    w: np.ndarray
    clip: float
    noise_multiplier: float
    bits: int

    kind: ClassVar[str] = "gradient"

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
        part = self.clip if widest is None else widest
        bits = coefficient_bits(part, self.problem.capacity, self.noise_multiplier)
        object.__setattr__(self, "bits", bits)

    def _slopes(self, block: Block) -> np.ndarray:
        """Return the loss's slopes at every row, not clipped: float64 of the margins' shape."""
        z = np.ascontiguousarray(block.margins(self.w))
        c = np.empty(z.shape)
        self.loss.dvalue(z, block.y, c)
        return c

    def _clipped_sum(self, block: Block, norms: np.ndarray, norm: str) -> np.ndarray:
        """Return the sum of the raw rows times their slopes, clipped against ``norms`` of the rows
        in the norm: int64, in steps of ``2**-(FEATURE_BITS + bits)``."""
        y, factor, scale = block.y, block.factor, 2.0**self.bits

        def clipped(z: np.ndarray, rows: slice) -> np.ndarray:
            c = np.empty(z.shape)
            self.loss.dvalue(z, y[rows], c)
            clip_rows(c, factor[rows], norms[rows], self.clip, scale, norm)
            return c

        # Multiples of 2^-(16+k) below 2^53 steps: the product and the conversion are exact.
        steps: np.ndarray = np.ldexp(block.sum_at(self.w, clipped), FEATURE_BITS + self.bits)
        return steps.astype(np.int64)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class ClippedGradientSum(ClippedGradients):
    """``sum_i clip(l'(x_i.w, y_i) x_i)``: every row's gradient scaled down to norm ``clip``; of
    several classes, the gradient in all of their parameters.

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
    norm : ``"l2"`` (Gaussian noise) or ``"l1"`` (Laplace noise).
    noise_multiplier : the noise the answer will get, which bounds how fine the grid may be.
    """

    problem: Problem
    w: np.ndarray
    clip: float
    norm: Literal["l1", "l2"] = "l2"
    noise_multiplier: float = 1.0
    bits: int = field(init=False)

    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.norm not in ("l1", "l2"):
            raise InvalidInputError(f"Expected norm={self.norm!r} to be l1 or l2.")
        self._take_grids()

    def answer_block(self, block: Block) -> np.ndarray:
        return self._clipped_sum(block, block.row_norms(self.norm), self.norm)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = self.clip * relation.rows_changed
        return Sensitivity(self.norm, bound, relation, grid_bits=FEATURE_BITS + self.bits)
