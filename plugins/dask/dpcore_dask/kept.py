"""Files without a name, which are gone with whoever holds them, and how many may be open."""

from __future__ import annotations

import os
import tempfile
import weakref
from contextlib import suppress
from importlib.util import find_spec
from typing import Self

__all__ = ["KeptFile", "allow_files"]

_ZEROS = bytes(2**20)


class KeptFile:
    """An open file, closed when nobody holds it any more: a partition is let go of by Dask, which
    closes nothing."""

    def __init__(self, number: int) -> None:
        self.number = number
        weakref.finalize(self, os.close, number)

    @classmethod
    def new(cls, folder: str | None) -> Self:
        """Return an empty file without a name in a folder, or where temporary files are."""
        number, path = tempfile.mkstemp(prefix="dpcore-", dir=folder)
        os.unlink(path)
        return cls(number)

    @classmethod
    def of(cls, path: str) -> Self:
        """Return the file of that name, for reading: it stays when it has lost its name."""
        return cls(os.open(path, os.O_RDONLY | os.O_CLOEXEC))

    def claim(self, begin: int, size: int) -> None:
        """Have the disk hold so many bytes from there on, zeros so far; OSError where it is full.
        To write to a mapped page that a full disk lacks would end the process."""
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(self.number, begin, size)
            return
        end = begin + size  # macOS has no such call.
        while begin < end:
            begin += os.pwrite(self.number, _ZEROS[: end - begin], begin)

    def content(self) -> bytes:
        """Return all that the file holds."""
        size = os.fstat(self.number).st_size
        parts, begin = [], 0
        while begin < size:
            parts.append(os.pread(self.number, size - begin, begin))
            begin += len(parts[-1])
        return b"".join(parts)


def allow_files() -> None:
    """Let this process have as many files open as its system's hard limit says: a partition takes
    four, and the usual soft limit is that of 250 partitions."""
    if find_spec("resource") is None:
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        # Where a system refuses, the limit stays, and the partition above it is told.
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
