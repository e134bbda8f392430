"""Rows in a given order, so that a sequential algorithm can visit ranges of them.

Either a copy of a table's rows in any order, each range contiguous in memory, or the blocks as they
are, begun at a given row and without a copy, for tables that do not fit twice.

Products are those of rows as a layout holds them, plain float64, whose error a sensitivity has to
count.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpcore.plugin import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcore.plugin.parts import Table

    class _RawRows(Protocol):
        """Rows as a layout holds them (``Block.raw_rows``): no factor, and plain products."""

        def fill_margins(self, start: int, stop: int, w: np.ndarray, out: np.ndarray) -> None: ...
        def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray: ...


__all__ = ["OrderedRows", "order_rows", "rotate_rows"]


class OrderedRows:
    """The rows of a table in an order, as parts that are each contiguous in memory.

    Parameters
    ----------
    parts : rows of a layout, and the range of them (first, last plus 1) that belongs there.
    y, factor : of all rows, in order; they mean what they do in ``Block``.
    """

    def __init__(
        self, parts: Sequence[tuple[_RawRows, int, int]], y: np.ndarray, factor: np.ndarray
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
        return sum(sums[1:], sums[0])

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[_RawRows, int, int, int]]:
        """Yield rows, the range of them, and where it begins in the range asked for."""
        k, place = bisect_right(self._places, start) - 1, start
        while place < stop:
            rows, first, _ = self._parts[k]
            end = min(stop, self._places[k + 1])
            shift = first - self._places[k]
            yield rows, place + shift, end + shift, place - start
            k, place = k + 1, end


def order_rows(table: Table, order: np.ndarray, row_norm: float) -> OrderedRows:
    """Return a copy of the rows: row ``order[k]`` of the table is in place k.

    ``order`` : int64 of shape (n_rows,), a permutation. ``row_norm`` : the bound that the rows'
    factors hold them to, at most the table's.
    Raises InvalidInputError for a table whose blocks are of several layouts.
    """
    kinds = {type(block) for block in table.blocks}
    if len(kinds) != 1:
        raise InvalidInputError("Rows can be put in an order where all blocks are of one layout.")
    places = np.empty(order.size, dtype=np.int64)
    places[order] = np.arange(order.size)
    gathered = kinds.pop().gather(table.blocks, places)
    y, factor = _columns(table, row_norm)
    return OrderedRows([(gathered, 0, order.size)], y[order], factor[order])


def rotate_rows(table: Table, offset: int, row_norm: float) -> OrderedRows:
    """Return the rows as they are stored: row 0 is in place ``offset``, row 1 in the next, and
    the rows for which there is no place left are in front.

    Nothing is copied but labels and factors. ``row_norm`` : as for ``order_rows``.
    """
    parts: list[tuple[_RawRows, int, int]] = [
        (block.raw_rows(), 0, block.n_rows) for block in table.blocks
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
    """Return the labels, and the factors that hold the rows to the norm, in the table's order."""
    bound = min(row_norm, table.row_norm)
    factors = [block.factors_within(bound) for block in table.blocks]
    return np.concatenate([block.y for block in table.blocks]), np.concatenate(factors)
