"""Sums over a sample of a fixed size, every choice equally likely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import SampledWithoutReplacementDpEvent, sealed
from dpcore_accounting.samples import Sample

if TYPE_CHECKING:
    import numpy as np

    from dpcore.plugin import NeighboringRelation
    from dpcore.plugin.parts import DpEvent, NoiseSource, Query, Sensitivity, Table

__all__ = ["FixedSizeSample"]


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class FixedSizeSample(Sample):
    """``query`` over ``sample_size`` of the ``n`` rows, every choice equally likely.

    For the relations under which the number of rows is public; add-or-remove-one is refused. The
    row in which two tables differ is in the sample with probability ``sample_size / n``, and the
    other rows in it have the same distribution on both, so what moves is the sum's own sensitivity.

    Parameters
    ----------
    query : a sum over rows; no derived or table query, no other sample.
    sample_size : >= 1.
    n : the public number of rows, at least ``sample_size``.
    """

    query: Query
    sample_size: int
    n: int

    def __post_init__(self) -> None:
        self._require_sum()
        sample_size, n = self.sample_size, self.n
        if type(sample_size) is not int or type(n) is not int or not 1 <= sample_size <= n:
            raise InvalidInputError(f"Expected 1 <= sample_size={sample_size!r} <= n={n!r}.")

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        if not relation.size_is_public:
            raise InvalidInputError(
                f"A sample of a fixed size needs a public number of rows, which {relation.value} "
                "does not give; use PoissonSample."
            )
        return Sample.sensitivity(self, relation)

    def sampled_event(self, event: DpEvent, relation: NeighboringRelation) -> DpEvent:
        """Return what the release costs, given what it costs over all rows."""
        return SampledWithoutReplacementDpEvent(self.n, self.sample_size, event, relation)

    def answer_table(self, table: Table, noise: NoiseSource) -> np.ndarray:
        return self._sum(table, self.places(table, noise))

    def places(self, table: Table, noise: NoiseSource) -> np.ndarray:
        """Return the places of the rows that join: secret, as the rows are."""
        if table.n_rows != self.n:
            raise InvalidInputError(f"Expected a table of n={self.n!r} rows.")
        return noise.subset(self.n, self.sample_size)
