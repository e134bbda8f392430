"""The rows of all users of one process, side by side, and the gradients of a few of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin.parts import RoundedLine, Table, clip_coefficients
from dpcore_a_ddp.kernels import add_drawn, drawn_margins

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from dpcore.plugin import Loss
    from dpcore.plugin.parts import Dataset
    from dpcore_a_ddp.record_gradient import RecordGradientSum

__all__ = ["PooledRows"]


class PooledRows:
    """Rows in their order, sparse. Inside the trust boundary, of every user at once."""

    def __init__(self, data: Dataset) -> None:
        path = RoundedLine(data.raw_norm_bound)
        rows = _sparse(data.X)
        blocks: Any = Table.layout_of(rows).block_type
        block = blocks.from_rows(rows, data.y.copy(), path, data.row_norm)
        self._indptr, self._indices, self._values = block.cells
        self._factor, self._norms, self._y = block.factor, block.row_norms("l2"), block.y
        self.n_rows = block.n_rows

    def coefficients(self, query: RecordGradientSum, rows: np.ndarray, loss: Loss) -> np.ndarray:
        """Return what ``query`` weighs each of the rows by: float64 of shape (len(rows),)."""
        margins, c = np.empty(rows.size), np.empty(rows.size)
        drawn_margins(self._indptr, self._indices, self._values, rows, query.w, margins)
        factor = self._factor[rows]
        margins *= factor
        loss.dvalue(margins, self._y[rows], c)
        clip_coefficients(c, factor, self._norms[rows], query.clip, 2.0**query.bits)
        return c

    def add_gradients(
        self,
        grid_bits: int,
        rows: np.ndarray,
        places: np.ndarray,
        c: np.ndarray,
        out: np.ndarray,
    ) -> None:
        """Add to ``out[places[i]]`` the clipped gradient of row ``rows[i]``, in steps of
        ``2**-grid_bits``.

        ``rows``, ``places`` : int64 of one length. ``c`` : their coefficients. ``out`` : int64 of
        shape (any, n_features).
        """
        cells = (self._indptr, self._indices, self._values)
        add_drawn(*cells, rows, places, c, 2.0**grid_bits, out)


def _sparse(X: Any) -> csr_matrix:
    from scipy.sparse import csr_matrix, vstack

    if hasattr(X, "tocsr"):
        return X.tocsr()
    if hasattr(X, "block_rows"):  # of a store
        parts = []
        for index in range(len(X.block_rows())):
            with X.block(index) as rows:
                parts.append(rows.tocsr())
        return vstack(parts).tocsr()
    return csr_matrix(X)
