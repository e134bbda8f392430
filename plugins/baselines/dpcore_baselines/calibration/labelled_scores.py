"""Counts of the rows of either class whose log odds are near each of a few public knots."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpcore.plugin import NeighboringRelation, round_parameters
from dpcore.plugin.parts import Sensitivity, constant, float_up, sealed, sqrt_up

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore.plugin.parts import Block

__all__ = ["KNOTS", "LabelledScores"]

KNOTS = (-24.0, -12.0, -6.0, -3.0, -1.25, 0.0, 1.25, 3.0, 6.0, 12.0, 24.0)
"""Public log odds: near enough to each other where the model doubts, few where it does not."""
_BITS = 20
_ONE = 2**_BITS


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class LabelledScores:
    """How many rows of either class have log odds near each of ``KNOTS``, of a released model.

    A row is divided between the two knots beside its log odds, so that these are the mean of its
    parts (linear binning: Hall & Wand 1996); beyond the last knots it counts as there. Every row
    counts 1 in all, whatever its weight.

    Sensitivity: the parts of a row are k and 2^20 - k steps of 2^-20, in two cells of its class;
    no sum moves by another row's. Under add-or-remove-one and replace-special the sums so move by
    1 in l1, and by no more in l2. Under replace-one, by a vector of parts a less another b: by at
    most 2 in l1, and, as no part is negative, ||a - b||^2 = ||a||^2 + ||b||^2 - 2 a.b <= 2, by the
    square root of 2 in l2, rounded up. It holds in integers: log odds are those of the row alone
    (``block.margins``), and whatever they are, the two parts add up to one.

    Parameters
    ----------
    problem : public facts of the rows.
    w : float64 of shape (n_features,), a released value, rounded to the parameters' grid.
    norm : of the sensitivity.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.losses.logistic import Logistic
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

    def start(self) -> np.ndarray:
        return np.zeros(2 * len(KNOTS), dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        knots = np.array(KNOTS)
        odds = np.clip(np.nan_to_num(block.margins(self.w), nan=0.0), knots[0], knots[-1])
        below = np.clip(np.searchsorted(knots, odds) - 1, 0, len(knots) - 2)
        parts = (odds - knots[below]) / (knots[below + 1] - knots[below])
        upper = np.floor(parts * _ONE)  # From 0 to 2^20, as parts are from 0 to 1.
        cells = below + np.where(block.y > 0, len(knots), 0)
        counts = np.bincount(cells, _ONE - upper, 2 * len(knots))
        counts += np.bincount(cells + 1, upper, 2 * len(knots))
        return counts.astype(np.int64)  # Whole numbers below 2^53: exact.

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = 1.0
        if relation is NeighboringRelation.REPLACE_ONE:
            bound = 2.0 if self.norm == "l1" else float_up(sqrt_up(Fraction(2)))
        return Sensitivity(self.norm, bound, relation, grid_bits=_BITS)
