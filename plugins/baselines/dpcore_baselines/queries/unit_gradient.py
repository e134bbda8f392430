"""The sum over units of gradients that are clipped unit by unit, not row by row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, NeighboringRelation, Problem
from dpcore.plugin.parts import ClippedGradients, Sensitivity, sealed
from dpcore_baselines.queries.kernels import add_clipped_units, add_rows_to_units
from dpcore_baselines.queries.standardization import SCALE_BITS

if TYPE_CHECKING:
    from dpcore.plugin.parts import Block
    from dpcore_baselines.queries.standardization import Standardization

__all__ = ["UnitGradientSum"]

_CELLS = 2**22
"""Cells of rows that are unfolded at a time."""


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class UnitGradientSum(ClippedGradients):
    """``sum_u clip(sum of l'(x_i.w, y_i) phi_i over the rows i of unit u)``, phi_i the standardised
    row: the gradient of a whole unit is scaled down to norm ``clip``.

    Sensitivity between tables that differ in one unit, however many rows it has: a unit contributes
    a vector of l2 norm at most ``clip``, so that the sum moves by at most ``clip`` under
    add-or-remove-one and ``2 clip`` under replace-one (Abadi et al. 2016, section 3.1, of units in
    the place of rows; for users: McMahan, Ramage, Talwar & Zhang 2018). In integers it holds
    exactly, whatever the unit's rows are: each row makes whole numbers by itself, those of a unit
    are added and mapped in int64 (modulo 2^64), and of what results the norm is bounded above, the
    factor rounded down and each coordinate truncated towards zero (``add_clipped_units``). A row is
    clipped to ``clip`` before, so that no sum of a unit wraps around.

    Parameters
    ----------
    problem : public facts of a run whose units have several rows.
    w : float64 of the problem's shape, a released value, of the rows as they are.
    standardization : the map, of public or released values.
    clip : the bound of a unit's gradient. ``noise_multiplier`` : the noise the answer will get.
    """

    problem: Problem
    w: np.ndarray
    standardization: Standardization
    clip: float
    noise_multiplier: float = 1.0
    bits: int = field(init=False)

    thread_safe: ClassVar[bool] = True
    clips_units: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.problem.rows_per_unit is None:
            raise InvalidInputError("Expected units of several rows, whose sums are clipped.")
        self.standardization.require_columns(self.problem.n_features)
        self._take_grids(widest=float(self.clip) * 2.0**SCALE_BITS)

    def answer_block(self, block: Block) -> np.ndarray:
        total = self.start()
        limit = self.clip * 2.0 ** (Problem.FEATURE_BITS + self.bits + SCALE_BITS)
        for part in _pieces(block, self.w.size):
            add_clipped_units(self._unit_sums(part), limit, total.reshape(-1))
        return total

    def _unit_sums(self, block: Block) -> np.ndarray:
        """Return the sum of each unit's standardised gradients, all classes side by side: int64
        modulo 2^64 of shape (n_units, w.size)."""
        if block.units is None:
            raise InvalidInputError("Expected blocks of rows that have units.")
        c, factor = self._slopes(block), np.ones(block.n_rows)
        norms = block.standardized_norms(self.standardization, 2.0**-SCALE_BITS)
        self.clip_rows(c, factor, norms, self.clip, 2.0**self.bits, "l2")
        ids, units = np.unique(block.units, return_inverse=True)
        width, scale = self.w.shape[-1], 2.0 ** (Problem.FEATURE_BITS + self.bits)
        sums = np.zeros((self.w.size // width, ids.size, width), dtype=np.int64)
        rows = block.rows()
        for of_class, total in zip(np.atleast_2d(c), sums, strict=True):
            add_rows_to_units(rows, of_class, units.reshape(-1), scale, total)
        mapped = self.standardization.map_sums(sums)
        return np.ascontiguousarray(mapped.swapaxes(0, 1)).reshape(ids.size, self.w.size)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bits = Problem.FEATURE_BITS + self.bits + SCALE_BITS
        return Sensitivity("l2", self.clip * relation.rows_changed, relation, grid_bits=bits)


def _pieces(block: Block, width: int) -> Iterator[Block]:
    """Yield the rows, those of a unit together, so many that unfolded, or their units' sums of this
    width, they are few cells."""
    most = max(1, _CELLS // width)
    if block.n_rows <= most or block.units is None:
        yield block
        return
    order = np.argsort(block.units, kind="stable")
    edges = np.append(np.flatnonzero(np.diff(block.units[order], prepend=-1)), block.n_rows)
    begin = 0
    while begin < block.n_rows:
        within = edges[(edges > begin) & (edges <= begin + most)]
        end = int(within.max() if within.size else edges[edges > begin].min())
        yield block.take(order[begin:end])
        begin = end
