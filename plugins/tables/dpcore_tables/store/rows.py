"""Coded rows that stay where they are, in blocks that are lent one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from dpcore.plugin.readers import Layout
from dpcore_tables.coded.block import CodedBlock
from dpcore_tables.coded.rows import CodedRows

if TYPE_CHECKING:
    from dpcore.plugin.parts import Block, RoundedLine
    from dpcore_tables.coded.rows import CodedLayout

__all__ = ["StoredRows"]


class BlockStore(Protocol):
    """A place of coded rows, as a store of rows in a file has them."""

    layout: CodedLayout
    block_rows: list[int]
    """The number of rows of each block."""

    def block(self, index: int) -> AbstractContextManager[tuple[np.ndarray, np.ndarray, CodedRows]]:
        """Lend a block's bytes, labels and rows, all read only."""


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Rows of a store, all or those of a mask; takes a mask as an array does.

    ``places`` : for each block the int64 places of its rows that belong, ``None`` for all.
    """

    store: BlockStore
    places: tuple[np.ndarray | None, ...] = field(default=())
    shape: tuple[int, int] = field(init=False, repr=False)
    edges: np.ndarray = field(init=False, repr=False)

    ndim = 2
    row_layout: ClassVar[Layout[Any]]

    def __post_init__(self) -> None:
        if not self.places:
            object.__setattr__(self, "places", (None,) * len(self.store.block_rows))
        edges = np.cumsum([0, *self.block_rows()], dtype=np.int64)
        edges.setflags(write=False)
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "shape", (int(edges[-1]), self.store.layout.n_features))

    def block_rows(self) -> list[int]:
        """Return the number of rows in each block."""
        pairs = zip(self.places, self.store.block_rows, strict=True)
        return [n_rows if places is None else places.size for places, n_rows in pairs]

    def __getitem__(self, mask: np.ndarray | slice) -> StoredRows | RowsOfBlock:
        """Return the rows where the bool array ``mask`` of shape (n_rows,) is true, or those of a
        slice, which are at most as many as a block holds."""
        if isinstance(mask, slice):
            begin, end, _ = mask.indices(self.shape[0])
            return RowsOfBlock(self, begin, end)
        is_mask = isinstance(mask, np.ndarray) and mask.dtype == bool
        if not is_mask or mask.shape != self.shape[:1]:
            raise TypeError("rows of a store are taken by a mask of bool, one for each row")
        taken, begin = [], 0
        for known, n in zip(self.places, self.block_rows(), strict=True):
            places = np.arange(n) if known is None else known
            taken.append(places[mask[begin : begin + n]])
            begin += n
        return StoredRows(self.store, tuple(taken))

    def blocks(self, y: np.ndarray, path: RoundedLine, row_norm: float) -> Iterator[Block]:
        """Yield the blocks of a table, which are the store's."""
        whole, begin = StoredRows(self.store), 0
        for index, (places, n) in enumerate(zip(self.places, self.block_rows(), strict=True)):
            within = None if places is None else (_Lender(whole, index), places)
            yield CodedBlock(_Lender(self, index), y[begin : begin + n], path, row_norm, within)
            begin += n

    @contextmanager
    def block(self, index: int) -> Iterator[CodedRows]:
        """Lend the rows of a block, read only."""
        with self.store.block(index) as (_, _, rows):
            places = self.places[index]
            if places is not None:
                rows = rows.take(places)
                for cells in (rows.numeric, rows.codes):
                    cells.setflags(write=False)
            yield rows

    def pieces(self) -> Iterator[CodedRows]:
        """Yield the rows of one block after the other, each lent until the next is asked for."""
        for index in range(len(self.places)):
            with self.block(index) as rows:
                yield rows


@dataclass(frozen=True, eq=False, slots=True)
class RowsOfBlock:
    """Rows of a store from ``begin`` to before ``end``, one at least, which a table has in one
    block, as those of whole units: they may be in several blocks of the store."""

    rows: StoredRows
    begin: int
    end: int

    ndim = 2
    row_layout: ClassVar[Layout[Any]]

    @property
    def shape(self) -> tuple[int, int]:
        return self.end - self.begin, self.rows.shape[1]

    def blocks(self, y: np.ndarray, path: RoundedLine, row_norm: float) -> Iterator[Block]:
        """Yield one block, whatever the store has for blocks."""
        yield CodedBlock(self.lent, y, path, row_norm)

    @contextmanager
    def lent(self) -> Iterator[CodedRows]:
        """Lend the rows, read only: as they lie where one block has them all, else in arrays of
        their own."""
        edges = self.rows.edges
        first = int(np.searchsorted(edges, self.begin, "right")) - 1
        with ExitStack() as held:
            parts = [
                held.enter_context(self.rows.block(index))[
                    max(0, self.begin - edges[index]) : self.end - edges[index]
                ]
                for index in range(first, int(np.searchsorted(edges, self.end)))
            ]
            if len(parts) == 1:
                yield parts[0]
                return
            numeric = np.concatenate([part.numeric for part in parts])
            codes = np.concatenate([part.codes for part in parts])
            for cells in (numeric, codes):
                cells.setflags(write=False)
            yield CodedRows(self.rows.store.layout, numeric, codes)


@dataclass(frozen=True, slots=True)
class _Lender:
    """Lends a block. A large table has tens of thousands: a closure takes four times as much."""

    rows: StoredRows
    index: int

    def __call__(self) -> AbstractContextManager[CodedRows]:
        return self.rows.block(self.index)


class _Stored(Layout[Any]):
    """Blocks of a table as the rows have them; there is nothing to freeze or to join."""

    def blocks(
        self, X: StoredRows | RowsOfBlock, y: np.ndarray, path: RoundedLine, row_norm: float
    ) -> Iterator[Block]:
        return X.blocks(y, path, row_norm)


StoredRows.row_layout = RowsOfBlock.row_layout = _Stored()
