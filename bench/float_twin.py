"""The same kernels with plain float accumulators: what exact sums are measured against.

Nothing stands on a grid here: rows, parameters and coefficients are not truncated, losses are added
as float64, and the sum of losses may be reassociated, so that its loop vectorises as well as the
integer one does. Products with rows and the loss itself are dpcore's own kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

from dpcore.data.coded import CodedRows, coded_margins, coded_weighted_sum
from dpcore.data.csr import csr_margins, csr_weighted_sum
from dpcore.grid import BLOCK_ROWS
from dpcore.losses.logistic import _exp, logistic_dvalue

__all__ = ["FloatTwin"]


class _DenseRows:
    def __init__(self, X: np.ndarray) -> None:
        self._X = np.ascontiguousarray(X)

    def product(self, v: np.ndarray) -> np.ndarray:
        return self._X @ v

    def weighted_sum(self, c: np.ndarray) -> np.ndarray:
        return c @ self._X


class _CsrRows:
    def __init__(self, X: sparse.csr_matrix) -> None:
        self._rows = (X.indptr.astype(np.uint32), X.indices.astype(np.uint32))
        self._values = X.data.astype(np.float32)
        self._shape = X.shape

    def product(self, v: np.ndarray) -> np.ndarray:
        out = np.empty(self._shape[0])
        csr_margins(*self._rows, self._values, v, out)
        return out

    def weighted_sum(self, c: np.ndarray) -> np.ndarray:
        total = np.zeros(self._shape[1])
        csr_weighted_sum(*self._rows, self._values, c, total)
        return total


class _CodedRows:
    def __init__(self, X: CodedRows) -> None:
        self._rows = X

    def product(self, v: np.ndarray) -> np.ndarray:
        out = np.empty(self._rows.shape[0])
        numeric, codes = self._rows.layout.split(v)
        coded_margins(self._rows.numeric, self._rows.codes, numeric, codes, out)
        return out

    def weighted_sum(self, c: np.ndarray) -> np.ndarray:
        numeric = np.zeros(self._rows.numeric.shape[1])
        codes = np.zeros(self._rows.layout.code_features.size)
        coded_weighted_sum(self._rows.numeric, self._rows.codes, c, numeric, codes)
        return self._rows.layout.join(numeric, codes)


def _rows_of(X: Any) -> Any:
    if isinstance(X, CodedRows):
        return _CodedRows(X)
    return _CsrRows(X) if sparse.issparse(X) else _DenseRows(X)


class _Block:
    """Rows, labels, norms, and the margins of the last point and direction."""

    def __init__(self, X: Any, y: np.ndarray) -> None:
        self.rows = _rows_of(X)
        self.y = y
        sparse_rows = X.tocsr() if hasattr(X, "tocsr") else sparse.csr_matrix(X)
        squares = sparse_rows.multiply(sparse_rows)
        self.norms = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
        self.z = np.zeros(len(y))
        self.z_direction = np.zeros(len(y))


class FloatTwin:
    """One run's queries along a path, from the origin: ``gradient`` and ``losses`` in turn.

    Margins are kept along a line as in dpcore: a step costs one pass for the direction.
    """

    def __init__(self, X: Any, y: np.ndarray) -> None:
        starts = range(0, X.shape[0], BLOCK_ROWS)
        slices = [slice(i, i + BLOCK_ROWS) for i in starts]
        self._blocks = [_Block(X[s], np.ascontiguousarray(y[s])) for s in slices]

    def gradient(self, taken: float, clip: float) -> np.ndarray:
        """Return the sum after a step of size ``taken`` along the last direction."""
        total: np.ndarray | float = 0.0
        for block in self._blocks:
            block.z = block.z - taken * block.z_direction
            c = np.empty(len(block.y))
            logistic_dvalue(block.z, block.y, c)
            clip_floats(c, block.norms, clip)
            total = total + block.rows.weighted_sum(c)
        return np.asarray(total)

    def losses(self, direction: np.ndarray, steps: np.ndarray, clip: float) -> np.ndarray:
        totals = np.zeros(len(steps))
        for block in self._blocks:
            block.z_direction = block.rows.product(direction)
            buffer = np.empty((2, len(block.y)))
            exponentials(block.z, block.z_direction, block.y, steps[1], buffer)
            float_line_totals(clip, np.expm1(clip), buffer, totals)
        return totals


@njit(cache=True, error_model="numpy")
def clip_floats(c: np.ndarray, norms: np.ndarray, clip: float) -> None:
    for i in range(c.shape[0]):
        limit = clip / norms[i]
        size = abs(c[i])
        kept = size if size <= limit else limit
        c[i] = kept if c[i] > 0.0 else -kept


@njit(cache=True, error_model="numpy")
def exponentials(
    z: np.ndarray, z_direction: np.ndarray, y: np.ndarray, step: float, out: np.ndarray
) -> None:
    for i in range(z.shape[0]):
        out[0, i] = _exp(-(y[i] * z[i]))
        out[1, i] = _exp(y[i] * z_direction[i] * step)


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "nsz"})
def float_line_totals(clip: float, cap: float, buffer: np.ndarray, totals: np.ndarray) -> None:
    """The loop of dpcore's own kernel, its losses added as floats."""
    e, r = buffer[0], buffer[1]
    for k in range(totals.shape[0]):
        total = 0.0
        for i in range(e.shape[0]):
            t = e[i]
            e[i] = t * r[i]
            bits = np.float64(1.0 + (t if t < cap else cap)).view(np.int64)
            shifted = bits - np.int64(0x3FE6A09E667F3BCD)
            exponent = shifted >> np.int64(52)
            m = np.int64(
                (shifted & np.int64(0x000FFFFFFFFFFFFF)) + np.int64(0x3FE6A09E667F3BCD)
            ).view(np.float64)
            u = (m - 1.0) / (m + 1.0)
            q = u * u
            s = q * (1.0 / 9.0) + 1.0 / 7.0
            s = s * q + 1.0 / 5.0
            s = s * q + 1.0 / 3.0
            s = s * q + 1.0
            v = np.float64(exponent) * 0.6931471805599453 + 2.0 * u * s
            total += v if v < clip else clip
        totals[k] += total
