"""Sums of c x x', c a function of a row's margin and label that anyone gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import Problem
from dpcore.plugin.parts import CoefficientSum, sealed
from dpcore_accuracy_first.queries.gram import gram_sums

if TYPE_CHECKING:
    from dpcore.plugin.parts import Block

__all__ = ["WeightedGram"]

_UP = 1.0 + 2.0**-40


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class WeightedGram(CoefficientSum):
    """The upper triangle of ``sum_i clip(c_i x_i x_i')``, row by row, the diagonal with it: c_i a
    number that a function of ``weight`` makes of the row's margin ``x_i.w`` and its label. A
    curvature of somebody's own, or a sum of squares over some of the rows. A row with a weight
    contributes its weight times as much before the clip.

    Sensitivity: ``clip`` times the rows in which neighbours differ, in ``norm``, over the entries
    that are released: each entry beside the diagonal once, and not twice. The number is clipped so
    that ``|c| ||x||^2 <= clip``, ``||x||`` in the same norm. Over all entries of c x x', its norm
    is that: ``sum_jk (c x_j x_k)^2 = c^2 ||x||^4`` (Frobenius), ``sum_jk |c x_j x_k| = |c|
    ||x||_1^2``, ``max_jk |c x_j x_k| = |c| max_j x_j^2``. The triangle has some of these entries,
    so that its norm is no larger; a row with one feature reaches it. There is no vector of targets:
    ask a ``CoefficientSum`` for that.

    In integers: features are truncated towards zero to a coarser grid where sums take one, and c
    times a feature after the clip, so that no entry grows. The clip is taken at a norm that is 1 +
    2^-40 times as large, which is more than the roundings of a scaled feature, of the quotient and
    of c times a feature add. Products and their sums are exact, as those of CoefficientSum.

    Parameters
    ----------
    As of ``CoefficientSum``; ``function`` : of ``weight``. ``clip`` : the bound of a row's matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin.parts import Logistic
    >>> from dpcore.plugin import NeighboringRelation, Problem
    >>> from dpcore.plugin.parts import RowFunction
    >>> from dpcore_accuracy_first.queries.weighted_gram import WeightedGram
    >>> def near(z, y, parameters):
    ...     return 1.0 if abs(z) < 0.5 else 0.0
    >>> add = NeighboringRelation.ADD_OR_REMOVE_ONE
    >>> problem = Problem(Logistic(), 0.0, 3, row_norm=1.0, raw_norm_bound=1.0, relation=add)
    >>> query = WeightedGram(problem, np.zeros(3), RowFunction.weight(near), clip=1.0)
    >>> query.start().shape, query.sensitivity(add).bound
    ((6,), 1.0)
    """

    form: ClassVar[str] = "weight"
    kind: ClassVar[str] = "weighted-gram"
    thread_safe: ClassVar[bool] = True

    def start(self) -> np.ndarray:
        d = self.problem.n_features
        return np.zeros(d * (d + 1) // 2, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        fine = min(Problem.FEATURE_BITS, (Problem.FEATURE_BITS + self.bits) // 2)
        rows = block.rows()
        np.trunc(np.multiply(rows, 2.0**fine, out=rows), out=rows)
        # In steps of 2^-(FEATURE_BITS + bits - fine); times a row, in those of the answer.
        c = np.ldexp(self._clipped(block), Problem.FEATURE_BITS + self.bits - 2 * fine)
        left = np.trunc(c[:, np.newaxis] * rows)
        d = self.problem.n_features
        return gram_sums(rows, d, left)[np.triu_indices(d)].astype(np.int64)

    def _clipped(self, block: Block) -> np.ndarray:
        """Return each row's number, of size ``clip / ||x||^2`` at most: 0 where it is not finite,
        and of a row of zeros."""
        z = np.ascontiguousarray(block.margins(self.w))
        norms = block.row_norms(self.norm) * block.factor * _UP
        with np.errstate(all="ignore"):
            c = self.numbers(block)(z, slice(0, block.n_rows))
            limit = self.clip / (norms * norms)
            counts = np.isfinite(c) & (norms > 0.0)
            return np.where(counts, np.clip(c, -limit, limit), 0.0)
