"""Coded rows: numbers dense, one small integer per categorical column, no one-hot column anywhere.

A row is ``numeric`` values in [0, 1] and, per categorical column, a *code*: a place in the list of
all categories of all columns, where each column is followed by one more place for a value that is
none of its categories. Hats that follow from a number are not stored: two of them are not 0, and
both follow from it wherever they are used (``dpcore_tables.kinds.even_hats``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore_tables.kinds.even_hats import even_hats

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from dpcore.plugin.readers import Layout

__all__ = ["CodedLayout", "CodedRows"]


@dataclass(frozen=True, eq=False)
class CodedLayout:
    """The feature that each stored cell means.

    Parameters
    ----------
    n_features : width of the encoded rows.
    numeric : int64 of shape (n_numeric,), the feature of each dense column.
    code_features : int64 of shape (n_codes,), the feature of each code; ``n_features`` for none.
    starts : int64 of shape (n_categorical + 1,), the first code of each column, and n_codes.
    hats : int64 of shape (n_curves, 3): a numeric column, the feature of its first hat, and how
        many hats follow from it.

    Of these it works out the feature of each numeric column, then of each code, then of each hat,
    and the place of each feature among these, that after the last where it has none. ``curves`` is
    ``hats`` as the kernels take it: the numeric column, the place of its first hat behind all
    codes, and the stretches between knots.

    Raises InvalidInputError if two cells stand for one feature.
    """

    n_features: int
    numeric: np.ndarray
    code_features: np.ndarray
    starts: np.ndarray
    hats: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    curves: np.ndarray = field(init=False, repr=False)
    _features: np.ndarray = field(init=False, repr=False)
    _cells: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        hats = [np.arange(first, first + n_hats) for _, first, n_hats in self.hats.tolist()]
        bent = np.concatenate([np.zeros(0, np.int64), *hats])
        known = self.code_features[self.code_features < self.n_features]
        # np.unique would import NumPy's masked arrays, which nothing else asks for.
        cells = np.sort(np.concatenate([self.numeric, known, bent]))
        if (cells[1:] == cells[:-1]).any() or self.starts[-1] != self.code_features.size:
            raise InvalidInputError("Expected every feature in one numeric column or code.")
        features = np.concatenate([self.numeric, self.code_features, bent])
        places = np.full(self.n_features + 1, features.size)
        places[features] = np.arange(features.size)
        begins = self.code_features.size + np.cumsum([0, *self.hats[:, 2]])[:-1]
        curves = np.column_stack([self.hats[:, 0], begins, self.hats[:, 2] - 1])
        object.__setattr__(self, "curves", np.ascontiguousarray(curves, dtype=np.int64))
        object.__setattr__(self, "_features", features)
        object.__setattr__(self, "_cells", places[: self.n_features])

    @property
    def unfolded(self) -> CodedLayout:
        """The layout of the same rows whose hats are stored, as numbers behind the others."""
        if not len(self.hats):
            return self
        held = [np.arange(first, first + n_hats) for _, first, n_hats in self.hats.tolist()]
        numeric = np.concatenate([self.numeric, *held])
        return CodedLayout(self.n_features, numeric, self.code_features, self.starts)

    def holds(self, codes: np.ndarray) -> bool:
        """Return whether every code is one of its own column's."""
        if codes.dtype.kind != "u" or codes.shape[1] != self.starts.size - 1:
            return False
        return bool(((codes >= self.starts[:-1]) & (codes < self.starts[1:])).all())

    @property
    def code_type(self) -> np.dtype:
        """The smallest unsigned type that holds every code."""
        return np.min_scalar_type(max(0, self.code_features.size - 1))

    def curves_of(self, codes: np.ndarray) -> np.ndarray:
        """Return ``curves`` where a value of ``split`` for a hat is not 0, else none of them: rows
        are looked at for what counts."""
        if not len(self.curves) or codes[..., self.code_features.size :].any():
            return self.curves
        return self.curves[:0]

    def split(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a feature vector's numeric part and its value for every code and hat, float64; of
        several vectors, of shape (..., n_features), those of each."""
        padded = np.zeros((*v.shape[:-1], self.n_features + 1))
        padded[..., :-1] = v
        cells = padded.take(self._features, axis=-1)
        return cells[..., : self.numeric.size], cells[..., self.numeric.size :]

    def sums(self, *each: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return zeros for sums, float64, of shape (n, *each): all of them, for ``join``, and, as
        parts of these, the numeric columns' and those of codes and hats."""
        padded = np.zeros((self._features.size + 1, *each))
        return padded, padded[: self.numeric.size], padded[self.numeric.size : -1]

    def join(self, padded: np.ndarray) -> np.ndarray:
        """Return the feature vector of ``sums``, float64, for each of their leading axes."""
        return padded.take(self._cells, axis=-1)


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
    row_layout: ClassVar[Layout[CodedRows]]

    @property
    def shape(self) -> tuple[int, int]:
        return self.codes.shape[0], self.layout.n_features

    def __getitem__(self, rows: Any) -> CodedRows:
        return CodedRows(self.layout, self.numeric[rows], self.codes[rows])

    def take(self, places: np.ndarray) -> CodedRows:
        """Return the rows at these places, int64, which is faster than by an index."""
        cells = (np.asarray(part).take(places, axis=0) for part in (self.numeric, self.codes))
        return CodedRows(self.layout, *cells)

    def unfolded(self) -> CodedRows:
        """Return the same rows with hats as numbers, in C order; the same ones without hats."""
        layout = self.layout
        if not len(layout.hats):
            return self
        found = [
            even_hats(self.numeric[:, column].astype(np.float64), n_hats)
            for column, _, n_hats in layout.hats.tolist()
        ]
        numbers = np.hstack([self.numeric, *found]).astype(self.numeric.dtype)
        return CodedRows(layout.unfolded, np.ascontiguousarray(numbers), self.codes)

    def tocsr(self) -> csr_matrix:
        """Return the same rows as a CSR matrix, float64."""
        from scipy.sparse import csr_matrix

        if len(self.layout.hats):
            return self.unfolded().tocsr()

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
        return np.asarray(self.tocsr().toarray())
