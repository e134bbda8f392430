"""The engine of one process: threads that share the blocks of a table."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcore.data.table import Block, Table
    from dpcore.protocols import Query

__all__ = ["LocalEngine", "available_threads"]


def available_threads() -> int:
    """Return the number of processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalEngine:
    """Sums the blocks' answers in int64 modulo 2^64, each block by one of the threads.

    Integers add up to the same bits whichever thread took a block. Kernels release the interpreter
    lock and start no thread of their own, so that no more run than asked for.

    Parameters
    ----------
    table : the rows.
    threads : at most so many at a time, the caller's included; ``None`` for all available.

    Raises InvalidInputError for less than one thread.
    """

    def __init__(self, table: Table, threads: int | None = None) -> None:
        if threads is None:
            threads = available_threads()
        if threads < 1:
            raise InvalidInputError(f"Expected threads={threads!r} to be at least 1.")
        self._table = table
        self._helpers = min(threads, len(table.blocks)) - 1
        self._pool: tuple[int, ThreadPoolExecutor] | None = None

    def answer(self, query: Query) -> np.ndarray:
        turns = _Turns(self._table.blocks)
        if self._helpers < 1:
            return query.start() + _sum(query, turns)
        shares = [self._executor().submit(_sum, query, turns) for _ in range(self._helpers)]
        try:
            total = query.start() + _sum(query, turns)
        finally:
            # Whatever happened, no thread is left at a block when the next question comes.
            turns.stop()
            wait(shares)
        for share in shares:
            total += share.result()
        return total

    def _executor(self) -> ThreadPoolExecutor:
        # A forked child has none of its parent's threads.
        if self._pool is None or self._pool[0] != os.getpid():
            self._pool = (os.getpid(), ThreadPoolExecutor(self._helpers, "dpcore"))
        return self._pool[1]


class _Turns:
    """Gives every block to one thread, once."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._left = iter(blocks)
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Block]:
        while True:
            with self._lock:
                block = next(self._left, None)
            if block is None:
                return
            yield block

    def stop(self) -> None:
        with self._lock:
            self._left = iter(())


def _sum(query: Query, turns: _Turns) -> np.ndarray:
    total = np.zeros_like(query.start())
    try:
        for block in turns:
            part = query.answer_block(block)
            if part.dtype != np.int64 or part.shape != total.shape:
                name = type(query).__name__
                raise TypeError(f"{name}.answer_block must return int64 of the shape of start().")
            total += part
    except BaseException:
        turns.stop()
        raise
    return total
