"""Counts of rows of two classes by their class and by a public bin of their score."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin.parts import sealed
from dpcore_report.evaluation.held_out_sums import BITS, HeldOutSums
from dpcore_tables.statistics.histogram import sensitivity_of_bins

if TYPE_CHECKING:
    from dpcore.plugin import NeighboringRelation
    from dpcore.plugin.parts import Block, Sensitivity

__all__ = ["CUTS", "EDGES", "ScoreCounts"]

CUTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
"""The public edges of bins of probability, denser where rare classes lie."""
EDGES = tuple(round(math.log(p / (1.0 - p)), 6) for p in CUTS)
"""The same as log odds: edges of margins, of every loss. The middle one is 0."""


@sealed
class ScoreCounts(HeldOutSums):
    """How many rows are of each of two classes and in each bin of the margin, between ``EDGES``.

    A row has one class and one score, and counts 1 in one cell, so the cells of all classes
    together are one histogram, with the sensitivity of ``Histogram``: 1 in every norm under
    add-or-remove-one and replace-special; under replace-one 2 in l1 and the square root of 2 in l2,
    rounded up (Dwork, McSherry, Nissim & Smith 2006, section 3). The number of rows is the sum of
    noisy cells, and no exact one.

    A margin on an edge is in the bin below, as a margin of 0 is the first class.
    """

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, int]:
        """The number of classes, and of bins of each; the answer is flat, class by class."""
        return (2, len(EDGES) + 1)

    def answer_block(self, block: Block) -> np.ndarray:
        margins, classes = block.margins(self.w), (self._labels(block) > 0).astype(np.int64)
        bins, (n_classes, n_bins) = np.searchsorted(EDGES, margins), self.shape
        return self._in_cells(n_bins * classes + bins, self._counts(block), n_classes * n_bins)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return sensitivity_of_bins(self.norm, relation, BITS)
