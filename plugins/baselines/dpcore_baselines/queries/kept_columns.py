"""Sums over rows without the columns that a run leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from operator import index
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import sealed
from dpcore_baselines.queries.unit_gradient import UnitGradientSum

if TYPE_CHECKING:
    from dpcore.plugin import NeighboringRelation
    from dpcore.plugin.parts import Block, Sensitivity
    from dpcore_baselines.queries.moments import ColumnMoments
    from dpcore_baselines.queries.standardized import StandardizedGradientSum

__all__ = ["KeptColumns", "KeptColumnsOfUnits"]


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class KeptColumns:
    """Some coordinates of a sum, in their order: no others are asked, so none gets noise.

    The answer is a coordinate projection of that of ``query``. Two projections are no further apart
    in l2 than what they are of, so that the sensitivity of ``query`` holds under each relation.

    Parameters
    ----------
    query : the sum. ``kept`` : the public places of the columns, ascending; of a sum of as many
        numbers as several times the columns, those in each of its parts.

    Raises InvalidInputError for places that are no columns' or not ascending: a place that
    came twice would count twice in the distance.
    """

    query: StandardizedGradientSum | UnitGradientSum | ColumnMoments
    kept: tuple[int, ...]

    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        kept = tuple(map(index, self.kept))
        columns = range(self.query.problem.n_features)
        if any(k not in columns for k in kept) or any(a >= b for a, b in pairwise(kept)):
            raise InvalidInputError("Expected places of columns, ascending.")
        object.__setattr__(self, "kept", kept)

    @property
    def kind(self) -> str:
        """As of the sum."""
        return self.query.kind

    @property
    def rows_that_fit(self) -> int | None:
        """As of the sum."""
        return self.query.rows_that_fit

    def start(self) -> np.ndarray:
        return self._of(self.query.start())

    def answer_block(self, block: Block) -> np.ndarray:
        return self._of(self.query.answer_block(block))

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return self.query.sensitivity(relation)

    def _of(self, answer: np.ndarray) -> np.ndarray:
        width = self.query.problem.n_features
        parts = answer.reshape(-1, width)[:, list(self.kept)]
        return np.ascontiguousarray(parts.reshape(*answer.shape[:-1], -1))


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class KeptColumnsOfUnits(KeptColumns):
    """The same of a sum whose clip is that of whole units, whatever the number of their rows: so is
    its sensitivity.

    Raises InvalidInputError for a sum of another class, whose clip is of a row.
    """

    clips_units: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if type(self.query) is not UnitGradientSum:
            raise InvalidInputError("Expected a sum of gradients that clips whole units.")
        KeptColumns.__post_init__(self)
