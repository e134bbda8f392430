"""Dense rows: on the feature grid, in float32 where that holds them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpcore.data.blocks.cached_margins import CachedMargins
from dpcore.data.blocks.dense_kernels import (
    LANES,
    dense_margins,
    dense_square_product,
    dense_weighted_sum,
    dense_weighted_sums,
    exact_margins,
    exact_margins_at,
    exact_weighted_moments,
    exact_weighted_sum,
    exact_weighted_sums_of_two,
    grid_squares,
    measure_rows,
    store_rows,
)
from dpcore.data.blocks.frozen import freeze, unchanging
from dpcore.data.blocks.layout import MatrixLayout
from dpcore.data.blocks.row_norms import is_over, shrunk
from dpcore.data.blocks.truncation import to_grid, truncate_rows
from dpcore.exact.grid import FEATURE_BITS, FLOAT32_LIMIT

if TYPE_CHECKING:
    from dpcore.data.blocks.block import Coefficients
    from dpcore.data.blocks.rounded_line import RoundedLine

__all__ = ["DENSE"]

_CACHED_CELLS = 2**19
"""Rows of so many cells stay in a near cache between a pass's two products: 2 MB of float32. With
half of it a core's own cache holds them, but more of a pass is between kernels (measured: slower by
a twentieth on one thread, a tenth on two)."""
_SCALED_CELLS = 2**16
"""Rows of so many cells are scaled at a time: half a MB, where they are copied for it."""
_MAPPED_CELLS = 2**15
"""The same of rows that are mapped by functions of float64 arrays: 256 KB."""


class DenseRows:
    """Raw rows as a C-ordered array, float32 or float64, and what each entry is mapped by, if by
    anything: of some rows after the others, which stay in a near cache."""

    def __init__(
        self, values: np.ndarray, entry: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> None:
        self._values, self._entry = values, entry

    def fill_margins(self, start: int, stop: int, w: np.ndarray, out: np.ndarray) -> None:
        for rows, cells in self._parts(start, stop):
            dense_margins(cells, w, np.empty(LANES), out[rows])

    def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray:
        total = np.zeros(self._values.shape[1])
        for rows, cells in self._parts(start, stop):
            dense_weighted_sum(cells, c[rows], total)
        return total

    def mapped(self, entry: Callable[[np.ndarray], np.ndarray]) -> DenseRows:
        before = self._entry
        return DenseRows(
            self._values, entry if before is None else lambda values: entry(before(values))
        )

    def _parts(self, start: int, stop: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield ranges of rows, counted from ``start``, and their cells."""
        values, entry = self._values[start:stop], self._entry
        if entry is None:
            yield slice(0, len(values)), values
            return
        for rows in _chunks(values, _MAPPED_CELLS):
            yield rows, entry(values[rows].astype(np.float64))


