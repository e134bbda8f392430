"""The bytes of a file that are read so far, told to whoever watches, who is the rows' owner."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO

__all__ = ["OnBytes", "note_position", "note_share", "watched"]

OnBytes = Callable[[str, int, int | None], None]
"""Gets path, bytes read, and bytes in all: ``None`` of a pipe, whose end nobody knows."""

_WATCH: ContextVar[OnBytes | None] = ContextVar("_WATCH", default=None)


@contextmanager
def watched(on_bytes: OnBytes) -> Iterator[None]:
    """Tell ``on_bytes`` of every piece that is read in the block, in the thread that reads it."""
    before = _WATCH.set(on_bytes)
    try:
        yield
    finally:
        _WATCH.reset(before)


def note_position(path: str, file: IO[bytes], taken: int) -> None:
    """Tell where an open file is read, a packed one in its packed bytes; of what has no place, how
    many bytes were ``taken`` from it."""
    on_bytes = _WATCH.get()
    if on_bytes is None:
        return
    done, total = taken, None
    try:
        number = file.fileno()
        state = os.fstat(number)
        if stat.S_ISREG(state.st_mode):
            done, total = os.lseek(number, 0, os.SEEK_CUR), state.st_size
    except (OSError, ValueError):
        pass
    on_bytes(path, done, total)


def note_share(path: str, files: Sequence[str], place: int, share: float) -> None:
    """Tell how much is read of several files, one after the other: all before ``place``, and a
    share of that one."""
    on_bytes = _WATCH.get()
    if on_bytes is None:
        return
    try:
        sizes = [os.path.getsize(name) for name in files[: place + 1]]
        total = sum(sizes) + sum(os.path.getsize(name) for name in files[place + 1 :])
    except OSError:  # Whoever opens it says what is wrong.
        return
    on_bytes(path, sum(sizes[:place]) + int(share * sizes[place]), total)
