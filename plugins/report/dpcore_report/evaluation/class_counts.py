"""Counts of rows of three classes and more: what the model says of them, and by bins of scores."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import Sensitivity, float_up, sealed, sqrt_up
from dpcore_report.evaluation.held_out_sums import BITS, HeldOutSums
from dpcore_report.evaluation.score_counts import EDGES

if TYPE_CHECKING:
    from dpcore.plugin.parts import Block

__all__ = ["N_BINS", "ClassCounts", "scale_bits"]

N_BINS = len(EDGES) + 1
"""Of a class's score, which is its margin over the largest one of the other classes."""


def scale_bits(n_classes: int, norm: str) -> int:
    """Return t, for which a row counts 2^-t in each of its bins of scores: the least t with
    ``n_classes`` 4^-t <= 1 in l2, ``n_classes`` 2^-t <= 1 in l1."""
    bits = (n_classes - 1).bit_length()
    return bits if norm == "l1" else (bits + 1) // 2


def of_known_classes(
    margins: np.ndarray, y: np.ndarray, counts: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the margins, the classes, int64, and the counts of the rows whose class is one of 0 to
    ``n_classes`` - 1. The others count nowhere: an error would tell that one is there."""
    known = (y >= 0) & (y < n_classes)
    return np.ascontiguousarray(margins[:, known]), y[known].astype(np.int64), counts[known]


@sealed
class ClassCounts(HeldOutSums):
    """How many rows are of each class and how many get each class from the model. Then, for each
    class and public bin, how many rows of the class, and how many others, have a score of it in
    that bin.

    The answer is flat, class by class: the rows of the class by what the model says, those of it by
    bin, and the others by bin. A row of K classes counts 1 in one cell of the first kind, and 2^-t
    (``scale_bits``) in one bin of each class. So a row that is added or removed, or replaced by a
    row that counts nowhere, moves all of them by 1 + K 2^-t in l1 and by sqrt(1 + K 4^-t) in l2. No
    count of a row is negative: of two rows the difference is at most twice as long in l1, and at
    most sqrt(2) times in l2, under replace-one (Dwork, McSherry, Nissim & Smith 2006, section 3).
    Roots are rounded up.

    A score is a difference of two margins of the row, and rounded as such alone: in which bin it
    lies has nothing to do with other rows. A score on an edge is in the bin below.
    """

    __slots__ = ()

    of_classes: ClassVar[bool] = True

    @property
    def shape(self) -> tuple[int, int]:
        """The number of classes, and of counts of each."""
        return (self.w.shape[0], self.w.shape[0] + 2 * N_BINS)

    def answer_block(self, block: Block) -> np.ndarray:
        n_classes, width = self.shape
        rows = block.margins(self.w), self._labels(block), self._counts(block)
        margins, classes, steps = of_known_classes(*rows, n_classes)
        said = margins.argmax(axis=0)
        counts = self._in_cells(width * classes + said, steps, n_classes * width)
        others = np.partition(margins, n_classes - 2, axis=0)[-2:]
        steps >>= scale_bits(n_classes, self.norm)
        for k, own in enumerate(margins):
            bins = np.searchsorted(EDGES, own - np.where(said == k, others[0], others[1]))
            bins += k * width + n_classes + N_BINS * (classes != k)
            counts += self._in_cells(bins, steps, n_classes * width)
        return counts

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        n_classes = self.w.shape[0]
        own = Fraction(1, 2 ** scale_bits(n_classes, self.norm))
        replaced = 1 + (relation is NeighboringRelation.REPLACE_ONE)
        if self.norm == "l1":
            bound = float_up(replaced * (1 + n_classes * own))
        else:
            bound = float_up(sqrt_up(replaced * (1 + n_classes * own**2)))
        return Sensitivity(self.norm, bound, relation, BITS)
