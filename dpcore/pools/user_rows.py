"""The rows of all users of one process, side by side, and the gradients of a few of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.data.blocks.csr import CsrBlock
from dpcore.data.blocks.kept_margins import LinePath
from dpcore.exact.compiled import njit
from dpcore.queries.clipping import clip_coefficients

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from dpcore.data.dataset import Dataset
    from dpcore.protocols import Loss
    from dpcore.queries.record_gradient import RecordGradientSum

__all__ = ["PooledRows"]


class PooledRows:
    """Rows in their order, sparse. Inside the trust boundary, of every user at once."""

    def __init__(self, data: Dataset) -> None:
        path = LinePath(data.raw_norm_bound)
        block = CsrBlock.from_rows(_sparse(data.X), data.y.copy(), path, data.row_norm)
        self._indptr, self._indices, self._values = block.cells
        self._factor, self._norms, self._y = block.factor, block.row_norms("l2"), block.y
        self.n_rows = block.n_rows

    def add_gradients(
        self,
        query: RecordGradientSum,
        rows: np.ndarray,
        places: np.ndarray,
        out: np.ndarray,
        loss: Loss,
    ) -> None:
        """Add to ``out[places[i]]`` what ``query`` answers over row ``rows[i]`` alone.

        ``rows``, ``places`` : int64 of one length. ``out`` : int64 of shape (any, n_features).
        """
        margins, c = np.empty(rows.size), np.empty(rows.size)
        cells = (self._indptr, self._indices, self._values)
        drawn_margins(*cells, rows, query.w, margins)
        factor = self._factor[rows]
        margins *= factor
        loss.dvalue(margins, self._y[rows], c)
        clip_coefficients(c, factor, self._norms[rows], query.clip, 2.0**query.bits)
        add_drawn(*cells, rows, places, c, 2.0**query.grid_bits, out)


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


@njit(cache=True, error_model="numpy", nogil=True)
def drawn_margins(
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    rows: np.ndarray,
    w: np.ndarray,
    out: np.ndarray,
) -> None:
    """Exact in any order: ``w`` and the values stand on their grids."""
    for i in range(rows.shape[0]):
        total = 0.0
        for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
            total += values[j] * w[indices[j]]
        out[i] = total


@njit(cache=True, error_model="numpy", nogil=True)
def add_drawn(
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    rows: np.ndarray,
    places: np.ndarray,
    c: np.ndarray,
    scale: float,
    out: np.ndarray,
) -> None:
    """Add each drawn record, truncated by itself to steps of 1 / scale, to its user's sum."""
    for i in range(rows.shape[0]):
        weight = c[i] * scale
        for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
            out[places[i], indices[j]] += np.int64(np.trunc(weight * values[j]))
