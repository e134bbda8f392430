"""Arrays in a file without a name, which take memory only while they are looked at."""

from __future__ import annotations

import mmap

import numpy as np

from dpcore.errors import EngineError, replacing
from dpcore_dask.kept import KeptFile

__all__ = ["MmapStore"]

_LEAST = 2**16
"""The fewest bytes by which the file grows."""


class MmapStore:
    """Copies of arrays, mapped from a file that is gone with the process, however that ends.

    ``size`` : how many bytes are to be kept, as far as it is known. More may be: the file grows by
    as much again, since each part of it that is mapped is one more open file of the process.
    """

    def __init__(self, folder: str | None, size: int) -> None:
        self._file = KeptFile.new(folder)
        self._maps: list[tuple[mmap.mmap, np.ndarray]] = []
        self._used, self._end, self._size = 0, 0, max(size, _LEAST)

    def keep(self, array: np.ndarray) -> np.ndarray:
        """Return an array of the same type and content that is here, itself if it is; EngineError
        where the disk is full."""
        if array.size == 0 or self._has(array):
            return array
        if not self._maps or self._used + array.nbytes > self._maps[-1][1].size:
            self._grow(array.nbytes)
        _, place = self._maps[-1]
        # A view of the one array of the map: a store has tens of thousands of them.
        held = place[self._used : self._used + array.nbytes]
        copy = held.view(array.dtype).reshape(array.shape)
        copy[...] = array
        self._used += -(-array.nbytes // 64) * 64
        copy.setflags(write=array.flags.writeable)  # Kernels are compiled for one or the other.
        return copy

    def lay(self, array: np.ndarray) -> np.ndarray:
        """Return ``keep`` of an array, whose memory goes back to the system at once."""
        kept = self.keep(array)
        self.release()
        return kept

    def release(self) -> None:
        """Give the memory of all arrays back to the system until they are looked at again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for held, _ in self._maps:
                held.madvise(mmap.MADV_DONTNEED)

    def _has(self, array: np.ndarray) -> bool:
        return any(array.base is place for _, place in self._maps)

    def _grow(self, least: int) -> None:
        size = -(-max(least, self._size) // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY

        def full(error: OSError) -> EngineError:
            why = error.strerror
            return EngineError(f"A worker cannot keep a partition on its local disk ({why}).")

        with replacing(OSError, by=full):
            self._file.claim(self._end, size)
            held = mmap.mmap(self._file.number, size, offset=self._end)
        self._maps.append((held, np.frombuffer(held, np.uint8)))
        self._used, self._end = 0, self._end + size
