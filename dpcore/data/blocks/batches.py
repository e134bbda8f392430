"""Rows in a given order, so that a sequential algorithm can visit ranges of them.

Either a copy of a table's rows in any order, each range contiguous in memory, or the blocks as they
are, begun at a given row and without a copy, for tables that do not fit twice. Both read what the
blocks of ``dpcore.data`` hold (``_lend`` and ``_layout``; ``_indptr``, ``_indices`` and
``_values``; ``_values``), ``y`` and ``row_norms``.

Products are plain float64: a margin of d terms errs by at most ``(d + 2) 2^-53 ||x|| ||w||``, a sum
over b rows by ``(b + 1) 2^-53 sum |c_i| ||x_i||`` in l2, to first order and in any order of terms.
A sensitivity that rests on them has to count that.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcore.data.blocks.coded import CodedBlock, CodedRows
from dpcore.data.blocks.coded_kernels import coded_margins, coded_weighted_sum
from dpcore.data.blocks.csr import CsrBlock, csr_margins, csr_weighted_sum
from dpcore.data.blocks.dense import DenseBlock, dense_margins, dense_weighted_sum
from dpcore.data.blocks.table import row_factors
from dpcore.errors import InvalidInputError
from dpcore.exact.compiled import njit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from dpcore.data.blocks.table import Table

__all__ = ["OrderedRows", "order_rows", "rotate_rows"]

_LANES = 8
"""What ``dense_margins`` asks for."""


class _Rows(Protocol):
    """Rows of one layout, contiguous in memory."""

    def fill_margins(self, start: int, stop: int, w: np.ndarray, out: np.ndarray) -> None: ...

    def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray: ...


class OrderedRows:
    """The rows of a table in an order, as parts that are each contiguous in memory.

    Parameters
    ----------
    parts : rows of a layout, and the first and the last row of them, plus 1, that stand there.
    y, factor : of all rows, in order; they mean what they do in ``Block``.
    """

    def __init__(
        self, parts: Sequence[tuple[_Rows, int, int]], y: np.ndarray, factor: np.ndarray
    ) -> None:
        self._parts = parts
        self._places = [0, *np.cumsum([last - first for _, first, last in parts]).tolist()]
        self.y = y
        self.factor = factor

    def margins(self, start: int, stop: int, w: np.ndarray) -> np.ndarray:
        """Return ``raw_i . w`` of rows start to stop - 1, without their factor, float64."""
        out = np.empty(stop - start)
        for rows, first, last, place in self._pieces(start, stop):
            rows.fill_margins(first, last, w, out[place : place + last - first])
        return out

    def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray:
        """Return ``sum_i c_i raw_i`` over these rows, float64 of shape (n_features,).

        ``c`` : float64 of shape (stop - start,); at least one row.
        """
        sums = [
            rows.weighted_sum(first, last, c[place : place + last - first])
            for rows, first, last, place in self._pieces(start, stop)
        ]
        return sums[0] if len(sums) == 1 else np.sum(sums, axis=0)

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[_Rows, int, int, int]]:
        """Yield rows, the range of them, and where it begins in the range asked for."""
        k, place = bisect_right(self._places, start) - 1, start
        while place < stop:
            rows, first, _ = self._parts[k]
            end = min(stop, self._places[k + 1])
            shift = first - self._places[k]
            yield rows, place + shift, end + shift, place - start
            k, place = k + 1, end


def order_rows(table: Table, order: np.ndarray, row_norm: float) -> OrderedRows:
    """Return a copy of the rows: row ``order[k]`` of the table stands in place k.

    ``order`` : int64 of shape (n_rows,), a permutation. ``row_norm`` : the bound that the rows'
    factors hold them to, at most the table's.
    Raises InvalidInputError for a table of blocks whose layout is not known here.
    """
    places = np.empty(order.size, dtype=np.int64)
    places[order] = np.arange(order.size)
    gathered = _layout(table).gather(table.blocks, places)
    y, factor = _columns(table, row_norm)
    return OrderedRows([(gathered, 0, order.size)], y[order], factor[order])


def rotate_rows(table: Table, offset: int, row_norm: float) -> OrderedRows:
    """Return the rows as they are stored: row 0 stands in place ``offset``, row 1 in the next, and
    those for which there is no place left stand in front.

    Nothing is copied but labels and factors. ``row_norm`` and Raises : as for ``order_rows``.
    """
    layout = _layout(table)
    parts: list[tuple[_Rows, int, int]] = [
        (layout.of_block(block), 0, block.n_rows) for block in table.blocks
    ]
    y, factor = _columns(table, row_norm)
    begin, left = y.size - offset, y.size - offset
    for k, (rows, _, count) in enumerate(parts):
        if left < count:
            parts = [(rows, left, count), *parts[k + 1 :], *parts[:k], (rows, 0, left)]
            break
        left -= count
    parts = [part for part in parts if part[1] < part[2]]
    return OrderedRows(parts, np.roll(y, -begin), np.roll(factor, -begin))


def _columns(table: Table, row_norm: float) -> tuple[np.ndarray, np.ndarray]:
    bound = min(row_norm, table.row_norm)
    norms = np.concatenate([block.row_norms("l2") for block in table.blocks])
    return np.concatenate([block.y for block in table.blocks]), row_factors(norms, bound)


def _layout(table: Table) -> Any:
    layouts = {CodedBlock: _CodedRows, CsrBlock: _CsrRows, DenseBlock: _DenseRows}
    for block_type, layout in layouts.items():
        if all(isinstance(block, block_type) for block in table.blocks):
            return layout
    raise InvalidInputError("The rows of this table cannot be put in an order: unknown blocks.")


def _placed(blocks: Sequence[Any], places: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield each block and the places of its rows."""
    begin = 0
    for block in blocks:
        yield block, places[begin : begin + block.n_rows]
        begin += block.n_rows


