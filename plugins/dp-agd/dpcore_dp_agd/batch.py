"""Mini-batches: a query over some of the rows, charged as if it were over all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import sealed
from dpcore_accounting.samples import PoissonSample

if TYPE_CHECKING:
    from dpcore.plugin import NeighboringRelation
    from dpcore.plugin.parts import NoiseSource, Query, Sensitivity, Table

__all__ = ["Batch", "PublishedBatch"]


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """``query`` over a sample that each row joins with ``sampling_probability``, by a secret coin
    of its own, drawn afresh for each release.

    Cost: that of the query over all rows; nothing is claimed for the sample's being secret. Given
    the coins, tables that are neighbours have samples that are neighbours or the same, under either
    relation: under add-or-remove-one the row that one table lacks has a coin of its own, under
    replace-one both rows share one. So the answer moves by at most the query's own sensitivity, and
    the release costs what it would over all rows, whatever the coins. The coins do not depend on
    the rows, and a mixture over them costs no more than the worst of its parts: Renyi divergences
    are jointly quasi-convex (van Erven & Harremoes 2014, Theorem 13), curves of (epsilon, delta)
    jointly convex. The filter sees an ordinary release, so that its adaptive composition holds as
    it is (Feldman & Zrnic 2021; Whitehouse et al. 2023).

    Amplification by sampling is left out. zCDP has none: at large orders a sampled Gaussian release
    is as far apart as one of all rows (Bun, Dwork, Rothblum & Steinke 2018, section 1). Accountants
    of samples plan for a fixed schedule, while this run chooses its shares as it goes.

    Where units have several rows, a unit has a coin, and all of its rows join or none.

    A batch of a fixed size, as the authors draw it, moves by twice the clip when a row is added to
    the table, since another row leaves the batch for it. Hence the coins.

    Parameters
    ----------
    query : a sum over rows.
    sampling_probability : in [2^-64, 1], a public or released value.
    """

    query: Query
    sampling_probability: float
    _sample: PoissonSample = field(init=False, repr=False)

    draws_units: ClassVar[bool] = True

    def __post_init__(self) -> None:
        sample = PoissonSample(self.query, self.sampling_probability)
        object.__setattr__(self, "_sample", sample)

    @property
    def kind(self) -> str:
        return self.query.kind

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return self._sample.sensitivity(relation)

    def answer_table(self, table: Table, noise: NoiseSource) -> np.ndarray:
        return self._sample.answer_table(table, noise)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class PublishedBatch:
    """``query`` over ``size`` of the rows, at places that a public ``seed`` gives: the authors'
    batch, which a step's gradients and scores share. NOT private: under add-or-remove-one the
    places move with the number of rows, and the sum by more than the query's own sensitivity."""

    query: Query
    size: int
    seed: tuple[int, ...]

    private: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InvalidInputError(f"Expected size={self.size!r} >= 1.")

    @property
    def kind(self) -> str:
        return self.query.kind

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return self.query.sensitivity(relation)

    def answer_table(self, table: Table, noise: NoiseSource) -> np.ndarray:
        rng = np.random.default_rng(self.seed)
        places = np.sort(rng.choice(table.n_rows, min(self.size, table.n_rows), replace=False))
        total, begin = self.query.start(), 0
        for block in table.blocks:
            here = places[np.searchsorted(places, begin) :]
            here = here[: np.searchsorted(here, begin + block.n_rows)] - begin
            total = total + self.query.answer_block(block.take(here))
            begin += block.n_rows
        return total
