"""Compressed sparse rows: one-hot and other sparse columns, never a dense matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.data.blocks.kept_margins import KeptMargins, LinePath, integer_sums, truncate_rows
from dpcore.exact.compiled import njit
from dpcore.exact.grid import FEATURE_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.sparse import csr_matrix

__all__ = ["CsrBlock"]

_ROWS_AT_ONCE = 64
_FLOAT32_RANGE = 2.0**8
"""A multiple of 2^-16 below this has at most 24 bits: float32 holds it exactly."""


class CsrBlock(KeptMargins):
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
            np.float32 if path.raw_norm_bound < _FLOAT32_RANGE else np.float64
        )

    @classmethod
    def from_rows(cls, X: csr_matrix, y: np.ndarray, path: LinePath, row_norm: float) -> CsrBlock:
        X = X.copy()
        X.sum_duplicates()
        row_of = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        values, squares = truncate_rows(
            X.data.astype(np.float64), row_of, X.shape[0], path.raw_norm_bound
        )
        width = int(X.shape[1])
        return cls(X.indptr, X.indices, values, width, y, squares, path, row_norm)

    def raw_rows(self) -> CsrRows:
        return CsrRows(self._indptr, self._indices, self._values, self.n_features)

    @property
    def cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The raw rows as ``indptr``, ``indices`` and values on the feature grid; not to be written
        on."""
        return self._indptr, self._indices, self._values

    def _absolute_steps(self) -> np.ndarray:
        steps = np.ldexp(np.abs(self._values), FEATURE_BITS).astype(np.int64)
        row_of = np.repeat(np.arange(self.n_rows), np.diff(self._indptr))
        return integer_sums(steps, row_of, self.n_rows)

    def _raw_rows(self) -> np.ndarray:
        out = np.zeros((self.n_rows, self.n_features))
        row_of = np.repeat(np.arange(self.n_rows), np.diff(self._indptr))
        out[row_of, self._indices] = self._values
        return out

    def _take_cells(self, places: np.ndarray) -> None:
        starts = self._indptr[places].astype(np.int64)
        sizes = self._indptr[places + 1].astype(np.int64) - starts
        ends = np.cumsum(sizes)
        cells = np.arange(ends[-1] if ends.size else 0) + np.repeat(starts - ends + sizes, sizes)
        self._indptr = np.append(0, ends).astype(np.uint32)
        self._indices, self._values = self._indices[cells], self._values[cells]

    def _product(self, v: np.ndarray) -> np.ndarray:
        out = np.empty(self.n_rows)
        csr_margins(self._indptr, self._indices, self._values, v, out)
        return out

    def _products(self, points: np.ndarray) -> np.ndarray:
        out = np.empty((len(points), self.n_rows))
        sums = np.empty((_ROWS_AT_ONCE, len(points)))
        at = np.ascontiguousarray(points.T)
        csr_margins_at(self._indptr, self._indices, self._values, at, sums, out)
        return out

    def _square_product(self, v: np.ndarray) -> np.ndarray:
        out = np.empty(self.n_rows)
        csr_square_product(self._indptr, self._indices, self._values, v, out)
        return out

    def weighted_sum(self, c: np.ndarray) -> np.ndarray:
        total = np.zeros(self.n_features)
        csr_weighted_sum(self._indptr, self._indices, self._values, c, total)
        return total

    def weighted_moments(self, c: np.ndarray) -> np.ndarray:
        total = np.zeros(self.n_features)
        csr_weighted_moments(self._indptr, self._indices, self._values, c, total)
        return total


class CsrRows:
    """Raw rows as ``indptr``, ``indices`` and values (``RawRows``)."""

    def __init__(
        self, indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, width: int
    ) -> None:
        self._indptr, self._indices, self._values, self._width = indptr, indices, values, width

    def fill_margins(self, start: int, stop: int, w: np.ndarray, out: np.ndarray) -> None:
        csr_margins(self._indptr[start : stop + 1], self._indices, self._values, w, out)

    def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray:
        total = np.zeros(self._width)
        csr_weighted_sum(self._indptr[start : stop + 1], self._indices, self._values, c, total)
        return total

    def gather(self, parts: Sequence[CsrRows], places: np.ndarray) -> CsrRows:
        sizes = np.empty(places.size, np.int64)
        sizes[places] = np.concatenate([np.diff(part._indptr.astype(np.int64)) for part in parts])
        indptr, begin = np.concatenate([[0], np.cumsum(sizes)]), 0
        indices = np.empty(int(indptr[-1]), self._indices.dtype)
        values = np.empty(int(indptr[-1]), self._values.dtype)
        for part in parts:
            end = begin + part._indptr.size - 1
            csr_scatter(part._indptr, part._indices, indptr[places[begin:end]], indices)
            csr_scatter(part._indptr, part._values, indptr[places[begin:end]], values)
            begin = end
        return CsrRows(indptr, indices, values, self._width)


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
def csr_square_product(
    indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, v: np.ndarray, out: np.ndarray
) -> None:
    for i in range(out.shape[0]):
        total = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            value = np.float64(values[j])
            total += value * value * v[indices[j]]
        out[i] = total


@njit(cache=True, error_model="numpy", nogil=True)
def csr_weighted_moments(
    indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, c: np.ndarray, out: np.ndarray
) -> None:
    for i in range(c.shape[0]):
        weight = c[i]
        for j in range(indptr[i], indptr[i + 1]):
            size = abs(np.float64(values[j]))
            steps = np.trunc(min(size * size, size) * 65536.0)
            out[indices[j]] += steps / 65536.0 * weight


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
