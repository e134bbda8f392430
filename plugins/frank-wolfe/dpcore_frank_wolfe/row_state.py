"""What a step of Frank-Wolfe leaves for the next one: margins, coefficients and their sum.

It is a function of the rows and of the steps so far, which are released, and has no effect but on
time: an answer from it has the bits of one that is worked out anew. It stays as long as its table,
inside the trust boundary, as the margins do that a block keeps of its last point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from dpcore.plugin.parts import FEATURE_BITS, clip_coefficients
from dpcore_frank_wolfe.kernels import add_column, add_rows
from dpcore_frank_wolfe.sparse_rows import SparseRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.plugin.parts import Block, Table
    from dpcore_frank_wolfe.vertex_scores import VertexScores

__all__ = ["RowState", "keep", "state_for"]

_KEPT: WeakKeyDictionary[Table, RowState] = WeakKeyDictionary()


class RowState:
    """Rows, their margins at the last point asked, and the sum of their clipped gradients there.

    ``margins`` : int64, raw ones in steps of ``2**-FEATURE_BITS``, of the sum of k s_k e_k over the
    steps k so far, s_k e_k the vertex of step k over the radius. ``coefficients`` : int64, in steps
    of the query's grid. ``gradient`` : int64 of shape (n_features,), the sum of coefficients times
    rows.
    """

    def __init__(self, blocks: Sequence[Block], n_features: int) -> None:
        self._rows = SparseRows(blocks, n_features)
        self._n_features = n_features
        self._forget()

    def _forget(self) -> None:
        """Go back to where no step was taken and no row contributes."""
        n_rows = self._rows.n_rows
        self._asked: tuple[object, ...] | None = None
        self._picks = np.empty(0, dtype=np.int64)
        self._margins = np.zeros(n_rows, dtype=np.int64)
        self._coefficients = np.zeros(n_rows, dtype=np.int64)
        self._gradient = np.zeros(self._n_features, dtype=np.int64)

    def gradient(self, query: VertexScores) -> np.ndarray:
        """Return the sum of the rows' clipped gradients at the query's point: not to be written on.

        Only rows whose coefficient is another one than before are visited.
        """
        asked = (query.problem, query.radius, query.clip)
        known = self._picks.size
        if asked != self._asked or not np.array_equal(query.picks[:known], self._picks):
            self._forget()
            known = 0
        for k, pick in enumerate(query.picks[known:].tolist(), known + 1):
            sign, j = (1, pick) if pick < self._n_features else (-1, pick - self._n_features)
            add_column(*self._rows.column(j), sign * k, self._margins)
        fresh = self._slopes(query)
        rows, change = self._rows, fresh - self._coefficients
        add_rows(rows.indptr, rows.indices, rows.steps, change, self._gradient)
        self._asked, self._picks, self._coefficients = asked, query.picks, fresh
        return self._gradient

    def _slopes(self, query: VertexScores) -> np.ndarray:
        """Return the rows' clipped coefficients, int64: functions of a row and the query each."""
        rows = self._rows
        z = self._margins * (query.scale * 2.0**-FEATURE_BITS) * rows.factor
        c = np.empty(z.shape)
        query.problem.loss.dvalue(z, rows.y, c)
        clip_coefficients(c, rows.factor, rows.largest, query.clip, 2.0**query.bits)
        return np.ldexp(c, query.bits).astype(np.int64)


def state_for(table: Table) -> RowState:
    """Return the state of a table, new or as the last step left it. Whoever takes it has it alone
    until ``keep``."""
    return _KEPT.pop(table, None) or RowState(table.blocks, table.n_features)


def keep(table: Table, state: RowState) -> None:
    """Keep the state for the next step, as long as the table is there."""
    _KEPT[table] = state
