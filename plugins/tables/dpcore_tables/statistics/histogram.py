"""The number of rows in each bin of a column, and in each pair of bins of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

import numpy as np

from dpcore.plugin import InvalidInputError, NeighboringRelation
from dpcore.plugin.parts import Sensitivity, float_up, sealed, sqrt_up
from dpcore_tables.statistics.categorical_column import CategoricalColumn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.plugin.parts import Block

__all__ = ["Histogram", "TwoWayTable", "sensitivity_of_bins"]


class _Numbers(Protocol):
    """A column of numbers between public bounds, in whole steps."""

    def steps(self, block: Block) -> np.ndarray: ...

    def public_steps(self, values: Sequence[float]) -> np.ndarray: ...


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """How many rows have each level of a column of levels, or lie between each two edges of a
    numeric column; a row of no bin counts nowhere.

    A row counts 1 in one bin at most, so the counts move by at most 1 in every norm under
    add-or-remove-one and replace-special; under replace-one a row may leave one bin for another, 2
    in l1 and the square root of 2 in l2 (Dwork, McSherry, Nissim & Smith 2006, section 3).

    Parameters
    ----------
    column : its levels are public, and so are its bounds.
    edges : of a numeric column, public, rising, in its own unit. A bin holds its lower edge, the
        last one also its upper edge. Edges and cells are told apart to 2^-16 of the bounds.
    norm : of the sensitivity.

    Examples
    --------
    >>> from dpcore.plugin import NeighboringRelation
    >>> from dpcore_tables.statistics import CategoricalColumn, Histogram
    >>> city = CategoricalColumn((), ("Bern", "Basel"))
    >>> query = Histogram(city)
    >>> query.sensitivity(NeighboringRelation.REPLACE_ONE).bound  # one count down, one up
    1.4142135623730951
    """

    column: CategoricalColumn | _Numbers
    edges: tuple[float, ...] = ()
    norm: Literal["l1", "l2"] = "l2"

    kind: ClassVar[str] = "histogram"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.column, CategoricalColumn):
            if self.edges:
                raise InvalidInputError("Expected no edges of a column of levels.")
        elif len(self.edges) < 2 or (np.diff(self.column.public_steps(self.edges)) <= 0).any():
            raise InvalidInputError(
                "Expected edges, two or more, that rise by more than 2^-16 of the column's bounds "
                "and lie within these."
            )

    @property
    def n_bins(self) -> int:
        if isinstance(self.column, CategoricalColumn):
            return len(self.column.levels)
        return len(self.edges) - 1

    def start(self) -> np.ndarray:
        return np.zeros(self.n_bins, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        return np.bincount(self.bins(block), minlength=self.n_bins + 1)[: self.n_bins]

    def bins(self, block: Block) -> np.ndarray:
        """Return the bin of every row; ``n_bins`` for none."""
        if isinstance(self.column, CategoricalColumn):
            return self.column.codes(block)
        edges, steps = self.column.public_steps(self.edges), self.column.steps(block)
        bins = np.searchsorted(edges, steps, side="right") - 1
        bins[steps == edges[-1]] = self.n_bins - 1
        bins[bins < 0] = self.n_bins
        return bins

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return sensitivity_of_bins(self.norm, relation)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class TwoWayTable:
    """How many rows are in a bin of the first histogram and a bin of the second, pair by pair, row
    by row of the table. A row of no bin in one of them counts nowhere.

    A row counts 1 in one pair at most, so that the counts move as those of one histogram
    (``sensitivity_of_bins``; Dwork, McSherry, Nissim & Smith 2006, section 3).

    Parameters
    ----------
    first, second : of the rows and of the columns of the table.
    norm : of the sensitivity.

    Examples
    --------
    >>> from dpcore.plugin import NeighboringRelation
    >>> from dpcore_tables.statistics import CategoricalColumn, Histogram, TwoWayTable
    >>> city = Histogram(CategoricalColumn((0, 1), ("Bern", "Basel")))
    >>> hired = Histogram(CategoricalColumn((), ("no", "yes")))
    >>> query = TwoWayTable(city, hired)
    >>> query.n_bins, query.sensitivity(NeighboringRelation.ADD_OR_REMOVE_ONE).bound
    (4, 1.0)
    """

    first: Histogram
    second: Histogram
    norm: Literal["l1", "l2"] = "l2"

    kind: ClassVar[str] = "two-way"
    thread_safe: ClassVar[bool] = True

    @property
    def n_bins(self) -> int:
        return self.first.n_bins * self.second.n_bins

    def start(self) -> np.ndarray:
        return np.zeros(self.n_bins, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        one, other = self.first.bins(block), self.second.bins(block)
        width = self.second.n_bins
        counted = (one < self.first.n_bins) & (other < width)
        pairs = np.where(counted, one * width + other, self.n_bins)
        return np.bincount(pairs, minlength=self.n_bins + 1)[: self.n_bins]

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return sensitivity_of_bins(self.norm, relation)


def sensitivity_of_bins(
    norm: Literal["l1", "l2"], relation: NeighboringRelation, grid_bits: int = 0
) -> Sensitivity:
    """Return how far counts move where a row counts 1 in one of them at most. Under
    add-or-remove-one and replace-special they move by 1 in every norm. Under replace-one a row may
    leave one count for another: 2 in l1 and the square root of 2 in l2 (Dwork, McSherry, Nissim &
    Smith 2006, section 3)."""
    bound = 1.0
    if relation is NeighboringRelation.REPLACE_ONE:
        bound = 2.0 if norm == "l1" else float_up(sqrt_up(2))  # type: ignore[arg-type]
    return Sensitivity(norm, bound, relation, grid_bits)
