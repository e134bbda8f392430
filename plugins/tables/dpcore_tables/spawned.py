"""Processes started afresh, on one thread each, gone when their parent is."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["ONE_THREAD", "spawned"]

ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)
"""Variables of the environment, read as libraries are loaded, that keep them to one thread."""


@contextmanager
def spawned(jobs: int, prepare: Callable[..., None], *values: Any) -> Iterator[ProcessPoolExecutor]:
    """Yield ``jobs`` processes. Each one begins with ``prepare(*values)``, once it is said how many
    threads there are to be.

    Where the block ends by an exception, an interrupt among them, the processes end at once.
    """
    # Spawned, never forked: a child has none of its parent's threads, sessions or entropy.
    context = multiprocessing.get_context("spawn")
    life, ours = context.Pipe(duplex=False)
    # In bytes, since modules that they name are loaded with them.
    asked = pickle.dumps((prepare, values))
    pool = ProcessPoolExecutor(jobs, context, initializer=_begin, initargs=(life, asked))
    try:
        yield pool
        pool.shutdown()
    finally:
        ours.close()
        pool.shutdown(cancel_futures=True)
        life.close()


def _begin(life: Connection, asked: bytes) -> None:
    """Prepare a new process. It ends when nobody holds the other end of ``life``."""
    # The parent alone answers an interrupt, which a terminal sends to all.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, args=(life,), daemon=True).start()
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    prepare, values = pickle.loads(asked)
    prepare(*values)


def _follow(life: Connection) -> None:
    """End with the parent, however that ended, or when it gives the work up: a queue would be
    waited at for ever."""
    life.poll(None)  # Nothing is ever sent.
    os._exit(1)
