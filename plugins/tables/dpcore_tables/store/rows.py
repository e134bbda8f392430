"""Coded rows that stay where they are, in blocks that are lent one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from dpcore.data.blocks.layout import Layout
from dpcore_tables.coded.block import CodedBlock

if TYPE_CHECKING:
    from dpcore.plugin.parts import Block, RoundedLine
    from dpcore_tables.coded.rows import CodedLayout, CodedRows

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

    ndim = 2
    row_layout: ClassVar[Layout[StoredRows]]

    def __post_init__(self) -> None:
        if not self.places:
            object.__setattr__(self, "places", (None,) * len(self.store.block_rows))
        shape = sum(self.block_rows()), self.store.layout.n_features
        object.__setattr__(self, "shape", shape)

    def block_rows(self) -> list[int]:
        """Return the number of rows in each block."""
        pairs = zip(self.places, self.store.block_rows, strict=True)
        return [n_rows if places is None else places.size for places, n_rows in pairs]

    def __getitem__(self, mask: np.ndarray) -> StoredRows:
        """Return the rows where the bool array ``mask`` of shape (n_rows,) is true."""
        is_mask = isinstance(mask, np.ndarray) and mask.dtype == bool
        if not is_mask or mask.shape != self.shape[:1]:
            raise TypeError("rows of a store are taken by a mask of bool, one for each row")
        taken, begin = [], 0
        for known, n in zip(self.places, self.block_rows(), strict=True):
            places = np.arange(n) if known is None else known
            taken.append(places[mask[begin : begin + n]])
            begin += n
        return StoredRows(self.store, tuple(taken))

    @contextmanager
    def block(self, index: int) -> Iterator[CodedRows]:
        """Lend the rows of a block, read only."""
        with self.store.block(index) as (_, _, rows):
            places = self.places[index]
            if places is not None:
                rows = rows[places]
                for cells in (rows.numeric, rows.codes):
                    cells.setflags(write=False)
            yield rows

    def pieces(self) -> Iterator[CodedRows]:
        """Yield the rows of one block after the other, each lent until the next is asked for."""
        for index in range(len(self.places)):
            with self.block(index) as rows:
                yield rows


@dataclass(frozen=True, slots=True)
class _Lender:
    """Lends a block. A large table has tens of thousands: a closure takes four times as much."""

    rows: StoredRows
    index: int

    def __call__(self) -> AbstractContextManager[CodedRows]:
        return self.rows.block(self.index)


class _Stored(Layout[StoredRows]):
    """Blocks of a table that are blocks of the store; there is nothing to freeze or to join."""

    def blocks(
        self, X: StoredRows, y: np.ndarray, path: RoundedLine, row_norm: float
    ) -> Iterator[Block]:
        whole, begin = StoredRows(X.store), 0
        for index, (places, n) in enumerate(zip(X.places, X.block_rows(), strict=True)):
            within = None if places is None else (_Lender(whole, index), places)
            yield CodedBlock(_Lender(X, index), y[begin : begin + n], path, row_norm, within)
            begin += n


StoredRows.row_layout = _Stored()
