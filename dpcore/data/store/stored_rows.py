"""The rows of a store: cells are looked at where they lie, and let go of after each look."""

from __future__ import annotations

import mmap
import os
import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from dpcore.data.blocks.coded import CodedBlock, CodedLayout, CodedRows
from dpcore.data.store.format import PAGE, BlockForm
from dpcore.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcore.data.blocks.kept_margins import LinePath

__all__ = ["StoreFile", "StoredRows"]


class StoreFile:
    """A store's blocks, mapped into memory. Pages go back to the system after each use, so that a
    pass over any number of rows holds a block's worth of them."""

    def __init__(
        self,
        path: str,
        file: BinaryIO,
        layout: CodedLayout,
        forms: list[BlockForm],
    ) -> None:
        self.layout = layout
        self.forms = forms
        self._path = path
        self._file = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)
        self._map = mmap.mmap(self._file, 0, access=mmap.ACCESS_READ)
        self._bytes = np.frombuffer(self._map, dtype=np.uint8)
        self._starts = PAGE + np.cumsum([0, *(form.size for form in forms)])
        self._stamp = os.fstat(self._file)

    @contextmanager
    def block(self, index: int) -> Iterator[tuple[np.ndarray, np.ndarray, CodedRows]]:
        """Lend a block's bytes, labels and rows, all read only.

        Raises DataError if the file is not as it was when it was opened, before the look or after
        it: a table does not change between passes. (Whoever maps the file and writes into memory
        may escape that.)
        """
        self._require_unchanged()
        begin, size = int(self._starts[index]), self.forms[index].size
        content = self._bytes[begin : begin + size]
        y, numeric, codes = self.forms[index].parts(content)
        try:
            yield content, y, CodedRows(self.layout, numeric, codes)
        finally:
            if hasattr(mmap, "MADV_DONTNEED"):
                shift = begin % mmap.PAGESIZE
                self._map.madvise(mmap.MADV_DONTNEED, begin - shift, size + shift)
        self._require_unchanged()

    def _require_unchanged(self) -> None:
        before, now = self._stamp, os.fstat(self._file)
        same = (before.st_size, before.st_mtime_ns) == (now.st_size, now.st_mtime_ns)
        # The last time of change cannot be set back; it changes too where another store takes this
        # one's name, which is no change of this one.
        if not same or (now.st_nlink > 0 and before.st_ctime_ns != now.st_ctime_ns):
            raise DataError(f"{self._path}: the store was changed while it was in use.")


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Rows of a store, all or those of a mask; takes a mask as an array does.

    ``kept`` : for each block the int64 places of its rows that belong, ``None`` for all.
    """

    store: StoreFile
    kept: tuple[np.ndarray | None, ...] = field(default=())

    ndim = 2

    def __post_init__(self) -> None:
        if not self.kept:
            object.__setattr__(self, "kept", (None,) * len(self.store.forms))

    @cached_property
    def shape(self) -> tuple[int, int]:
        return sum(self.block_rows()), self.store.layout.n_features

    def block_rows(self) -> list[int]:
        """Return the number of rows in each block."""
        pairs = zip(self.kept, self.store.forms, strict=True)
        return [form.n_rows if kept is None else kept.size for kept, form in pairs]

    def __getitem__(self, mask: np.ndarray) -> StoredRows:
        """Return the rows where the bool array ``mask`` of shape (n_rows,) is true."""
        if not isinstance(mask, np.ndarray) or (mask.dtype, mask.shape) != (bool, self.shape[:1]):
            raise TypeError("rows of a store are taken by a mask of bool, one for each row")
        kept, begin = [], 0
        for known, n in zip(self.kept, self.block_rows(), strict=True):
            places = np.arange(n) if known is None else known
            kept.append(places[mask[begin : begin + n]])
            begin += n
        return StoredRows(self.store, tuple(kept))

    @contextmanager
    def block(self, index: int) -> Iterator[CodedRows]:
        """Lend the rows of a block, read only."""
        with self.store.block(index) as (_, _, rows):
            kept = self.kept[index]
            if kept is not None:
                rows = rows[kept]
                for cells in (rows.numeric, rows.codes):
                    cells.setflags(write=False)
            yield rows

    def pieces(self) -> Iterator[CodedRows]:
        """Yield the rows of one block after the other, each lent until the next is asked for."""
        for index in range(len(self.kept)):
            with self.block(index) as rows:
                yield rows

    def blocks(self, y: np.ndarray, path: LinePath, row_norm: float) -> list[CodedBlock]:
        """Return the blocks of a table; ``y`` float64 of shape (n_rows,)."""
        blocks, begin = [], 0
        for index, n in enumerate(self.block_rows()):
            labels = y[begin : begin + n]
            whole, kept = None, self.kept[index]
            if kept is not None:
                whole = (partial(StoredRows(self.store).block, index), kept)
            lend = partial(self.block, index)
            blocks.append(CodedBlock(lend, labels, path, row_norm, whole))
            begin += n
        return blocks
