"""The blocks of a store: cells are looked at where they lie, and let go of after each look."""

from __future__ import annotations

import mmap
import os
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from dpcore.errors import DataError
from dpcore_tables.coded.rows import CodedLayout, CodedRows
from dpcore_tables.store.format import PAGE, BlockForm

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["StoreFile"]

_AROUND = max(2**16, mmap.PAGESIZE)
"""Bytes that Linux maps at once, by default, around a byte that is looked at."""


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
        self.block_rows = [form.n_rows for form in forms]
        self._forms = forms
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
        begin, size = int(self._starts[index]), self._forms[index].size
        content = self._bytes[begin : begin + size]
        y, numeric, codes = self._forms[index].parts(content)
        try:
            yield content, y, CodedRows(self.layout, numeric, codes)
        finally:
            if hasattr(mmap, "MADV_DONTNEED"):
                start = begin - begin % _AROUND
                end = min(-(-(begin + size) // _AROUND) * _AROUND, self._bytes.size)
                self._map.madvise(mmap.MADV_DONTNEED, start, end - start)
        self._require_unchanged()

    def _require_unchanged(self) -> None:
        before, now = self._stamp, os.fstat(self._file)
        same = (before.st_size, before.st_mtime_ns) == (now.st_size, now.st_mtime_ns)
        # The last time of change cannot be set back; it changes too where another store takes this
        # one's name, which is no change of this one.
        if not same or (now.st_nlink > 0 and before.st_ctime_ns != now.st_ctime_ns):
            raise DataError(f"{self._path}: the store was changed while it was in use.")
