"""Scores of the vertices of an l1 ball by the gradient at a released point."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, Problem
from dpcore.plugin.parts import Sensitivity, constant, sealed
from dpcore_frank_wolfe.kernels import signed_scores
from dpcore_frank_wolfe.row_state import Point, RowState, keep, state_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import NeighboringRelation
    from dpcore.plugin.parts import Block, NoiseSource, Table

__all__ = ["MOST_STEPS", "VertexScores", "sparse_point"]

MOST_STEPS = 2**14
"""Sums of steps' numbers are below 2^27, entries at most 2^28 steps: margins cannot wrap around."""
_COEFFICIENT_BITS = 12
"""The clip is about 2^12 steps of a coefficient: a finer grid would change the coefficient of more
rows in a step, and each is a row to visit. A row contributes at most 2^(12 + FEATURE_BITS) steps to
a score, and the public part is below 2^61: scores cannot wrap before 2^34 rows."""


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class VertexScores:
    """Scores ``-<radius s e_j, g> / radius`` of the 2 d vertices of the ball ``||w||_1 <= radius``,
    best largest. They are ``-g_j`` of +e_j at place j, and ``g_j`` of -e_j at place d + j, where

        g = sum_i trunc(clip(l'(x_i.w, y_i))) x_i + n l2 w,    |c_i| ||x_i||_inf <= clip.

    Sensitivity (Talwar, Thakurta & Zhang 2015 bound every coordinate by the Lipschitz constant in
    the l1 norm; here the clip is that bound, whatever the loss). Row i contributes c_i x_i to g,
    whose entries are within [-clip, clip]: the coefficient is held to ``clip / ||x_i||_inf`` from
    below and truncated towards zero, and ||x_i||_inf is exact. It is a function of the row and of
    w, which is released: margins are whole numbers, and no other row has a part in it. n l2 w is
    public, n the public number of rows, if there is one. With D = clip:

    * add-or-remove-one, replace-special: g moves by c x, at most D in each entry. Scores of +e_j
      and -e_j move by -c x_j and c x_j, so of all scores one may rise by D while another falls by
      D: the range of the change is 2 D, and not D, which is right for scores of one sign.
    * replace-one: g moves by c x - c' x', at most 2 D in each entry, and the range is 4 D.

    Both are reached, by rows of slope D with entries 1 and -1 in one column
    (``tests/test_vertex_scores.py``).

    w is ``2 radius / (t (t + 1)) sum_{k <= t} k s_k e_{j_k}`` for the vertices s_k e_{j_k} of t
    steps: what steps of sizes ``2 / (k + 1)``, k = 1, ..., t, from 0 come to. So margins are whole
    numbers times a public factor; a step adds to those of the rows with an entry in its column.

    Parameters
    ----------
    problem : public facts; its loss runs on raw rows.
    radius : of the ball.
    clip : bound of each entry of a row's gradient, from 2^-20 to 2^12.
    picks : int64, the places of the vertices of the steps so far: released.
    """

    problem: Problem
    radius: float
    clip: float
    picks: np.ndarray
    _moved: np.ndarray = field(init=False, repr=False)
    _offset: np.ndarray = field(init=False, repr=False)

    kind: ClassVar[str] = "selection"
    whole_table: ClassVar[str] = "keeps the margins of all rows from step to step"

    def __post_init__(self) -> None:
        width = self.problem.n_features
        for name, lowest, highest in (("radius", 2.0**-20, 2.0**20), ("clip", 2.0**-20, 2.0**12)):
            value = float(getattr(self, name))
            if not lowest <= value <= highest:
                raise InvalidInputError(f"Expected {lowest:g} <= {name}={value!r} <= {highest:g}.")
            object.__setattr__(self, name, value)
        if np.asarray(self.picks).dtype.kind not in "iu":
            raise InvalidInputError("Expected places of vertices to be whole numbers.")
        picks = constant(self.picks, np.int64)
        is_known = picks.ndim == 1 and picks.size <= MOST_STEPS
        if not (is_known and ((picks >= 0) & (picks < 2 * width)).all()):
            raise InvalidInputError(f"Expected at most {MOST_STEPS} places from 0 to {2 * width}.")
        if self.problem.n_margins > 1:
            raise InvalidInputError("Expected a problem of one margin: scores are of one vector.")
        object.__setattr__(self, "picks", picks)
        moved, offset = self._regulariser()
        object.__setattr__(self, "_moved", constant(moved, np.int64))
        object.__setattr__(self, "_offset", constant(offset, np.int64))

    def _regulariser(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the columns that have a regulariser's part, and it, in grid steps."""
        weight = self.problem.l2 * (self.problem.n_public or 0)
        asked = self.picks if weight else self.picks[:0]
        moved, w = sparse_point(asked, self.problem.n_features, self.radius)
        steps = np.rint(np.ldexp(weight * w, Problem.FEATURE_BITS + self.bits))
        if not (np.abs(steps) < 2.0**61).all():
            raise InvalidInputError("The regulariser is too large: lower --l2 (l2=).")
        return moved, steps

    @property
    def bits(self) -> int:
        """Coefficients are multiples of ``2**-bits``."""
        return _COEFFICIENT_BITS - math.frexp(self.clip)[1]

    @property
    def scale(self) -> float:
        """The factor of the sum of k s_k e_{j_k} over the steps k."""
        t = self.picks.size
        return 2 * self.radius / (t * (t + 1)) if t else 0.0

    def answer_table(self, table: Table, noise: NoiseSource) -> np.ndarray:
        state = state_for(table)
        scores = self.scores(state)
        keep(table, state)
        return scores

    def scores(self, state: RowState) -> np.ndarray:
        """Return the scores, int64 of shape (2 n_features,), from a state of the rows."""
        point = Point(self.problem.loss, self.picks, self.scale, self.clip, self.bits)
        gradient = state.gradient(point)
        scores = np.empty(2 * gradient.size, dtype=np.int64)
        signed_scores(gradient, scores)
        scores[self._moved] -= self._offset
        scores[gradient.size + self._moved] += self._offset
        return scores

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = self.clip * relation.rows_changed
        bits = Problem.FEATURE_BITS + self.bits
        return Sensitivity("linf", bound, relation, bits, change_range=2 * bound)

    def dry_run_queries(self) -> tuple[Callable[[Block], None]]:
        return (self._load,)

    def _load(self, none: Block) -> None:
        """Call what an answer calls, with a block of no rows."""
        self.scores(RowState([none], none.n_features))


def sparse_point(
    picks: np.ndarray, n_features: int, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns, int64, where w may not be 0 after the steps to these vertices, and what
    it is there, float64: a weighted mean of the vertices, step k of weight k."""
    numbers = np.arange(1, picks.size + 1)
    columns, of_step = np.unique(picks % n_features, return_inverse=True)
    signed = np.where(picks < n_features, numbers, -numbers)
    total = np.bincount(of_step, weights=signed, minlength=columns.size)
    return columns, total * (2 * radius / max(1, picks.size * (picks.size + 1)))
