"""Counts of rows of two classes out of several, near log odds of one over the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin.parts import sealed
from dpcore_baselines.calibration.labelled_scores import KNOTS, ONE, LabelledScores, labels_of

if TYPE_CHECKING:
    from dpcore.plugin.parts import Block

__all__ = ["PairedScores", "pairs_of"]


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """Return the pairs of classes, the lower place first, in the order of their counts.

    Examples
    --------
    >>> from dpcore_baselines.calibration.paired_scores import pairs_of
    >>> pairs_of(3)
    [(0, 1), (0, 2), (1, 2)]
    """
    return [(low, high) for high in range(n_classes) for low in range(high)]


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class PairedScores(LabelledScores):
    """How many rows of either of two classes have log odds of the first over the second near each
    of ``KNOTS``, of a released model, for each pair of K classes.

    The log odds of two classes are the difference of their margins: given that a row is of one of
    the two, a softmax model says so much, since the others cancel (Begg & Gray 1984).

    Sensitivity: a row of a class counts in the K - 1 pairs that have it, near two knots of each,
    ``size`` steps of 2^-20 in all of them alike (with weights fewer): r is the largest whole number
    with (K - 1) r <= 2^20 for a bound in l1, and with (K - 1) r^2 <= 2^40 in l2. Parts k and r - k
    are no longer than r. So a row that is added or removed moves the counts by at most 1 in the
    norm, and a row of no class not at all. Under replace-one it is at most 2 in l1 and, as no part
    is negative, the square root of 2 in l2, rounded up: as ``LabelledScores`` states. It holds in
    integers.

    The answer has, pair by pair (``pairs_of``), the counts of the second class and of the first.
    """

    @property
    def n_cells(self) -> int:
        n_classes = self.w.shape[0]
        return n_classes * (n_classes - 1) * len(KNOTS)

    @property
    def size(self) -> int:
        """The steps of 2^-20 that a row of the largest weight counts in a pair."""
        others = self.w.shape[0] - 1
        return ONE // others if self.norm == "l1" else math.isqrt(ONE**2 // others)

    def answer_block(self, block: Block) -> np.ndarray:
        n_classes, labels = self.w.shape[0], labels_of(block)
        known = np.flatnonzero((labels >= 0) & (labels < n_classes))
        margins, sizes = block.margins(self.w)[:, known], self._sizes(block, self.size)[known]
        own, total = labels[known].astype(np.int64), np.zeros(self.n_cells)
        for k in range(n_classes):
            rows = np.flatnonzero(own != k)
            low, high = np.minimum(own[rows], k), np.maximum(own[rows], k)
            first = len(KNOTS) * (high * (high - 1) + 2 * low + (own[rows] == low))
            odds = margins[low, rows] - margins[high, rows]
            total += self._near_knots(odds, first, sizes[rows])
        return total.astype(np.int64)  # Whole numbers below 2^53: exact.
