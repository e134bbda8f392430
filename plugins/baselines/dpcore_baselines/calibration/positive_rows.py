"""The number of positive rows, and of those that a model takes to be positive."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, NeighboringRelation, round_parameters
from dpcore.plugin.parts import Sensitivity, constant, float_up, sealed, sqrt_up
from dpcore_accounting.reproducible.array_functions import array_exp
from dpcore_baselines.calibration.labelled_scores import labels_of

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore.plugin.parts import Block

__all__ = ["PositiveRows"]

_BITS, _FARTHEST = 20, 40.0
_HALF = 2 ** (_BITS - 1)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class PositiveRows:
    """Two sums over rows: of 1/2 for a positive row and -1/2 for any other, and of p - 1/2, p the
    probability of a positive one by a released model.

    Sensitivity: both count in steps of 2^-20, and what a row adds to the second is held to -1/2 to
    1/2, whatever the row is. Under add-or-remove-one and replace-special each sum moves by at most
    1/2, both by the square root of 1/2 in l2; under replace-one by at most 1, both by the square
    root of 2, rounded up. It holds in integers: a row's log odds are those of the row alone
    (``block.margins``).

    Parameters
    ----------
    problem : public facts of the rows. ``w`` : float64 of shape (n_features,), a released value,
        rounded to the parameters' grid.

    Raises InvalidInputError for parameters of another shape: of several models a row would count in
    the second sum as often.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin.parts import Logistic
    >>> from dpcore.plugin import NeighboringRelation, Problem
    >>> from dpcore_baselines.calibration.positive_rows import PositiveRows
    >>> add = NeighboringRelation.ADD_OR_REMOVE_ONE
    >>> problem = Problem(Logistic(), 0.0, 2, row_norm=1.0, raw_norm_bound=1.0, relation=add)
    >>> PositiveRows(problem, np.array([1.0, -0.5])).sensitivity(add).bound
    0.7071067811865476
    """

    problem: Problem
    w: np.ndarray

    kind: ClassVar[str] = "calibration"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        width = self.problem.n_features
        if np.shape(self.w) != (width,):
            raise InvalidInputError(f"Expected w of {width} features, of one model.")
        rounded = round_parameters(self.w, self.problem.raw_norm_bound)
        object.__setattr__(self, "w", constant(rounded))

    def start(self) -> np.ndarray:
        return np.zeros(2, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        odds = np.nan_to_num(block.margins(self.w), nan=0.0)
        p = 1.0 / (1.0 + array_exp(-np.clip(odds, -_FARTHEST, _FARTHEST)))
        told = np.clip(np.floor(p * 2**_BITS), 0, 2**_BITS).astype(np.int64) - _HALF
        labels = np.where(labels_of(block) > 0, _HALF, -_HALF)
        return np.array([labels.sum(), told.sum()], dtype=np.int64)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        square = Fraction(relation.rows_changed**2, 2)
        return Sensitivity("l2", float_up(sqrt_up(square)), relation, grid_bits=_BITS)
