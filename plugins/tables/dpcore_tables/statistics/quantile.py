"""Distances of public candidates to a quantile of a column, for the exponential mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import Sensitivity, float_up, sealed
from dpcore_tables.statistics.columns import NumericColumn

if TYPE_CHECKING:
    from dpcore.plugin.parts import Block, NoiseSource

__all__ = ["QuantileScores", "RankCounts"]

_BITS = 16


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class RankCounts:
    """How many rows lie below the first of rising candidates, at it, between it and the next, at
    that, and so on: 2 n_candidates + 1 counts. A row counts 1 in one of them, so they move by at
    most 1 in l1 under add-or-remove-one and replace-special, by 2 under replace-one.

    ``candidates`` : public steps of the column (``NumericColumn.public_steps``), rising.

    Raises InvalidInputError for candidates that do not rise: a search among these begins where the
    row before ended, so that one row moves the places of others.
    """

    column: NumericColumn
    candidates: tuple[int, ...]

    kind: ClassVar[str] = "ranks"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if {*map(type, self.candidates)} - {int} or any(
            a >= b for a, b in pairwise(self.candidates)
        ):
            raise InvalidInputError(f"Expected candidates={self.candidates} to be rising integers.")

    def start(self) -> np.ndarray:
        return np.zeros(2 * len(self.candidates) + 1, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        steps, candidates = self.column.steps(block), np.array(self.candidates)
        sides = (np.searchsorted(candidates, steps, side) for side in ("left", "right"))
        return np.bincount(sum(sides), minlength=self.start().size)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return Sensitivity("l1", float(relation.rows_changed), relation)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class QuantileScores:
    """Utilities of public candidates for the quantile q of a column: minus the distance of q n to
    the interval of a candidate's ranks,

        u(c) = -max(0, (1 - q) #{x < c} - q #{x >= c}, q #{x > c} - (1 - q) #{x <= c})

    (Smith 2011, Algorithm 1, on a finite set of candidates). To add or remove a row moves each of
    the two sums by q or by 1 - q, and a maximum by no more than its parts: m = max(q, 1 - q). To
    replace a row moves each by at most 1. Utilities so move apart by at most 2 m under
    add-or-remove-one and replace-special, and by 2 under replace-one: the range that the
    exponential mechanism needs. q is rounded to 2^-16, which is public, and sums are exact.

    Parameters
    ----------
    column : numeric, with public bounds. ``q`` : in [0, 1].
    candidates : public values in the column's own unit, rising.

    Examples
    --------
    >>> from dpcore.plugin import NeighboringRelation
    >>> from dpcore_tables.statistics import NumericColumn, QuantileScores
    >>> median = QuantileScores(NumericColumn(0, 0, 90), 0.5, (20.0, 40.0, 60.0))
    >>> median.sensitivity(NeighboringRelation.ADD_OR_REMOVE_ONE).bound
    0.5
    """

    column: NumericColumn
    q: float
    candidates: tuple[float, ...]

    kind: ClassVar[str] = "quantile"
    by_each_row: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.q <= 1.0:
            raise InvalidInputError(f"Expected 0 <= q={self.q!r} <= 1.")
        if (np.diff(self.column.public_steps(self.candidates)) <= 0).any():
            raise InvalidInputError(
                "Expected candidates that rise by more than 2^-16 of the column's bounds and lie "
                "within these."
            )

    @property
    def _share(self) -> int:
        return int(round(self.q * 2**_BITS))

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        steps = self.column.public_steps(self.candidates)
        counts = ask(RankCounts(self.column, tuple(steps.tolist())))
        up_to = np.cumsum(counts)
        below, within = up_to[:-1:2], up_to[1::2]
        q, total = self._share, up_to[-1]
        # (1 - q) a - q (n - a) = a - q n, in steps of 2^-16.
        too_high = (below << _BITS) - q * total
        too_low = q * total - (within << _BITS)
        return np.asarray(-np.maximum(0, np.maximum(too_high, too_low)))

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        most = Fraction(max(self._share, 2**_BITS - self._share), 2**_BITS)
        if relation is NeighboringRelation.REPLACE_ONE:
            most = Fraction(1)
        bound, spread = float_up(most), float_up(2 * most)
        return Sensitivity("linf", bound, relation, grid_bits=_BITS, change_range=spread)