class _DenseRows:
    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    @classmethod
    def of_block(cls, block: Any) -> _DenseRows:
        return cls(block._values)

    @classmethod
    def gather(cls, blocks: Sequence[Any], places: np.ndarray) -> _DenseRows:
        values = np.empty((places.size, blocks[0].n_features))
        for block, where in _placed(blocks, places):
            values[where] = block._values
        return cls(values)

    def fill_margins(self, start: int, stop: int, w: np.ndarray, out: np.ndarray) -> None:
        dense_margins(self._values[start:stop], w, np.empty(_LANES), out)

    def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray:
        total = np.zeros(self._values.shape[1])
        dense_weighted_sum(self._values[start:stop], c, total)
        return total


class _CodedRows:
    def __init__(self, lend: Callable[[], AbstractContextManager[CodedRows]], layout: Any) -> None:
        self._lend, self._layout = lend, layout

    @classmethod
    def of_block(cls, block: Any) -> _CodedRows:
        return cls(block._lend, block._layout)

    @classmethod
    def gather(cls, blocks: Sequence[Any], places: np.ndarray) -> _CodedRows:
        layout = blocks[0]._layout
        numeric = np.empty((places.size, layout.numeric.size), np.float32)
        codes = np.empty((places.size, layout.starts.size - 1), layout.code_type)
        for block, where in _placed(blocks, places):
            with block._lend() as rows:
                numeric[where], codes[where] = rows.numeric, rows.codes
        kept = nullcontext(CodedRows(layout, numeric, codes))
        return cls(lambda: kept, layout)

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


class _CsrRows:
    def __init__(
        self, indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, width: int
    ) -> None:
        self._indptr, self._indices, self._values, self._width = indptr, indices, values, width

    @classmethod
    def of_block(cls, block: Any) -> _CsrRows:
        return cls(block._indptr, block._indices, block._values, block.n_features)

    @classmethod
    def gather(cls, blocks: Sequence[Any], places: np.ndarray) -> _CsrRows:
        sizes = np.empty(places.size, np.int64)
        for block, where in _placed(blocks, places):
            sizes[where] = np.diff(block._indptr.astype(np.int64))
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        indices = np.empty(int(indptr[-1]), blocks[0]._indices.dtype)
        values = np.empty(int(indptr[-1]), blocks[0]._values.dtype)
        for block, where in _placed(blocks, places):
            csr_scatter(block._indptr, block._indices, indptr[where], indices)
            csr_scatter(block._indptr, block._values, indptr[where], values)
        return cls(indptr, indices, values, blocks[0].n_features)

    def fill_margins(self, start: int, stop: int, w: np.ndarray, out: np.ndarray) -> None:
        csr_margins(self._indptr[start : stop + 1], self._indices, self._values, w, out)

    def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray:
        total = np.zeros(self._width)
        csr_weighted_sum(self._indptr[start : stop + 1], self._indices, self._values, c, total)
        return total


@njit(cache=True, error_model="numpy", nogil=True)
def csr_scatter(
    indptr: np.ndarray, values: np.ndarray, begins: np.ndarray, out: np.ndarray
) -> None:
    """Copy row i of ``values`` to ``out`` from ``begins[i]``."""
    for i in range(begins.shape[0]):
        first = np.int64(indptr[i])
        for j in range(first, np.int64(indptr[i + 1])):
            out[begins[i] + j - first] = values[j]
