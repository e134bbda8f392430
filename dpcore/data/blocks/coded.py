"""Coded rows: numbers dense, one small integer per categorical column, no one-hot column anywhere.

A row is ``numeric`` values in [0, 1] and, per categorical column, a *code*: a place in the list of
all categories of all columns, where each column is followed by one more place for a value that is
none of its categories. ``margins`` gathers one coefficient per column, ``weighted_sum`` scatters
into it.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.data.blocks.coded_kernels import (
    coded_margins,
    coded_margins_at,
    coded_square_product,
    coded_weighted_moments,
    coded_weighted_sum,
)
from dpcore.data.blocks.kept_margins import KeptMargins, LinePath
from dpcore.data.blocks.ownership import share
from dpcore.data.blocks.table import require_finite
from dpcore.errors import InvalidInputError
from dpcore.exact.grid import FEATURE_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from scipy.sparse import csr_matrix

    Lender = Callable[[], AbstractContextManager["CodedRows"]]

__all__ = ["CodedBlock", "CodedLayout", "CodedRows"]

_ONE = 1 << FEATURE_BITS
"""A one-hot 1 in grid steps."""


@dataclass(frozen=True, eq=False)
class CodedLayout:
    """Which feature each stored cell stands for.

    Parameters
    ----------
    n_features : width of the encoded rows.
    numeric : int64 of shape (n_numeric,), the feature of each dense column.
    code_features : int64 of shape (n_codes,), the feature of each code; ``n_features`` for none.
    starts : int64 of shape (n_categorical + 1,), the first code of each column, and n_codes.

    Raises InvalidInputError if two cells stand for one feature.
    """

    n_features: int
    numeric: np.ndarray
    code_features: np.ndarray
    starts: np.ndarray

    def __post_init__(self) -> None:
        known = self.code_features[self.code_features < self.n_features]
        cells = np.concatenate([self.numeric, known])
        if np.unique(cells).size != cells.size or self.starts[-1] != self.code_features.size:
            raise InvalidInputError("Expected every feature in one numeric column or code.")

    def holds(self, codes: np.ndarray) -> bool:
        """Return whether every code is one of its own column's."""
        if codes.dtype.kind != "u" or codes.shape[1] != self.starts.size - 1:
            return False
        return bool(((codes >= self.starts[:-1]) & (codes < self.starts[1:])).all())

    @property
    def code_type(self) -> np.dtype:
        """The smallest unsigned type that holds every code."""
        return np.min_scalar_type(max(0, self.code_features.size - 1))

    def split(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a feature vector's numeric part and its value for every code, float64."""
        padded = np.append(v, 0.0)
        return padded[self.numeric], padded[self.code_features]

    def join(self, numeric: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the feature vector of sums over numeric columns and codes, float64."""
        padded = np.zeros(self.n_features + 1)
        padded[self.numeric] = numeric
        padded[self.code_features] = codes
        return padded[: self.n_features]


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Encoded rows of a table with categories; takes rows as an array does.

    Parameters
    ----------
    layout : what the cells mean.
    numeric : float32 of shape (n_rows, n_numeric), C order, on the feature grid in [0, 1].
    codes : unsigned integers of shape (n_rows, n_categorical), C order.
    """

    layout: CodedLayout
    numeric: np.ndarray
    codes: np.ndarray

    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        return self.codes.shape[0], self.layout.n_features

    def __getitem__(self, rows: Any) -> CodedRows:
        return CodedRows(self.layout, self.numeric[rows], self.codes[rows])

    def tocsr(self) -> csr_matrix:
        """Return the same rows as a CSR matrix, float64."""
        from scipy.sparse import csr_matrix

        feature = self.layout.code_features[self.codes]
        known = feature < self.layout.n_features
        values = np.hstack([self.numeric.astype(np.float64), known.astype(np.float64)])
        columns = np.hstack([np.broadcast_to(self.layout.numeric, self.numeric.shape), feature])
        stored = values != 0
        indptr = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
        matrix = csr_matrix((values[stored], columns[stored], indptr), shape=self.shape)
        matrix.sort_indices()
        return matrix

    def toarray(self) -> np.ndarray:
        return self.tocsr().toarray()


class CodedBlock(KeptMargins):
    """A block of coded rows, which ``lend`` lends for the time of a look: they need not be in
    memory. What it lends are read-only cells on the feature grid in [0, 1] and codes of their own
    columns, the same every time. Where they are some of the rows of ``whole``, at its ``places``,
    products go over all of those: that is faster than to take the rows out every time."""

    def __init__(
        self,
        lend: Lender,
        y: np.ndarray,
        path: LinePath,
        row_norm: float,
        whole: tuple[Lender, np.ndarray] | None = None,
    ) -> None:
        self._lend = lend
        self._whole = whole
        with lend() as rows:
            self._layout = rows.layout
            # Numbers in [0, 1] and at most one 1 per categorical column: no row is longer.
            if Fraction(path.raw_norm_bound) ** 2 < rows.numeric.shape[1] + rows.codes.shape[1]:
                raise InvalidInputError("The raw norm bound is below what the columns allow.")
            steps = _steps(rows)
            squares = (steps * steps).sum(axis=1) + _n_ones(rows) * _ONE * _ONE
        super().__init__(y, self._layout.n_features, squares, path, row_norm)

    @classmethod
    def from_rows(cls, X: CodedRows, y: np.ndarray, path: LinePath, row_norm: float) -> CodedBlock:
        require_finite(X.numeric)
        # Copies, or what cannot change: what the norms are taken of is what is kept.
        codes = share(X.codes, np.array(X.codes, order="C"))
        if not X.layout.holds(codes):
            raise InvalidInputError("A code is not one of its column's.")
        steps = np.ldexp(np.clip(X.numeric, 0.0, 1.0), FEATURE_BITS).astype(np.int64)
        numeric = share(X.numeric, np.ldexp(steps.astype(np.float32), -FEATURE_BITS))
        kept = nullcontext(CodedRows(X.layout, numeric, codes))
        return cls(lambda: kept, y, path, row_norm)

    def raw_rows(self) -> LentRows:
        return LentRows(self._lend, self._layout)

    def _absolute_steps(self) -> np.ndarray:
        with self._lend() as rows:
            return _steps(rows).sum(axis=1) + _n_ones(rows) * _ONE

    def _raw_rows(self) -> np.ndarray:
        out = np.zeros((self.n_rows, self.n_features + 1))
        with self._lend() as rows:
            out[:, self._layout.numeric] = rows.numeric
            out[np.arange(self.n_rows)[:, np.newaxis], self._layout.code_features[rows.codes]] = 1.0
        return out[:, : self.n_features]

    def _take_cells(self, places: np.ndarray) -> None:
        lend, of_whole = self._whole or (self._lend, None)
        with lend() as rows:
            taken = rows[places if of_whole is None else of_whole[places]]
        for cells in (taken.numeric, taken.codes):
            cells.setflags(write=False)
        kept = nullcontext(taken)
        self._lend, self._whole = lambda: kept, None

    def _product(self, v: np.ndarray) -> np.ndarray:
        numeric, codes = self._layout.split(v)
        lend, places = self._whole or (self._lend, None)
        with lend() as rows:
            out = np.empty(rows.shape[0])
            coded_margins(rows.numeric, rows.codes, numeric, codes, out)
        return out if places is None else out[places]

    def _products(self, points: np.ndarray) -> np.ndarray:
        split = [self._layout.split(v) for v in points]
        numeric = np.ascontiguousarray(np.transpose([part for part, _ in split]))
        codes = np.ascontiguousarray(np.transpose([part for _, part in split]))
        lend, places = self._whole or (self._lend, None)
        with lend() as rows:
            out = np.empty((len(points), rows.shape[0]))
            coded_margins_at(rows.numeric, rows.codes, numeric, codes, out)
        return out if places is None else out[:, places]

    def _square_product(self, v: np.ndarray) -> np.ndarray:
        numeric, codes = self._layout.split(v)
        with self._lend() as rows:
            out = np.empty(rows.shape[0])
            coded_square_product(rows.numeric, rows.codes, numeric, codes, out)
        return out

    def weighted_sum(self, c: np.ndarray) -> np.ndarray:
        return self._weighted(coded_weighted_sum, c)

    def weighted_moments(self, c: np.ndarray) -> np.ndarray:
        return self._weighted(coded_weighted_moments, c)

    def _weighted(self, kernel: Any, c: np.ndarray) -> np.ndarray:
        numeric = np.zeros(self._layout.numeric.size)
        codes = np.zeros(self._layout.code_features.size)
        lend, places = self._whole or (self._lend, None)
        with lend() as rows:
            weights = c
            if places is not None:
                weights = np.zeros(rows.shape[0])
                weights[places] = c
            kernel(rows.numeric, rows.codes, weights, numeric, codes)
        return self._layout.join(numeric, codes)


class LentRows:
    """Raw coded rows, lent for the time of a look (``RawRows``)."""

    def __init__(self, lend: Lender, layout: CodedLayout) -> None:
        self._lend, self._layout = lend, layout

    def fill_margins(self, start: int, stop: int, w: np.ndarray, out: np.ndarray) -> None:
        numeric, codes = self._layout.split(w)
        with self._lend() as rows:
            coded_margins(rows.numeric[start:stop], rows.codes[start:stop], numeric, codes, out)

    def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray:
        numeric = np.zeros(self._layout.numeric.size)
        codes = np.zeros(self._layout.code_features.size)
        with self._lend() as rows:
            cells = rows.numeric[start:stop], rows.codes[start:stop]
            coded_weighted_sum(cells[0], cells[1], c, numeric, codes)
        return self._layout.join(numeric, codes)

    def gather(self, parts: Sequence[LentRows], places: np.ndarray) -> LentRows:
        layout, begin = self._layout, 0
        numeric = np.empty((places.size, layout.numeric.size), np.float32)
        codes = np.empty((places.size, layout.starts.size - 1), layout.code_type)
        for part in parts:
            with part._lend() as rows:
                end = begin + rows.shape[0]
                numeric[places[begin:end]] = rows.numeric
                codes[places[begin:end]] = rows.codes
            begin = end
        kept = nullcontext(CodedRows(layout, numeric, codes))
        return LentRows(lambda: kept, layout)


def _steps(rows: CodedRows) -> np.ndarray:
    """Return the numbers in grid steps, int64."""
    return np.ldexp(rows.numeric, FEATURE_BITS).astype(np.int64)


def _n_ones(rows: CodedRows) -> np.ndarray:
    """Return how many categories of every row are known, int64."""
    known = rows.layout.code_features[rows.codes] < rows.layout.n_features
    return known.sum(axis=1, dtype=np.int64)