class DenseBlock(CachedMargins):
    """Rows as a C-ordered array of shape (n_rows, n_features), in float32 where that is exact: by
    the public bound of their norms, which bounds every entry."""

    def __init__(
        self,
        values: np.ndarray,
        y: np.ndarray,
        squares: np.ndarray,
        path: RoundedLine,
        row_norm: float,
    ) -> None:
        super().__init__(y, values.shape[1], squares, path, row_norm)
        self._values = values

    @classmethod
    def from_rows(
        cls, X: np.ndarray, y: np.ndarray, path: RoundedLine, row_norm: float
    ) -> DenseBlock:
        X = unchanging(X if X.dtype == np.float32 else X.astype(np.float64, copy=False))
        squares = _squares_within(X, path.raw_norm_bound)
        if squares is None:
            X, squares = truncate_rows(X.astype(np.float64), None, X.shape[0], path.raw_norm_bound)
        values = X.astype(_form(path.raw_norm_bound), copy=False)
        values.setflags(write=False)
        return cls(values, y, squares, path, row_norm)

    @classmethod
    def gather(cls, blocks: Sequence[Self], places: np.ndarray) -> DenseRows:
        form, begin = blocks[0]._values, 0
        values = np.empty((places.size, form.shape[1]), form.dtype)
        for block in blocks:
            values[places[begin : begin + block.n_rows]] = block._values
            begin += block.n_rows
        return DenseRows(values)

    def raw_rows(self) -> DenseRows:
        return DenseRows(self._values)

    def _product(self, v: np.ndarray) -> np.ndarray:
        out = np.empty(self.n_rows)
        exact_margins(self._values, v, out)
        return out

    def _products(self, points: np.ndarray) -> np.ndarray:
        return _margins_at(self._values, points)

    def _sums(self, c: np.ndarray) -> np.ndarray:
        total = np.zeros((len(c), self.n_features))
        dense_weighted_sums(self._values, np.ascontiguousarray(c), total)
        return total

    def _fresh_sum(
        self, w: np.ndarray, coefficients: Coefficients
    ) -> tuple[np.ndarray, np.ndarray]:
        z, total = np.empty((*w.shape[:-1], self.n_rows)), np.zeros(w.shape)
        for rows in _chunks(self._values):
            cells = self._values[rows]
            if w.ndim == 1:
                exact_margins(cells, w, z[rows])
                exact_weighted_sum(cells, coefficients(self._scaled(z[rows], rows), rows), total)
            else:
                margins = _margins_at(cells, w)
                z[:, rows] = margins
                c = coefficients(self._scaled(margins, rows), rows)
                _add_exact_sums(cells, np.ascontiguousarray(c), total)
        return z, total

    def _absolute_steps(self) -> np.ndarray:
        return np.asarray(np.ldexp(np.abs(self._values), FEATURE_BITS).astype(np.int64).sum(axis=1))

    def _unfolded(self) -> np.ndarray:
        return self._values.astype(np.float64)

    def _take_cells(self, places: np.ndarray) -> None:
        self._values = np.asarray(self._values).take(places, axis=0)
        self._values.setflags(write=False)

    def _square_product(self, v: np.ndarray) -> np.ndarray:
        out = np.empty(self.n_rows)
        dense_square_product(self._values, v, out)
        return out

    def weighted_moments(self, c: np.ndarray) -> np.ndarray:
        total = np.zeros(self.n_features)
        exact_weighted_moments(self._values, 2.0**FEATURE_BITS, c, total)
        return total


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
        width = X.shape[1]
        out = np.empty((len(X), width + intercept), _form(row_norm))
        for rows in _chunks(X, _SCALED_CELLS):
            given = _numbers(X[rows])
            units, factors, _ = _factors(given, row_norm, intercept)
            store_rows(given, 2.0**FEATURE_BITS, units, factors, out[rows])
            out[rows, width:] = to_grid(1.0 / units * factors)[:, np.newaxis]
        return out

    def longer_rows(self, X: np.ndarray, row_norm: float, intercept: bool) -> np.ndarray:
        longer = [
            _factors(_numbers(X[rows]), row_norm, intercept)[2]
            for rows in _chunks(X, _SCALED_CELLS)
        ]
        return np.concatenate([np.zeros(0, dtype=bool), *longer])


DENSE = _Dense()


def _form(norm: float) -> type[np.floating[Any]]:
    """Return the type of entries on the feature grid in rows of this norm at most, a public bound:
    below FLOAT32_LIMIT each is a float32, exactly."""
    return np.float32 if norm < FLOAT32_LIMIT else np.float64


def _squares_within(X: np.ndarray, bound: float) -> np.ndarray | None:
    """Return each row's sum of squared grid steps, int64, if all entries are on the grid and no row
    is longer than the bound: then ``truncate_rows`` would leave them as they are."""
    limit = math.floor(np.float64(bound) ** 2 * 2.0 ** (2 * FEATURE_BITS))
    squares = np.empty(len(X), dtype=np.int64)
    if X.shape[1] * (limit + 1) >= 2**62 or not grid_squares(X, 2.0**FEATURE_BITS, bound, squares):
        return None
    return None if (squares > limit).any() else squares


def _chunks(values: np.ndarray, cells: int = _CACHED_CELLS) -> Iterator[slice]:
    """Yield ranges of rows that stay in a processor's cache, one after the other; of no rows one
    range, so that a dry run meets all that rows do."""
    step = max(1, -(-len(values) // max(1, -(-values.size // cells))))
    for begin in range(0, max(len(values), 1), step):
        yield slice(begin, min(begin + step, len(values)))


def _numbers(rows: np.ndarray) -> np.ndarray:
    """Return rows as kernels take them, a few at a time of an array of another type or order."""
    return np.ascontiguousarray(rows, dtype=np.float64)


def _factors(rows: np.ndarray, row_norm: float, intercept: bool) -> tuple[np.ndarray, ...]:
    """Return what to divide each row by and what to multiply it with, and which rows are longer
    than ``row_norm``: rows that are not are as they are."""
    largest, root = np.empty(len(rows)), np.empty(len(rows))
    measure_rows(rows, float(intercept), largest, root)
    over = is_over(largest, root, row_norm)
    factors = np.where(over, shrunk(np.where(over, root, 1.0), row_norm), 1.0)
    return np.where(over, largest, 1.0), factors, over


def _margins_at(values: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the rows' margins at each of these points, float64 of shape (n_points, n_rows)."""
    out = np.empty((len(points), len(values)))
    exact_margins_at(values, np.ascontiguousarray(points), out)
    return out


def _add_exact_sums(values: np.ndarray, c: np.ndarray, total: np.ndarray) -> None:
    """Add the rows times each row of ``c``, which is on the coefficients' grid, to ``total``."""
    for k in range(0, len(c) - 1, 2):
        exact_weighted_sums_of_two(values, c[k : k + 2], total[k : k + 2])
    if len(c) % 2:
        exact_weighted_sum(values, c[-1], total[-1])
