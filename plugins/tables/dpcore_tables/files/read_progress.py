"""Progress of reading: bytes of files, told to whoever shows them, and never rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

__all__ = ["listener", "watched"]

OnBytes: TypeAlias = Callable[[str, int, int | None], None]
"""Gets path, bytes read, and bytes in all, as ``dpcore.data.loader.FileLoader`` says."""

_WATCH: ContextVar[OnBytes | None] = ContextVar("_WATCH", default=None)


@contextmanager
def watched(on_bytes: OnBytes) -> Iterator[None]:
    """Tell ``on_bytes`` of every piece that is read in the block, in the thread that reads it."""
    before = _WATCH.set(on_bytes)
    try:
        yield
    finally:
        _WATCH.reset(before)


def listener() -> OnBytes | None:
    """Return what is to be told of bytes read, ``None`` where nobody watches: for readers."""
    return _WATCH.get()
