"""Rows laid out in a given order, so that a sequential algorithm can visit ranges of them.

A copy of a table's rows, layout by layout: what one range of the order adds to a margin or to a sum
is contiguous in memory. It reads what the blocks of ``dpcore.data`` store (``_numeric`` and
``_codes``, ``_indptr``, ``_indices`` and ``_values``, or ``_values``), ``y`` and ``row_norms``.

Products are plain float64, summed row by row in the order given: a margin errs by at most
``(d + 2) 2^-53 ||x|| ||w||``, a sum over b rows by ``(b + 1) 2^-53 sum |c_i| ||x_i||`` in l2, to
first order. A sensitivity that rests on them has to count that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numba import njit

from dpcore.data.coded import CodedBlock, coded_margins, coded_weighted_sum
from dpcore.data.csr import CsrBlock, csr_margins, csr_weighted_sum
from dpcore.data.dense import DenseBlock, dense_margins, dense_weighted_sum
from dpcore.data.table import row_factors
from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    from dpcore.data.table import Table

__all__ = ["OrderedRows", "order_rows"]

_LANES = 8
"""What ``dense_margins`` asks for."""


class OrderedRows(Protocol):
    """The rows of a table in an order; ``y`` and ``factor`` mean what they do in ``Block``."""

    y: np.ndarray
    factor: np.ndarray

    def margins(self, start: int, stop: int, w: np.ndarray) -> np.ndarray:
        """Return ``raw_i . w`` of rows start to stop - 1, without their factor, float64."""
        ...

    def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray:
        """Return ``sum_i c_i raw_i`` over these rows, float64 of shape (n_features,)."""
        ...


def order_rows(table: Table, order: np.ndarray, row_norm: float) -> OrderedRows:
    """Return a copy of the rows: row ``order[k]`` of the table stands in place k.

    ``order`` : int64 of shape (n_rows,), a permutation. ``row_norm`` : the bound that the rows'
    factors hold them to, at most the table's.
    Raises InvalidInputError for a table of blocks whose layout is not known here.
    """
    kinds: list[tuple[type, Any]] = [
        (CodedBlock, _CodedRows),
        (CsrBlock, _CsrRows),
        (DenseBlock, _DenseRows),
    ]
    places = np.empty(order.size, dtype=np.int64)
    places[order] = np.arange(order.size)
    blocks = table.blocks
    for block_type, layout in kinds:
        if all(type(block) is block_type for block in blocks):
            return layout(blocks, places, min(row_norm, table.row_norm))
    raise InvalidInputError("The rows of this table cannot be put in an order: unknown blocks.")


class _Ordered:
    """What every layout has: labels and factors in order, and where each block's rows go."""

    def __init__(self, blocks: Any, places: np.ndarray, row_norm: float) -> None:
        self.y = np.empty(places.size)
        self.factor = np.empty(places.size)
        self._parts = []
        begin = 0
        for block in blocks:
            where = places[begin : begin + block.n_rows]
            self.y[where] = block.y
            self.factor[where] = row_factors(block.row_norms("l2"), row_norm)
            self._parts.append((block, where))
            begin += block.n_rows


class _DenseRows(_Ordered):
    def __init__(self, blocks: Any, places: np.ndarray, row_norm: float) -> None:
        super().__init__(blocks, places, row_norm)
        self._values = np.empty((places.size, blocks[0].n_features))
        for block, where in self._parts:
            self._values[where] = block._values

    def margins(self, start: int, stop: int, w: np.ndarray) -> np.ndarray:
        out = np.empty(stop - start)
        dense_margins(self._values[start:stop], w, np.empty(_LANES), out)
        return out

    def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray:
        total = np.zeros(self._values.shape[1])
        dense_weighted_sum(self._values[start:stop], c, total)
        return total


class _CodedRows(_Ordered):
    def __init__(self, blocks: Any, places: np.ndarray, row_norm: float) -> None:
        super().__init__(blocks, places, row_norm)
        first = blocks[0]
        self._layout = first._layout
        self._numeric = np.empty((places.size, first._numeric.shape[1]), first._numeric.dtype)
        self._codes = np.empty((places.size, first._codes.shape[1]), first._codes.dtype)
        for block, where in self._parts:
            self._numeric[where], self._codes[where] = block._numeric, block._codes

    def margins(self, start: int, stop: int, w: np.ndarray) -> np.ndarray:
        out = np.empty(stop - start)
        numeric, codes = self._layout.split(w)
        coded_margins(self._numeric[start:stop], self._codes[start:stop], numeric, codes, out)
        return out

    def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray:
        numeric = np.zeros(self._numeric.shape[1])
        codes = np.zeros(self._layout.code_features.size)
        rows, row_codes = self._numeric[start:stop], self._codes[start:stop]
        coded_weighted_sum(rows, row_codes, c, numeric, codes)
        return self._layout.join(numeric, codes)


class _CsrRows(_Ordered):
    def __init__(self, blocks: Any, places: np.ndarray, row_norm: float) -> None:
        super().__init__(blocks, places, row_norm)
        self._width = blocks[0].n_features
        sizes = np.empty(places.size, dtype=np.int64)
        for block, where in self._parts:
            sizes[where] = np.diff(block._indptr.astype(np.int64))
        self._indptr = np.concatenate([[0], np.cumsum(sizes)])
        stored = int(self._indptr[-1])
        self._indices = np.empty(stored, blocks[0]._indices.dtype)
        self._values = np.empty(stored, blocks[0]._values.dtype)
        for block, where in self._parts:
            begins = self._indptr[where]
            csr_scatter(block._indptr, block._indices, begins, self._indices)
            csr_scatter(block._indptr, block._values, begins, self._values)

    def margins(self, start: int, stop: int, w: np.ndarray) -> np.ndarray:
        out = np.empty(stop - start)
        csr_margins(self._indptr[start : stop + 1], self._indices, self._values, w, out)
        return out

    def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray:
        total = np.zeros(self._width)
        csr_weighted_sum(self._indptr[start : stop + 1], self._indices, self._values, c, total)
        return total


@njit(cache=True, error_model="numpy")
def csr_scatter(
    indptr: np.ndarray, values: np.ndarray, begins: np.ndarray, out: np.ndarray
) -> None:
    """Copy row i of ``values`` to ``out`` from ``begins[i]``."""
    for i in range(begins.shape[0]):
        first = np.int64(indptr[i])
        for j in range(first, np.int64(indptr[i + 1])):
            out[begins[i] + j - first] = values[j]
