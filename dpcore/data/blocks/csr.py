"""Compressed sparse rows: one-hot and other sparse columns, never a dense matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpcore.data.blocks.cached_margins import CachedMargins
from dpcore.data.blocks.canonical_csr import canonical_csr
from dpcore.data.blocks.layout import MatrixLayout
from dpcore.data.blocks.row_norms import is_over, row_lengths, shrunk
from dpcore.data.blocks.truncation import integer_sums, to_grid, truncate_rows
from dpcore.exact.compiled import njit
from dpcore.exact.grid import FEATURE_BITS, FLOAT32_LIMIT

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from dpcore.data.blocks.rounded_line import RoundedLine

__all__ = ["CSR", "CsrBlock"]


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
        path: RoundedLine,
        row_norm: float,
    ) -> None:
        super().__init__(y, n_features, squares, path, row_norm)
        self._indptr = indptr.astype(np.uint32)
        self._indices = indices.astype(np.uint32)
        self._values = values.astype(
            np.float32 if path.raw_norm_bound < FLOAT32_LIMIT else np.float64
        )

    @classmethod
    def from_rows(
        cls, X: csr_matrix, y: np.ndarray, path: RoundedLine, row_norm: float
    ) -> CsrBlock:
        # SciPy's own sum of duplicates has another order where any row of these is not sorted.
        X = canonical_csr(X, "the rows")
        values, squares = truncate_rows(
            X.data.astype(np.float64), _row_of(X.indptr), X.shape[0], path.raw_norm_bound
        )
        return cls(X.indptr, X.indices, values, int(X.shape[1]), y, squares, path, row_norm)

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
    def n_cells(self) -> int:
        return self._values.size

    @property
    def cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The raw rows as ``indptr``, ``indices`` and values on the feature grid; not to be written
        on."""
        return self._indptr, self._indices, self._values

    def raw_rows(self) -> CsrRows:
        return CsrRows(self._indptr, self._indices, self._values, self.n_features)

    def _fill_four(self, points: np.ndarray, out: np.ndarray) -> None:
        w = np.ascontiguousarray(points.T)
        csr_margins_of_four(self._indptr, self._indices, self._values, w, out)

    def _sum_four(self, c: np.ndarray) -> np.ndarray:
        total, c = np.zeros((self.n_features, 4)), np.ascontiguousarray(c)
        csr_weighted_sums_of_four(self._indptr, self._indices, self._values, c, total)
        return total.T

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
        data = to_grid(np.where(over[row_of], unit * factor[row_of], rows.data))
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
def csr_margins_of_four(
    indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, w: np.ndarray, out: np.ndarray
) -> None:
    """A row's margins at four points. ``w`` : of shape (n_features, 4); ``out`` : (4, n_rows)."""
    first, second, third, fourth = out[0], out[1], out[2], out[3]
    for i in range(out.shape[1]):
        p, q, r, s = 0.0, 0.0, 0.0, 0.0
        for j in range(indptr[i], indptr[i + 1]):
            value, at = np.float64(values[j]), w[indices[j]]
            p, q = p + value * at[0], q + value * at[1]
            r, s = r + value * at[2], s + value * at[3]
        first[i], second[i], third[i], fourth[i] = p, q, r, s


@njit(cache=True, error_model="numpy", nogil=True)
def csr_weighted_sums_of_four(
    indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, c: np.ndarray, out: np.ndarray
) -> None:
    """Four sums side by side. ``c`` : of shape (4, n_rows); ``out`` : (n_features, 4)."""
    first, second, third, fourth = c[0], c[1], c[2], c[3]
    for i in range(c.shape[1]):
        p, q, r, s = first[i], second[i], third[i], fourth[i]
        for j in range(indptr[i], indptr[i + 1]):
            value, total = np.float64(values[j]), out[indices[j]]
            total[0], total[1] = total[0] + value * p, total[1] + value * q
            total[2], total[3] = total[2] + value * r, total[3] + value * s
