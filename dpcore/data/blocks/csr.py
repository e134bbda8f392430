"""Compressed sparse rows: one-hot and other sparse columns, never a dense matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpcore.data.blocks.cached_margins import CachedMargins
from dpcore.data.blocks.layout import MatrixLayout
from dpcore.data.blocks.row_norms import is_over, row_lengths, shrunk
from dpcore.data.blocks.truncation import integer_sums, truncate_rows
from dpcore.exact.compiled import njit
from dpcore.exact.grid import FEATURE_BITS, FLOAT32_LIMIT

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from dpcore.data.blocks.line_path import LinePath

__all__ = ["CSR", "CsrBlock"]

_ROWS_AT_ONCE = 64
_FEW = 8
"""Vectors of which so few are faster one after the other: a row's cells stay in the cache."""


class CsrRows:
    """Raw rows as ``indptr``, ``indices`` and values."""

    def __init__(
        self, indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, n_features: int
    ) -> None:
        self._indptr, self._indices, self._values = indptr, indices, values
        self._n_features = n_features

    def fill_margins(self, start: int, stop: int, w: np.ndarray, out: np.ndarray) -> None:
        csr_margins(self._indptr[start : stop + 1], self._indices, self._values, w, out)

    def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray:
        total = np.zeros(self._n_features)
        csr_weighted_sum(self._indptr[start : stop + 1], self._indices, self._values, c, total)
        return total

    def mapped(self, entry: Callable[[np.ndarray], np.ndarray]) -> CsrRows:
        values = entry(self._values.astype(np.float64))
        return CsrRows(self._indptr, self._indices, values, self._n_features)


class CsrBlock(CachedMargins):
    """Rows as ``indptr`` and ``indices`` (uint32) and values in float32 where that is exact.

    Unsigned indices spare the kernels a sign test per element (measured: 2.5 times).
    """

    def __init__(
        self,
        indptr: np.ndarray,
        indices: np.ndarray,
        values: np.ndarray,
        n_features: int,
        y: np.ndarray,
        squares: np.ndarray,
        path: LinePath,
        row_norm: float,
    ) -> None:
        super().__init__(y, n_features, squares, path, row_norm)
        self._indptr = indptr.astype(np.uint32)
        self._indices = indices.astype(np.uint32)
        self._values = values.astype(
            np.float32 if path.raw_norm_bound < FLOAT32_LIMIT else np.float64
        )

    @classmethod
    def from_rows(cls, X: csr_matrix, y: np.ndarray, path: LinePath, row_norm: float) -> CsrBlock:
        X = X.copy()
        X.sum_duplicates()
        values, squares = truncate_rows(
            X.data.astype(np.float64), _row_of(X.indptr), X.shape[0], path.raw_norm_bound
        )
        width = int(X.shape[1])
        return cls(X.indptr, X.indices, values, width, y, squares, path, row_norm)

    @classmethod
    def gather(cls, blocks: Sequence[Self], places: np.ndarray) -> CsrRows:
        ends = np.cumsum([block.n_rows for block in blocks])
        of_block = list(zip(blocks, np.split(places, ends[:-1]), strict=True))
        sizes = np.empty(places.size, np.int64)
        for block, where in of_block:
            sizes[where] = np.diff(block._indptr.astype(np.int64))
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        indices = np.empty(int(indptr[-1]), np.uint32)
        values = np.empty(int(indptr[-1]), blocks[0]._values.dtype)
        for block, where in of_block:
            csr_scatter(block._indptr, block._indices, indptr[where], indices)
            csr_scatter(block._indptr, block._values, indptr[where], values)
        return CsrRows(indptr, indices, values, blocks[0].n_features)

    @property
    def cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The raw rows as ``indptr``, ``indices`` and values on the feature grid; not to be written
        on."""
        return self._indptr, self._indices, self._values

    def raw_rows(self) -> CsrRows:
        return CsrRows(self._indptr, self._indices, self._values, self.n_features)

    def _products(self, points: np.ndarray) -> np.ndarray:
        if len(points) < _FEW:
            return super()._products(points)
        out = np.empty((len(points), self.n_rows))
        sums = np.empty((_ROWS_AT_ONCE, len(points)))
        at = np.ascontiguousarray(points.T)
        csr_margins_at(self._indptr, self._indices, self._values, at, sums, out)
        return out

    def _sums(self, c: np.ndarray) -> np.ndarray:
        if len(c) < _FEW:
            return super()._sums(c)
        out, weights = np.zeros((self.n_features, len(c))), np.empty((_ROWS_AT_ONCE, len(c)))
        c = np.ascontiguousarray(c)
        csr_weighted_sums(self._indptr, self._indices, self._values, c, weights, out)
        return out.T

    def _absolute_steps(self) -> np.ndarray:
        steps = np.ldexp(np.abs(self._values), FEATURE_BITS).astype(np.int64)
        return integer_sums(steps, _row_of(self._indptr), self.n_rows)

    def _unfolded(self) -> np.ndarray:
        out = np.zeros((self.n_rows, self.n_features))
        out[_row_of(self._indptr), self._indices] = self._values
        return out

    def _take_cells(self, places: np.ndarray) -> None:
        starts = self._indptr[places].astype(np.int64)
        sizes = self._indptr[places + 1].astype(np.int64) - starts
        ends = np.cumsum(sizes)
        cells = np.arange(ends[-1] if ends.size else 0) + np.repeat(starts - ends + sizes, sizes)
        self._indptr = np.append(0, ends).astype(np.uint32)
        self._indices, self._values = self._indices[cells], self._values[cells]


class _Csr(MatrixLayout[Any]):
    """Rows as a CSR matrix of SciPy, which is not imported for rows that are none."""

    block_type = CsrBlock

    def holds(self, X: object) -> bool:
        return getattr(X, "format", None) == "csr"

    def parts(self, X: csr_matrix) -> tuple[np.ndarray, ...]:
        return X.data, X.indices, np.diff(X.indptr)

    def join(self, form: csr_matrix, parts: Sequence[np.ndarray]) -> csr_matrix:
        data, indices, counts = parts
        indptr = np.zeros(counts.size + 1, dtype=np.int64)
        np.cumsum(counts, out=indptr[1:])
        return type(form)((data, indices, indptr), shape=(counts.size, form.shape[1]))

    def finite_rows(self, X: csr_matrix) -> np.ndarray:
        finite = np.ones(X.shape[0], dtype=bool)
        finite[_row_of(X.indptr)[~np.isfinite(X.data)]] = False
        return finite

    def scale_rows(self, X: csr_matrix, row_norm: float, intercept: bool) -> csr_matrix:
        rows = _with_intercept(X, intercept)
        row_of = _row_of(rows.indptr)
        unit, root, over = _measured(rows, row_norm)
        factor = shrunk(np.where(over, root, 1.0), row_norm)
        data = np.where(over[row_of], unit * factor[row_of], rows.data)
        return type(X)((data, rows.indices, rows.indptr), shape=rows.shape)

    def longer_rows(self, X: csr_matrix, row_norm: float, intercept: bool) -> np.ndarray:
        return _measured(_with_intercept(X, intercept), row_norm)[2]


CSR = _Csr()


def _row_of(indptr: np.ndarray) -> np.ndarray:
    """Return the row of each stored value."""
    return np.repeat(np.arange(indptr.size - 1), np.diff(indptr))


def _with_intercept(X: csr_matrix, intercept: bool) -> csr_matrix:
    n_rows, width = X.shape
    indptr, indices, data = X.indptr, X.indices, X.data.astype(np.float64)
    if intercept:
        indptr = X.indptr + np.arange(n_rows + 1, dtype=X.indptr.dtype)
        ones_at = X.indptr[1:]
        data = np.insert(data, ones_at, 1.0)
        indices = np.insert(indices, ones_at, width)
    return type(X)((data, indices, indptr), shape=(n_rows, width + intercept))


def _measured(X: csr_matrix, row_norm: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the stored values over their row's largest size, each row's norm of these, and which
    rows are longer."""
    row_of, n_rows = _row_of(X.indptr), X.shape[0]
    largest = np.zeros(n_rows)
    np.maximum.at(largest, row_of, np.abs(X.data))
    unit = X.data / np.where(largest > 0, largest, 1.0)[row_of]
    root = row_lengths(np.square(unit), row_of, n_rows)
    return unit, root, is_over(largest, root, row_norm)


