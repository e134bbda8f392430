"""Threads that stay and wait for work, since to start one takes as long as a short pass."""

from __future__ import annotations

import contextlib
import threading
import weakref
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Work = Callable[[], None]

__all__ = ["ThreadPool"]


class ThreadPool:
    """At most ``count`` threads, which end with this object.

    A bare queue wakes them: sooner than an executor would, whose futures nobody asks for here
    (``bench/two_threads.py`` prints both).
    """

    def __init__(self, count: int) -> None:
        self._count, self._started = count, 0
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        weakref.finalize(self, _dismiss, self._queue, count)

    def call(self, work: Work) -> None:
        """Have each thread that there is call ``work`` as soon as it is awake. ``work`` raises
        nothing, and may find that all is done."""
        with contextlib.suppress(RuntimeError):  # can't start new thread
            while self._started < self._count:
                arguments = (self._queue,)
                threading.Thread(target=_serve, args=arguments, name="dpcore", daemon=True).start()
                self._started += 1
        for _ in range(self._started):
            self._queue.put(work)


def _serve(queue: SimpleQueue[Work | None]) -> None:
    while (work := queue.get()) is not None:
        work()
        del work  # What it holds is not kept until the next comes.


def _dismiss(queue: SimpleQueue[Work | None], count: int) -> None:
    for _ in range(count):
        queue.put(None)
