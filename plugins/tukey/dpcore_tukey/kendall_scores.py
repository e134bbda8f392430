"""Scores of columns by Kendall's rank correlation, for the private choice of some of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from dpcore.plugin import InvalidInputError, NeighboringRelation, Problem
from dpcore.plugin.parts import Sensitivity, Table, sealed
from dpcore_tukey.kernels import pairs_in_order
from dpcore_tukey.part_models import require_squares

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcore.plugin.parts import Block, NoiseSource

__all__ = ["KendallScores"]

_SCORE_BITS = 16
_KEPT: WeakKeyDictionary[Table, dict[int, list[int]]] = WeakKeyDictionary()
"""The correlations of a table's columns with each that was asked for, inside the trust boundary and
as long as the table is there. They have no effect but on time."""
_TARGET = -1


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class KendallScores:
    """The scores of all columns but those chosen already and the intercept (``candidates``), int64
    in steps of 2^-16 (Dick, Gillenwater & Joseph 2023, DPKendall):

        u_j = |T(j, target)| - mean over the chosen s of |T(j, s)|,    T(a, b) = S(a, b) / (n - 1),
        S(a, b) = sum over pairs of rows i < k of sgn(a_i - a_k) sgn(b_i - b_k),

    without the mean where none is chosen, and T = 0 for less than two rows. Columns are those of
    the encoded rows: each category and each hat function is one.

    Sensitivity. A sign is a function of two rows, and 0 where they tie.

    * add-or-remove-one. A row more makes S' = S + a with |a| <= n, over n instead of n - 1, and
      |S| <= n (n - 1) / 2. So |T'| - |T| <= |S + a| / n - |S| / n <= 1, and |T| - |T'| <= |S| / (n
      - 1) - (|S| - |a|) / n = |S| / (n (n - 1)) + |a| / n <= 3/2; from n <= 1 T is 0, and |T'| <=
      1. So |T| moves within [-3/2, 1], or, of a row less, within [-1, 3/2]: the range of the change
      of the first scores is 5/2, and that of later ones, where |T(j, target)| and a mean of |T(j,
      s)| move each within the same interval of length 5/2, is 5. The paper has 3/2 and 3 for each
      score, which move both ways, so 3 and 6.
    * replace-one. n stays, and S' = S - a + a' with |a|, |a'| <= n - 1: |T| moves by 2 at most, the
      ranges are 4 and 8. (They hold of a row swapped for one of no contribution, too.)

    All are reached (``tests/test_kendall_scores.py``). In steps their ends are whole numbers, and
    floor(p') - floor(p) of numbers with -a <= p' - p <= b is then within [-a, b]: it is more than
    -a - 1 and less than b + 1. So rounding down adds nothing. S is a whole number below 2^62 up to
    ``most_rows``; it is divided as one, in Python's integers.

    T is not Kendall's tau-b, which divides by the pairs that do not tie: beside a column that is
    constant but for one row that row alone moves it by n / 2.

    Parameters
    ----------
    problem : public facts, of the squared loss without weights.
    chosen : places of columns, released; neither twice nor the intercept's.
    """

    problem: Problem
    chosen: tuple[int, ...] = ()

    kind: ClassVar[str] = "selection"
    whole_table: ClassVar[str] = "compares all pairs of rows"
    most_rows: ClassVar[int] = 2**31

    def __post_init__(self) -> None:
        require_squares(self.problem)
        object.__setattr__(self, "chosen", tuple(int(place) for place in self.chosen))
        known = self._columns
        if not (set(self.chosen) < set(known) and len(set(self.chosen)) == len(self.chosen)):
            raise InvalidInputError(
                f"Expected chosen={self.chosen!r} to be some of {len(known)} columns, each once."
            )

    @property
    def _columns(self) -> range:
        return range(self.problem.n_features - self.problem.intercept)

    @property
    def candidates(self) -> tuple[int, ...]:
        """The places of the columns that are scored."""
        return tuple(place for place in self._columns if place not in self.chosen)

    def answer_table(self, table: Table, noise: NoiseSource) -> np.ndarray:
        kept = _KEPT.setdefault(table, {})
        for other in (_TARGET, *self.chosen):
            if other not in kept:
                kept[other] = _correlations(table.blocks, self._columns, other)
        k = max(1, len(self.chosen))
        pairs = k * max(1, table.n_rows - 1)
        scores = (
            k * kept[_TARGET][place] - sum(kept[other][place] for other in self.chosen)
            for place in self.candidates
        )
        return np.array([(score << _SCORE_BITS) // pairs for score in scores], dtype=np.int64)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        adds = relation is NeighboringRelation.ADD_OR_REMOVE_ONE
        up, down = (1.0, 1.5) if adds else (2.0, 2.0)
        bound, ranges = (up + down, 2) if self.chosen else (max(up, down), 1)
        change = ranges * (up + down)
        return Sensitivity("linf", bound, relation, _SCORE_BITS, change_range=change)

    def dry_run_queries(self) -> tuple[Callable[[Block], None]]:
        return (self._load,)

    def _load(self, none: Block) -> None:
        """Call what an answer calls, with a block of no rows."""
        _correlations([none], self._columns[:1], _TARGET)


def _correlations(blocks: Sequence[Block], columns: range, other: int) -> list[int]:
    """Return |S| of each of these columns and another one, or the target: exact whole numbers."""
    values, ranks = np.unique(_column(blocks, other), return_inverse=True)
    ranks, found = ranks.astype(np.int64) + 1, []
    for place in columns:
        x, tree = _column(blocks, place), np.zeros(values.size + 1, dtype=np.int64)
        order = np.argsort(x, kind="stable")
        found.append(abs(int(pairs_in_order(x, order, ranks, tree))))
    return found


def _column(blocks: Sequence[Block], place: int) -> np.ndarray:
    """Return a column of the rows as the fits have them, or the target, float64."""
    if place == _TARGET:
        parts = [Table.clamped_labels(block.y) for block in blocks]
    else:
        parts = [block.margins_at(np.eye(1, block.n_features, place))[0] for block in blocks]
    return np.concatenate([np.empty(0), *parts])
