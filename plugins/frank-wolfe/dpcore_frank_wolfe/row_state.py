"""Margins, coefficients and their sum, as a step of Frank-Wolfe leaves them for the next one.

They are functions of the rows and of the steps so far, which are released, and have no effect but
on time: an answer from them has the bits of an answer that is worked out anew. They stay as long as
their table, inside the trust boundary, as the margins do that a block keeps of its last point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from dpcore.plugin import Problem
from dpcore.plugin.parts import clip_coefficients
from dpcore_frank_wolfe.kernels import add_column, add_rows
from dpcore_frank_wolfe.sparse_rows import SparseRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.plugin import Loss
    from dpcore.plugin.parts import Block, Table

__all__ = ["Point", "RowState", "keep", "state_for"]

_KEPT: WeakKeyDictionary[Table, RowState] = WeakKeyDictionary()


class Point(NamedTuple):
    """A point after steps to vertices, and how rows are clipped there.

    ``picks`` : int64, places of vertices. ``scale`` : w is it times the sum of k s_k e_{j_k} over
    the steps k. ``clip``, ``bits`` : rows' gradients are held to ``clip`` in each entry, and their
    coefficients are multiples of ``2**-bits``.
    """

    loss: Loss
    picks: np.ndarray
    scale: float
    clip: float
    bits: int


class RowState:
    """Rows, their margins at the last point, and the sum of their clipped gradients there.

    ``margins`` : int64, raw, in steps of ``2**-FEATURE_BITS``, without the point's ``scale``.
    ``coefficients`` : int64, in steps of the point's grid. ``gradient`` : int64 of shape
    (n_features,), always the sum of coefficients times rows.
    """

    def __init__(self, blocks: Sequence[Block], n_features: int) -> None:
        self._rows = SparseRows(blocks, n_features)
        self._picks = np.empty(0, dtype=np.int64)
        self._margins = np.zeros(self._rows.n_rows, dtype=np.int64)
        self._coefficients = np.zeros(self._rows.n_rows, dtype=np.int64)
        self._gradient = np.zeros(n_features, dtype=np.int64)

    def gradient(self, point: Point) -> np.ndarray:
        """Return the sum of the rows' clipped gradients at a point, in whole steps: not to be
        written on. Rows whose coefficient is the same as before are not visited."""
        known, width = self._picks.size, self._gradient.size
        if not np.array_equal(point.picks[:known], self._picks):  # other steps: begin again
            self._margins[:] = known = 0
        for k, pick in enumerate(point.picks[known:].tolist(), known + 1):
            weight, j = (k, pick) if pick < width else (-k, pick - width)
            add_column(*self._rows.column(j), weight, self._margins)
        rows, fresh = self._rows, self._clipped_slopes(point)
        change = fresh - self._coefficients
        add_rows(rows.indptr, rows.indices, rows.steps, change, self._gradient)
        self._picks, self._coefficients = point.picks, fresh
        return self._gradient

    def _clipped_slopes(self, point: Point) -> np.ndarray:
        """Return the rows' coefficients, int64, each a function of its row and the point."""
        rows = self._rows
        z = self._margins * (point.scale * 2.0**-Problem.FEATURE_BITS) * rows.factor
        c = np.empty(z.shape)
        point.loss.dvalue(z, rows.y, c)
        clip_coefficients(c, rows.factor, rows.largest, point.clip, 2.0**point.bits)
        return np.ldexp(c, point.bits).astype(np.int64)


def state_for(table: Table) -> RowState:
    """Return the state of a table, new or as the last step left it. Whoever takes it has it alone
    until ``keep``."""
    return _KEPT.pop(table, None) or RowState(table.blocks, table.n_features)


def keep(table: Table, state: RowState) -> None:
    """Keep the state for the next step, as long as the table is there."""
    _KEPT[table] = state
