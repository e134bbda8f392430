"""Dense blocks: rows on the feature grid as they are.

Products are exact in any order. They are kernels of our own rather than BLAS, whose threads would
come on top of the engine's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.data.blocks.kept_margins import KeptMargins, LinePath, truncate_rows
from dpcore.data.blocks.ownership import share
from dpcore.exact.compiled import njit
from dpcore.exact.grid import FEATURE_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DenseBlock"]

_LANES = 8
_ROWS_AT_ONCE = 64


class DenseBlock(KeptMargins):
    """Rows as a C-ordered float64 array of shape (n_rows, n_features)."""

    def __init__(
        self,
        values: np.ndarray,
        y: np.ndarray,
        squares: np.ndarray,
        path: LinePath,
        row_norm: float,
    ) -> None:
        super().__init__(y, values.shape[1], squares, path, row_norm)
        self._values = values

    @classmethod
    def from_rows(cls, X: np.ndarray, y: np.ndarray, path: LinePath, row_norm: float) -> DenseBlock:
        X = np.ascontiguousarray(X, dtype=np.float64)
        values, squares = truncate_rows(X, None, X.shape[0], path.raw_norm_bound)
        return cls(share(X, values), y, squares, path, row_norm)

    def raw_rows(self) -> DenseRows:
        return DenseRows(self._values)

    def _absolute_steps(self) -> np.ndarray:
        return np.ldexp(np.abs(self._values), FEATURE_BITS).astype(np.int64).sum(axis=1)

    def _raw_rows(self) -> np.ndarray:
        return np.array(self._values)

    def _take_cells(self, places: np.ndarray) -> None:
        self._values = self._values[places]
        self._values.setflags(write=False)

    def _product(self, v: np.ndarray) -> np.ndarray:
        out = np.empty(self.n_rows)
        dense_margins(self._values, v, np.empty(_LANES), out)
        return out

    def _products(self, points: np.ndarray) -> np.ndarray:
        out = np.empty((len(points), self.n_rows))
        sums = np.empty((_ROWS_AT_ONCE, len(points)))
        dense_margins_at(self._values, np.ascontiguousarray(points.T), sums, out)
        return out

    def _square_product(self, v: np.ndarray) -> np.ndarray:
        out = np.empty(self.n_rows)
        dense_square_product(self._values, v, out)
        return out

    def weighted_sum(self, c: np.ndarray) -> np.ndarray:
        total = np.zeros(self.n_features)
        dense_weighted_sum(self._values, c, total)
        return total

    def weighted_moments(self, c: np.ndarray) -> np.ndarray:
        total = np.zeros(self.n_features)
        dense_weighted_moments(self._values, c, total)
        return total


class DenseRows:
    """Raw rows as a C-ordered float64 array (``RawRows``)."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def fill_margins(self, start: int, stop: int, w: np.ndarray, out: np.ndarray) -> None:
        dense_margins(self._values[start:stop], w, np.empty(_LANES), out)

    def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray:
        total = np.zeros(self._values.shape[1])
        dense_weighted_sum(self._values[start:stop], c, total)
        return total

    def gather(self, parts: Sequence[DenseRows], places: np.ndarray) -> DenseRows:
        values, begin = np.empty((places.size, self._values.shape[1])), 0
        for part in parts:
            end = begin + part._values.shape[0]
            values[places[begin:end]] = part._values
            begin = end
        return DenseRows(values)


@njit(cache=True, error_model="numpy", nogil=True)
def dense_margins(values: np.ndarray, w: np.ndarray, lanes: np.ndarray, out: np.ndarray) -> None:
    """Partial sums in ``lanes``, so that the compiler may take as many columns at a time."""
    width = values.shape[1]
    whole = width - width % _LANES
    for i in range(out.shape[0]):
        for lane in range(_LANES):
            lanes[lane] = 0.0
        for j in range(0, whole, _LANES):
            for lane in range(_LANES):
                lanes[lane] += values[i, j + lane] * w[j + lane]
        total = 0.0
        for j in range(whole, width):
            total += values[i, j] * w[j]
        for lane in range(_LANES):
            total += lanes[lane]
        out[i] = total


@njit(cache=True, error_model="numpy", nogil=True)
def dense_weighted_sum(values: np.ndarray, c: np.ndarray, out: np.ndarray) -> None:
    for i in range(c.shape[0]):
        weight = c[i]
        for j in range(values.shape[1]):
            out[j] += values[i, j] * weight


@njit(cache=True, error_model="numpy", nogil=True)
def dense_square_product(values: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
    for i in range(out.shape[0]):
        total = 0.0
        for j in range(values.shape[1]):
            total += values[i, j] * values[i, j] * v[j]
        out[i] = total


@njit(cache=True, error_model="numpy", nogil=True)
def dense_weighted_moments(values: np.ndarray, c: np.ndarray, out: np.ndarray) -> None:
    for i in range(c.shape[0]):
        weight = c[i]
        for j in range(values.shape[1]):
            size = abs(values[i, j])
            steps = np.trunc(min(size * size, size) * 65536.0)
            out[j] += steps / 65536.0 * weight


@njit(cache=True, error_model="numpy", nogil=True)
def dense_margins_at(
    values: np.ndarray, points: np.ndarray, sums: np.ndarray, out: np.ndarray
) -> None:
    """A row's margins at all points side by side. ``points`` : of shape (n_features, n_points)."""
    n_points, width = out.shape[0], values.shape[1]
    fours = width - width % 4
    for first in range(0, out.shape[1], sums.shape[0]):
        count = min(sums.shape[0], out.shape[1] - first)
        for i in range(count):
            row, at = values[first + i], sums[i]
            at[:] = 0.0
            for j in range(0, fours, 4):
                a, b, c, d = row[j], row[j + 1], row[j + 2], row[j + 3]
                p, q, r, s = points[j], points[j + 1], points[j + 2], points[j + 3]
                for k in range(n_points):
                    at[k] += (a * p[k] + b * q[k]) + (c * r[k] + d * s[k])
            for j in range(fours, width):
                for k in range(n_points):
                    at[k] += row[j] * points[j, k]
        for k in range(n_points):
            for i in range(count):
                out[k, first + i] = sums[i, k]