@njit(cache=True, error_model="numpy", nogil=True)
def csr_margins(
    indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, w: np.ndarray, out: np.ndarray
) -> None:
    for i in range(out.shape[0]):
        total = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            total += values[j] * w[indices[j]]
        out[i] = total


@njit(cache=True, error_model="numpy", nogil=True)
def csr_weighted_sum(
    indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, c: np.ndarray, out: np.ndarray
) -> None:
    for i in range(c.shape[0]):
        weight = c[i]
        for j in range(indptr[i], indptr[i + 1]):
            out[indices[j]] += values[j] * weight


@njit(cache=True, error_model="numpy", nogil=True)
def csr_scatter(
    indptr: np.ndarray, values: np.ndarray, begins: np.ndarray, out: np.ndarray
) -> None:
    """Copy row i of ``values`` to ``out`` from ``begins[i]``."""
    for i in range(begins.shape[0]):
        first = np.int64(indptr[i])
        for j in range(first, np.int64(indptr[i + 1])):
            out[begins[i] + j - first] = values[j]


@njit(cache=True, error_model="numpy", nogil=True)
def csr_margins_at(
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    points: np.ndarray,
    sums: np.ndarray,
    out: np.ndarray,
) -> None:
    """A row's margins at all points side by side. ``points`` : of shape (n_features, n_points)."""
    n_points = out.shape[0]
    for first in range(0, out.shape[1], sums.shape[0]):
        count = min(sums.shape[0], out.shape[1] - first)
        for i in range(count):
            at = sums[i]
            at[:] = 0.0
            for j in range(indptr[first + i], indptr[first + i + 1]):
                value, point = np.float64(values[j]), points[indices[j]]
                for k in range(n_points):
                    at[k] += value * point[k]
        for k in range(n_points):
            for i in range(count):
                out[k, first + i] = sums[i, k]


@njit(cache=True, error_model="numpy", nogil=True)
def csr_weighted_sums(
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    c: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add a row times each of its weights, side by side. ``c`` : of shape (n_sums, n_rows)."""
    n_sums, n_rows = c.shape
    for first in range(0, n_rows, weights.shape[0]):
        count = min(weights.shape[0], n_rows - first)
        for k in range(n_sums):
            for i in range(count):
                weights[i, k] = c[k, first + i]
        for i in range(count):
            weight = weights[i]
            for j in range(indptr[first + i], indptr[first + i + 1]):
                value, total = np.float64(values[j]), out[indices[j]]
                for k in range(n_sums):
                    total[k] += value * weight[k]
