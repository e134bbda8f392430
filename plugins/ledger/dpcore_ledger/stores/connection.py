"""A connection to a database that a process opens when it needs it."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

__all__ = ["Kept"]


class _Closes(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=_Closes)


class Kept(Generic[T]):
    """A connection, used by one thread at a time, and by the process that opened it: a child of it
    opens one of its own, since none survives a fork.

    Parameters
    ----------
    connect : opens it.
    """

    def __init__(self, connect: Callable[[], T]) -> None:
        self._connect = connect
        self._of_process: tuple[int, T] | None = None
        self._closing: weakref.finalize[..., Kept[T]] | None = None
        self._left: tuple[tuple[int, T], ...] = ()
        self._lock = threading.Lock()

    @contextmanager
    def lent(self, stays_open: bool) -> Iterator[T]:
        """Lend it, and close it unless it stays open. One that fails is closed, which undoes what
        it had begun."""
        with self._lock:
            try:
                yield self._opened()
            except BaseException:
                self.close()
                raise
            if not stays_open:
                self.close()

    def _opened(self) -> T:
        opened = self._of_process
        if opened is None or opened[0] != os.getpid():
            connection = self._connect()
            if opened is not None:
                # Closed here, it would take the locks, or end the session, of the parent.
                self._left = (*self._left, opened)
            self._of_process = opened = os.getpid(), connection
            # Dropped while open, it is closed; at the end of a process the process does that.
            self._closing = weakref.finalize(self, _close_in, *opened)
            self._closing.atexit = False
        return opened[1]

    def close(self) -> None:
        """Close it, if this process opened it."""
        opened, self._of_process = self._of_process, None
        if opened is None or self._closing is None:
            return
        if opened[0] != os.getpid():
            self._left = (*self._left, opened)
        self._closing()


def _close_in(process: int, connection: _Closes) -> None:
    """Close a connection, closed before perhaps, if this is the process that opened it."""
    if process == os.getpid():
        connection.close()
