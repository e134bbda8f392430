"""Counts of the rows of either class whose log odds are near each of a few public knots."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpcore.plugin import NeighboringRelation, round_parameters
from dpcore.plugin.parts import (
    LossFacts,
    Sensitivity,
    constant,
    float_up,
    sealed,
    sqrt_up,
)

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore.plugin.parts import Block

__all__ = ["KNOTS", "ONE", "LabelledScores", "labels_of"]

KNOTS = (-24.0, -12.0, -6.0, -3.0, -1.25, 0.0, 1.25, 3.0, 6.0, 12.0, 24.0)
"""Public log odds: near enough to each other where the model doubts, few where it does not."""
_BITS = 20
ONE = 2**_BITS


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class LabelledScores:
    """How many rows of either class have log odds near each of ``KNOTS``, of a released model.

    A row is divided between the two knots beside its log odds, so that these are the mean of its
    parts (linear binning: Hall & Wand 1996); beyond the last knots it counts as there. Every row
    counts 1 in all; of a weighted loss, its weight over the largest.

    Sensitivity: the parts of a row are k and m - k steps of 2^-20, in two cells of its class, where
    m is 2^20, and with weights a whole number from 0 to that, whatever the weight is; no sum moves
    by another row's. Under add-or-remove-one and replace-special the sums so move by
    1 in l1, and by no more in l2. Under replace-one, by a vector of parts a less another b: by at
    most 2 in l1, and, as no part is negative, ||a - b||^2 = ||a||^2 + ||b||^2 - 2 a.b <= 2, by the
    square root of 2 in l2, rounded up. It holds in integers: log odds are those of the row alone
    (``block.margins``), and whatever they are, the two parts add up to m.

    Parameters
    ----------
    problem : public facts of the rows; its loss says what they weigh.
    w : float64 of shape (n_features,), a released value, rounded to the parameters' grid.
    norm : of the sensitivity.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin.parts import Logistic
    >>> from dpcore.plugin import NeighboringRelation, Problem
    >>> from dpcore_baselines.calibration.labelled_scores import LabelledScores
    >>> add = NeighboringRelation.ADD_OR_REMOVE_ONE
    >>> problem = Problem(Logistic(), 0.0, 2, row_norm=1.0, raw_norm_bound=1.0, relation=add)
    >>> query = LabelledScores(problem, np.array([1.0, -0.5]))
    >>> query.sensitivity(NeighboringRelation.REPLACE_ONE).bound
    1.4142135623730951
    """

    problem: Problem
    w: np.ndarray
    norm: Literal["l1", "l2"] = "l2"

    kind: ClassVar[str] = "calibration"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        rounded = round_parameters(self.w, self.problem.raw_norm_bound)
        object.__setattr__(self, "w", constant(rounded))

    @property
    def n_cells(self) -> int:
        """The number of counts."""
        return 2 * len(KNOTS)

    def start(self) -> np.ndarray:
        return np.zeros(self.n_cells, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        first = np.where(labels_of(block) > 0, len(KNOTS), 0)
        counts = self._near_knots(block.margins(self.w), first, self._sizes(block, ONE))
        return counts.astype(np.int64)  # Whole numbers below 2^53: exact.

    def _near_knots(self, odds: np.ndarray, first: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return what rows of these sizes count near the knots beside their log odds, whose cells
        begin at ``first`` of each."""
        knots = np.array(KNOTS)
        odds = np.clip(np.nan_to_num(odds, nan=0.0), knots[0], knots[-1])
        below = np.clip(np.searchsorted(knots, odds) - 1, 0, len(knots) - 2)
        parts = (odds - knots[below]) / (knots[below + 1] - knots[below])
        upper = np.floor(parts * sizes)  # From 0 to the size, as parts are from 0 to 1.
        counts = np.bincount(first + below, sizes - upper, self.n_cells)
        return counts + np.bincount(first + below + 1, upper, self.n_cells)

    def _sizes(self, block: Block, most: int) -> np.ndarray:
        """Return the steps of 2^-20 that each row counts, whole numbers from 0 to ``most``.

        A weight multiplies a row's slopes, so that it follows from the slope of the row's own class
        where all margins are 0: of size 1/2 of two classes with one margin, and 1 - 1/K of K.
        """
        loss, several = self.problem.loss, self.w.ndim > 1
        if (largest := LossFacts.of(loss).largest_weight) == 1.0:
            return np.full(block.n_rows, float(most))
        k = self.w.shape[0] if several else 2
        slopes = np.empty((k, block.n_rows) if several else block.n_rows)
        loss.dvalue(np.zeros_like(slopes), block.y, slopes)
        if several:
            own = np.clip(labels_of(block), 0, k - 1).astype(np.int64)
            slopes = slopes[own, np.arange(block.n_rows)]
        shares = np.nan_to_num(np.abs(slopes) * (k / (k - 1) / largest), nan=0.0)
        return np.asarray(np.floor(np.clip(shares, 0.0, 1.0) * most))

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = 1.0
        if relation is NeighboringRelation.REPLACE_ONE:
            bound = 2.0 if self.norm == "l1" else float_up(sqrt_up(Fraction(2)))
        return Sensitivity(self.norm, bound, relation, grid_bits=_BITS)


def labels_of(block: Block) -> np.ndarray:
    """Return the labels of a block's rows, without the weights that may be beside them."""
    y = block.y
    return np.asarray(y if y.dtype.names is None else y["label"])
