"""Sums of every column and of its squares."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, NeighboringRelation, Problem
from dpcore.plugin.parts import Sensitivity, clip_coefficients, sealed

if TYPE_CHECKING:
    from dpcore.plugin.parts import Block
    from dpcore_baselines.queries.standardization import Standardization

__all__ = ["ColumnMoments"]

_ROOT = math.sqrt(2) * (1 + 2.0**-50)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class ColumnMoments:
    """``sum_i c_i x_i`` and behind it ``sum_i c_i q(x_i)``: q squares an entry of size up to 1 and
    takes the size of another, so that ||q(x)|| <= ||x||.

    A row is scaled down by c_i <= 1 until it contributes an l2 norm of at most ``clip``: both parts
    together are at most sqrt(2) ||x_i||. Sensitivity ``clip`` under add-or-remove-one and
    replace-special, ``2 clip`` under replace-one (Dwork, McSherry, Nissim & Smith 2006, of a sum of
    bounded vectors). It holds in integers, as that of ClippedGradientSum does.

    Parameters
    ----------
    problem : public facts. ``clip`` : the bound of a row's part; sqrt(2) times the row norm scales
        no row down. ``noise_multiplier`` : the noise the answer will get.
    counted : a public map of scales 0 and 1 alone, whose zeros leave columns out: a row is then
        scaled by the length of its other entries, and the sums of those columns are 0.

    Examples
    --------
    >>> from dpcore.plugin.parts import Logistic
    >>> from dpcore.plugin import NeighboringRelation, Problem
    >>> from dpcore_baselines.queries.moments import ColumnMoments
    >>> add = NeighboringRelation.ADD_OR_REMOVE_ONE
    >>> problem = Problem(Logistic(), 0.0, 2, row_norm=1.0, raw_norm_bound=1.0, relation=add)
    >>> ColumnMoments(problem, clip=1.0).sensitivity(add).bound
    1.0
    """

    problem: Problem
    clip: float
    noise_multiplier: float = 1.0
    counted: Standardization | None = None
    bits: int = field(init=False)

    kind: ClassVar[str] = "moments"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.counted is not None and not self.counted.is_selection:
            raise InvalidInputError("Expected a map that takes columns as they are or not.")
        if self.counted is not None:
            self.counted.require_columns(self.problem.n_features)
        object.__setattr__(self, "clip", float(self.clip))
        bits = self.problem.coefficient_bits(self.clip, self.noise_multiplier)
        object.__setattr__(self, "bits", bits)

    @property
    def rows_that_fit(self) -> int | None:
        return self.problem.unsure_capacity

    def start(self) -> np.ndarray:
        return np.zeros(2 * self.problem.n_features, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        c = np.ones(block.n_rows)
        norms = _ROOT * self._norms(block)
        clip_coefficients(c, block.factor, norms, self.clip, 2.0**self.bits)
        sums = np.stack([block.weighted_sum(c), block.weighted_moments(c)])
        if self.counted is not None:
            sums[:, self.counted.scales == 0] = 0.0
        steps: np.ndarray = np.ldexp(sums.reshape(-1), Problem.FEATURE_BITS + self.bits)
        return steps.astype(np.int64)

    def _norms(self, block: Block) -> np.ndarray:
        if self.counted is None:
            return block.row_norms("l2")
        return block.standardized_norms(self.counted)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = self.clip * relation.rows_changed
        return Sensitivity("l2", bound, relation, grid_bits=Problem.FEATURE_BITS + self.bits)
