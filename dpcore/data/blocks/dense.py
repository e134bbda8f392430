"""Dense rows: on the feature grid as they are.

Products are exact in any order. They are kernels of our own rather than BLAS, whose threads would
come on top of the engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from dpcore.data.blocks.cached_margins import CachedMargins
from dpcore.data.blocks.frozen import freeze, share
from dpcore.data.blocks.layout import MatrixLayout
from dpcore.data.blocks.row_norms import is_over, row_lengths, shrunk
from dpcore.data.blocks.truncation import truncate_rows
from dpcore.exact.compiled import njit
from dpcore.exact.grid import FEATURE_BITS

if TYPE_CHECKING:
    from dpcore.data.blocks.line_path import LinePath

__all__ = ["DENSE"]

_LANES = 8
_ROWS_AT_ONCE = 64
_CHUNK_CELLS = 2**22


class DenseRows:
    """Raw rows as a C-ordered float64 array."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def fill_margins(self, start: int, stop: int, w: np.ndarray, out: np.ndarray) -> None:
        dense_margins(self._values[start:stop], w, np.empty(_LANES), out)

    def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray:
        total = np.zeros(self._values.shape[1])
        dense_weighted_sum(self._values[start:stop], c, total)
        return total

    def mapped(self, entry: Callable[[np.ndarray], np.ndarray]) -> DenseRows:
        return DenseRows(entry(self._values))


class DenseBlock(CachedMargins):
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

    @classmethod
    def gather(cls, blocks: Sequence[Self], places: np.ndarray) -> DenseRows:
        values, begin = np.empty((places.size, blocks[0].n_features)), 0
        for block in blocks:
            values[places[begin : begin + block.n_rows]] = block._values
            begin += block.n_rows
        return DenseRows(values)

    def raw_rows(self) -> DenseRows:
        return DenseRows(self._values)

    def _products(self, points: np.ndarray) -> np.ndarray:
        out = np.empty((len(points), self.n_rows))
        sums = np.empty((_ROWS_AT_ONCE, len(points)))
        dense_margins_at(self._values, np.ascontiguousarray(points.T), sums, out)
        return out

    def _sums(self, c: np.ndarray) -> np.ndarray:
        total = np.zeros((len(c), self.n_features))
        dense_weighted_sums(self._values, np.ascontiguousarray(c), total)
        return total

    def _absolute_steps(self) -> np.ndarray:
        return np.asarray(np.ldexp(np.abs(self._values), FEATURE_BITS).astype(np.int64).sum(axis=1))

    def _unfolded(self) -> np.ndarray:
        return np.array(self._values)

    def _take_cells(self, places: np.ndarray) -> None:
        self._values = self._values[places]
        self._values.setflags(write=False)

    def _square_product(self, v: np.ndarray) -> np.ndarray:
        # Column after column, as in the other layouts: the same bits, where lanes give others.
        return DenseRows(np.square(self._values.T, order="C")).weighted_sum(0, v.size, v)


class _Dense(MatrixLayout[np.ndarray]):
    block_type = DenseBlock

    def holds(self, X: object) -> bool:
        return isinstance(X, np.ndarray)

    def parts(self, X: np.ndarray) -> tuple[np.ndarray, ...]:
        return (X,)

    def join(self, form: np.ndarray, parts: Sequence[np.ndarray]) -> np.ndarray:
        return parts[0]

    def freeze(self, X: np.ndarray) -> np.ndarray:
        return freeze(X)

    def finite_rows(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(np.isfinite(X).all(axis=1))

    def scale_rows(self, X: np.ndarray, row_norm: float, intercept: bool) -> np.ndarray:
        out, step = _with_intercept(X, intercept)
        for begin in range(0, len(out), step):
            rows = out[begin : begin + step]
            unit, root, over = _measured(rows, row_norm)
            rows[over] = unit[over] * shrunk(root[over], row_norm)[:, None]
        return out

    def longer_rows(self, X: np.ndarray, row_norm: float, intercept: bool) -> np.ndarray:
        rows, step = _with_intercept(X, intercept)
        chunks = (rows[begin : begin + step] for begin in range(0, len(rows), step))
        return np.concatenate(
            [np.zeros(0, dtype=bool), *(_measured(chunk, row_norm)[2] for chunk in chunks)]
        )


DENSE = _Dense()


def _with_intercept(X: np.ndarray, intercept: bool) -> tuple[np.ndarray, int]:
    """Return a copy of the rows, and how many of them to measure at a time."""
    n_rows, width = X.shape
    out = np.empty((n_rows, width + intercept))
    out[:, :width] = X
    out[:, width:] = 1.0
    return out, max(1, _CHUNK_CELLS // out.shape[1])


def _measured(rows: np.ndarray, row_norm: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows over their largest sizes, the norms of these, and which rows are longer."""
    largest = np.abs(rows).max(axis=1)
    unit = rows / np.where(largest > 0, largest, 1.0)[:, None]
    row_of = np.repeat(np.arange(len(rows)), rows.shape[1])
    root = row_lengths(np.square(unit).ravel(), row_of, len(rows))
    return unit, root, is_over(largest, root, row_norm)


@njit(cache=True, error_model="numpy", nogil=True)
def dense_margins(values: np.ndarray, w: np.ndarray, lanes: np.ndarray, out: np.ndarray) -> None:
    """Write the products to ``out``, from partial sums in ``lanes``: the compiler may then take as
    many columns at a time."""
    width = values.shape[1]
    in_lanes = width - width % _LANES
    for i in range(out.shape[0]):
        for lane in range(_LANES):
            lanes[lane] = 0.0
        for j in range(0, in_lanes, _LANES):
            for lane in range(_LANES):
                lanes[lane] += values[i, j + lane] * w[j + lane]
        total = 0.0
        for j in range(in_lanes, width):
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
def dense_weighted_sums(values: np.ndarray, c: np.ndarray, out: np.ndarray) -> None:
    """Add the rows four at a time to each sum. ``c`` : of shape (n_sums, n_rows)."""
    width, fours = values.shape[1], c.shape[1] - c.shape[1] % 4
    for i in range(0, fours, 4):
        first, second, third, fourth = values[i], values[i + 1], values[i + 2], values[i + 3]
        for k in range(c.shape[0]):
            p, q, r, s = c[k, i], c[k, i + 1], c[k, i + 2], c[k, i + 3]
            total = out[k]
            for j in range(width):
                total[j] += (first[j] * p + second[j] * q) + (third[j] * r + fourth[j] * s)
    for i in range(fours, c.shape[1]):
        for k in range(c.shape[0]):
            for j in range(width):
                out[k, j] += values[i, j] * c[k, i]


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
