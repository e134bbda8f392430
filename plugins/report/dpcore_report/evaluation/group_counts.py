"""Counts and sums of rows held out, group by group."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import Sensitivity, float_up, sealed, sqrt_up
from dpcore_report.evaluation.groups import Groups
from dpcore_report.evaluation.held_out_sums import BITS, HeldOutSums
from dpcore_report.evaluation.prediction_moments import WIDTHS, moments_of, widths_of
from dpcore_tables.statistics.histogram import sensitivity_of_bins

if TYPE_CHECKING:
    from dpcore.plugin.parts import Block

__all__ = ["GroupCounts", "GroupMoments"]

_NONE = Groups("", (), ("",))


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class GroupCounts(HeldOutSums):
    """How many rows are of each group, of each class, and get each class from the model.

    A row is of one group and of one class, and the model says one class of it: it counts 1 in one
    cell. The cells of all groups together are disjoint parts of one histogram, with its
    sensitivity, however many groups there are: 1 in every norm under add-or-remove-one and
    replace-special; under replace-one, where a row leaves one cell for another, of its group or of
    another group, 2 in l1 and the square root of 2 in l2, rounded up (Dwork, McSherry, Nissim &
    Smith 2006, section 3). So all groups are charged as one release.

    The answer is flat: group by group, class by class, by what the model says. A margin of 0 is the
    first of two classes.
    """

    groups: Groups = _NONE

    of_classes: ClassVar[bool] = True

    @property
    def shape(self) -> tuple[int, int, int]:
        """The number of groups, of classes, and of classes that the model may say."""
        n_classes = 2 if self.w.ndim == 1 else self.w.shape[0]
        return (len(self.groups.names), n_classes, n_classes)

    def answer_block(self, block: Block) -> np.ndarray:
        n_groups, n_classes, _ = self.shape
        groups = self.groups.of_rows(block, self.w.shape[-1])
        margins = block.margins(self.w)
        is_of_two = self.w.ndim == 1
        said = (margins > 0).astype(np.int64) if is_of_two else margins.argmax(axis=0)
        y = self._labels(block)
        classes = (y > 0 if is_of_two else y).astype(np.int64)
        cells = (groups * n_classes + classes) * n_classes + said
        # A row of a class that the model does not know counts nowhere.
        known = (classes >= 0) & (classes < n_classes)
        counts = self._counts(block)[known]
        return self._in_cells(cells[known], counts, n_groups * n_classes**2)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return sensitivity_of_bins(self.norm, relation, BITS)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class GroupMoments(HeldOutSums):
    """The sums of ``PredictionMoments``, over the rows of each group.

    A row is of one group, and adds to the sums of that group alone. A row that is added or removed
    moves these by at most 1 each, in m sums by m in l1 and sqrt(m) in l2. A row that is replaced by
    another of its group moves them by at most the width of their intervals; by one of another group
    by at most 1 each in both: 2 m in l1 and sqrt(2 m) in l2. The larger of the two is stated under
    replace-one (Dwork, McSherry, Nissim & Smith 2006, section 3). Roots are rounded up.
    Where rows have weights, the width of the 1 is 1, as of ``PredictionMoments``.

    The answer is flat, group by group.
    """

    groups: Groups = _NONE

    @property
    def shape(self) -> tuple[int, int]:
        """The number of groups, and of sums of each."""
        return (len(self.groups.names), len(WIDTHS))

    def answer_block(self, block: Block) -> np.ndarray:
        groups = self.groups.of_rows(block, self.w.shape[-1])
        margins = np.ascontiguousarray(block.margins(self.w))
        places = range(len(self.groups.names))
        rows = margins, self._labels(block), self._counts(block)
        sums = [moments_of(self.problem.loss, *rows, groups == each) for each in places]
        return np.concatenate(sums)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        moved = [1] * len(WIDTHS)
        squares, total = sum(moved), sum(moved)
        if relation is NeighboringRelation.REPLACE_ONE:
            widths = widths_of(self.largest_weight)
            squares = max(2 * squares, sum(width**2 for width in widths))
            total = max(2 * total, sum(widths))
        bound = float(total) if self.norm == "l1" else float_up(sqrt_up(Fraction(squares)))
        return Sensitivity(self.norm, bound, relation, BITS)
