"""Sums over a random sample of the rows. The sampler makes the event, so that what is drawn and
what is charged cannot disagree."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, NeighboringRelation
from dpcore.plugin.parts import PoissonSampledDpEvent, sealed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcore.plugin.parts import Block, DpEvent, NoiseSource, Query, Sensitivity, Table

__all__ = ["PoissonSample", "Sample"]

_COIN_BITS = 64


@sealed
class Sample:
    """A sum over some of the rows, asked for each time anew; an empty sample is an answer too."""

    __slots__ = ()

    query: Query

    def _require_sum(self) -> None:
        """Raise InvalidInputError for a query that is no sum over rows."""
        asked: Any = self.query
        whole = hasattr(asked, "derive") or hasattr(asked, "answer_table")
        if whole or not hasattr(asked, "answer_block"):
            raise InvalidInputError(
                f"Only a sum over rows can be sampled, and {type(asked).__name__} is none."
            )

    @property
    def kind(self) -> str:
        return self.query.kind

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        """Return the sum's own: whatever the sample, one row moves the sum over it by no more."""
        return self.query.sensitivity(relation)

    def _sum(self, table: Table, places: np.ndarray) -> np.ndarray:
        """Return the sum over the rows at these places, sorted int64."""
        total = self.query.start()
        for part in self._parts(table, places):
            total = total + self.query.answer_block(part)
        return total

    def _parts(self, table: Table, places: np.ndarray) -> Iterator[Block]:
        """Yield the rows in the sample, at most those of one block at a time: sums stay exact."""
        begins = np.cumsum([0, *(block.n_rows for block in table.blocks)])
        ends = np.searchsorted(places, begins).tolist()
        for block, begin, first, last in zip(table.blocks, begins, ends, ends[1:], strict=False):
            if last > first:
                yield block.take(places[first:last] - begin)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class PoissonSample(Sample):
    """``query`` over a sample that each row joins with ``sampling_probability``, independently.

    The coins are exact: P(a row joins) is the largest multiple of 2^-64 that is at most the
    event's ``sampling_probability``. They come from the session's noise, anew for each release, and
    are dropped with it. A smaller probability costs no more: a sample of the sample is
    post-processing of the distributions that dominate (Balle, Barthe & Gaboardi 2018, section 3).

    Neighbours: under add-or-remove-one the row that one table lacks has a coin on the other alone;
    under replace-one and replace-special the two rows share one. So what a row in the sample can
    move is the sum's own sensitivity under the relation, and every other row's coin is the same.

    Where units have several rows, a unit has a coin, and all of its rows join or none: read "unit"
    for "row" above.

    Parameters
    ----------
    query : a sum over rows; no derived or table query, no other sample.
    sampling_probability : in [2^-64, 1]. Public, and never worked out from a private number of
        rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin.parts import Logistic
    >>> from dpcore.plugin import ClippedGradientSum, NeighboringRelation, Problem
    >>> from dpcore_accounting.samples import PoissonSample
    >>> add = NeighboringRelation.ADD_OR_REMOVE_ONE
    >>> problem = Problem(Logistic(), 0.0, 2, row_norm=1.0, raw_norm_bound=1.0, relation=add)
    >>> sample = PoissonSample(ClippedGradientSum(problem, np.zeros(2), clip=1.0), 0.01)
    >>> sample.sampling_probability, sample.query.clip
    (0.01, 1.0)
    """

    query: Query
    sampling_probability: float

    draws_units: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._require_sum()
        p = self.sampling_probability
        if not (isinstance(p, float) and 2.0**-_COIN_BITS <= p <= 1):
            raise InvalidInputError(f"Expected sampling_probability={p!r} to be a float in (0, 1].")
        object.__setattr__(self, "sampling_probability", float(p))

    def sampled_event(self, event: DpEvent, relation: NeighboringRelation) -> DpEvent:
        """Return what the release costs, given what it costs over all rows.

        Raises InvalidInputError under replace-one for a sum that moves by more when a row leaves it
        than when one is replaced: amplification compares with the row's absence.
        """
        if relation is NeighboringRelation.REPLACE_ONE:
            self._require_covered(self.query.sensitivity(relation))
        return PoissonSampledDpEvent(self.sampling_probability, event, relation)

    def _require_covered(self, replaced: Sensitivity) -> None:
        """Raise InvalidInputError for a sum that moves by more without a row than with another."""
        removed = self.query.sensitivity(NeighboringRelation.ADD_OR_REMOVE_ONE)
        values = [(removed.bound, replaced.bound)]
        if removed.change_range is not None:
            values.append((removed.change_range, replaced.change_range or 0.0))
        if removed.norm != replaced.norm or any(a > b for a, b in values):
            raise InvalidInputError(
                f"{type(self.query).__name__} moves by more when a row is removed than when it is "
                "replaced, so that a Poisson sample of it is not accounted for under replace-one."
            )

    def answer_table(self, table: Table, noise: NoiseSource) -> np.ndarray:
        return self._sum(table, self.places(table, noise))

    def places(self, table: Table, noise: NoiseSource) -> np.ndarray:
        """Return the places of the rows that join, each by a coin of its own, or of its unit:
        secret, as the rows are."""
        weight = int(Fraction(self.sampling_probability) * 2**_COIN_BITS)
        units = table.units
        if units is None:
            return np.flatnonzero(noise.coins(table.n_rows, weight))
        joined = noise.coins(int(units.max(initial=-1)) + 1, weight)
        return np.flatnonzero(joined[units])
