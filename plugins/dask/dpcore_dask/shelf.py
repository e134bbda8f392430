"""Arrays in a file without a name, which take memory only while they are looked at."""

from __future__ import annotations

import mmap
import os

import numpy as np

from dpcore.plugin.engines import EngineError
from dpcore_dask.kept import KeptFile

__all__ = ["Shelf"]

_LEAST, _MOST = 2**16, 2**26
"""Bytes by which the file grows: each time by twice as many as before."""


class Shelf:
    """Copies of arrays, mapped from a file that is gone with the process, however that ends."""

    def __init__(self, folder: str | None) -> None:
        self._file = KeptFile.new(folder)
        self._maps: list[tuple[mmap.mmap, int]] = []
        self._used, self._size = 0, 0

    def keep(self, array: np.ndarray) -> np.ndarray:
        """Return an array of the same type and content that is here, itself if it is; EngineError
        where the disk is full."""
        if array.size == 0 or self._has(array):
            return array
        if self._used + array.nbytes > self._size:
            self._grow(array.nbytes)
        held, _ = self._maps[-1]
        copy = np.frombuffer(held, array.dtype, array.size, self._used).reshape(array.shape)
        copy[...] = array
        self._used += -(-array.nbytes // 64) * 64
        copy.setflags(write=array.flags.writeable)  # Kernels are compiled for one or the other.
        return copy

    def release(self) -> None:
        """Give the memory of all arrays back to the system until they are looked at again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for held, _ in self._maps:
                held.madvise(mmap.MADV_DONTNEED)

    def _has(self, array: np.ndarray) -> bool:
        at = array.__array_interface__["data"][0]
        return any(begin <= at < begin + len(held) for held, begin in self._maps)

    def _grow(self, least: int) -> None:
        begin = os.fstat(self._file.number).st_size
        grown = min(_MOST, max(_LEAST, 2 * self._size, least))
        size = -(-max(least, grown) // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        try:
            # Claimed as a whole: to write to a mapped page that a full disk lacks ends a process.
            os.posix_fallocate(self._file.number, begin, size)
        except OSError as error:
            raise EngineError(
                f"A worker cannot write {size:,} bytes to its local disk ({error.strerror})."
            ) from None
        held = mmap.mmap(self._file.number, size, offset=begin)
        place = np.frombuffer(held, np.uint8).__array_interface__["data"][0]
        self._maps.append((held, place))
        self._used, self._size = 0, size
