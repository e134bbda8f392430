"""The engine of one process: threads that share the blocks of a table."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpcore.engines.thread_pool import ThreadPool
from dpcore.errors import AnswerError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.data.blocks.block import Block
    from dpcore.data.blocks.table import Table
    from dpcore.data.schema.schema import Schema
    from dpcore.noise.source import NoiseSource
    from dpcore.protocols import Query, TableQuery

__all__ = ["LocalEngine"]

_CELLS_PER_THREAD = 300_000
"""For fewer, two tenths of a millisecond or so, another thread takes longer to wake than it saves a
whole fit, though passes alone, one after the other, gain from fewer (``bench/two_threads.py``)."""


class LocalEngine:
    """Sums the blocks' answers in int64 modulo 2^64, each block by one of the threads.

    Integers add up to the same bits whichever thread took a block. Kernels release the interpreter
    lock and start no thread of their own, so that no more run than asked for. A query or a loss
    that does not declare ``thread_safe = True`` in its class is asked by one thread at a time.

    Parameters
    ----------
    table : the rows.
    threads : at most so many at a time, the caller's included; ``None`` for all available.

    Raises InvalidInputError for less than one thread.
    """

    def __init__(self, table: Table, threads: int | None = None) -> None:
        if threads is None:
            threads = self.available_threads()
        if threads < 1:
            raise InvalidInputError(f"Expected threads={threads!r} to be at least 1.")
        self._table = table
        worth = sum(block.n_cells for block in table.blocks) // _CELLS_PER_THREAD
        self._helpers = max(1, min(threads, len(table.blocks), worth)) - 1
        self._pool: tuple[int, ThreadPool] | None = None
        self._is_without_rows = False

    @classmethod
    def open(cls, source: Table, schema: Schema, threads: int | None) -> Self:
        return cls(source, threads=threads)

    @staticmethod
    def available_threads() -> int:
        """Return the number of processors that this process may run on.

        Examples
        --------
        >>> from dpcore.plugin.parts import LocalEngine
        >>> LocalEngine.available_threads() >= 1
        True
        """
        has_affinity = hasattr(os, "sched_getaffinity")
        return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1

    @staticmethod
    def may_overlap(query: Query) -> bool:
        """Return whether the query and its loss say that calls may overlap: in their own class,
        since a subclass may keep what its base does not."""
        parts = (query, getattr(query, "loss", None))
        return all(vars(type(p)).get("thread_safe") is True for p in parts if p is not None)

    def answer(self, query: Query) -> np.ndarray:
        shared = _Pass(query, self._table.blocks, self._is_without_rows)
        try:
            if self._helpers and self.may_overlap(query):
                self._threads().call(shared.work)
            total = query.start() + shared.own_part()
        finally:
            # Whatever happened, no thread is left at a block when the next question comes.
            shared.end()
        return np.asarray(total + shared.other_parts())

    def answer_table(self, query: TableQuery, noise: NoiseSource) -> np.ndarray:
        """Return the answer of a query that goes through the rows in an order of its own."""
        return query.answer_table(self._table, noise)

    def without_rows(self) -> LocalEngine:
        """Return an engine of one thread for a table of no rows in a block of the same form."""
        engine = LocalEngine(self._table.without_rows(), threads=1)
        engine._is_without_rows = True
        return engine

    def _threads(self) -> ThreadPool:
        # A forked child has none of its parent's threads.
        if self._pool is None or self._pool[0] != os.getpid():
            self._pool = (os.getpid(), ThreadPool(self._helpers))
        return self._pool[1]


class _Pass:
    """One query over all blocks: every block goes to one thread, once."""

    def __init__(self, query: Query, blocks: Sequence[Block], of_no_rows: bool = False) -> None:
        self._query, self._of_no_rows = query, of_no_rows
        self._left = iter(blocks)
        self._lock = threading.Lock()
        self._ended, self._busy = False, 0
        # Held until the last thread at a block lets go of it. A condition would wake the caller
        # while its lock is still taken, which then sleeps a second time.
        self._idle = threading.Lock()
        self._idle.acquire()
        self._parts: list[np.ndarray] = []
        self._error: BaseException | None = None

    @np.errstate(all="ignore")  # A warning, or an error in its place, would tell of a row.
    def own_part(self) -> np.ndarray:
        """Return the sum over the blocks that the calling thread takes."""
        total = np.zeros_like(self._query.start())
        while (block := self._next()) is not None:
            part = self._query.answer_block(block)
            self._require_steps(part, total)
            total += part
        return total

    def _require_steps(self, part: Any, total: np.ndarray) -> None:
        if isinstance(part, (np.ndarray, np.generic)):
            if part.dtype == np.int64 and part.shape == total.shape:
                return
            found = f"{part.dtype} of shape {part.shape}"
        else:
            found = f"a {type(part).__name__}"
        # What rows gave is theirs; what no rows gave is the query's.
        given = f" Of no rows it returned {found}." if self._of_no_rows else ""
        raise AnswerError(
            f"{type(self._query).__name__}.answer_block must return int64 of the shape of start(), "
            f"{total.shape}, in whole steps of the grid of its sensitivity.{given}"
        )

    def work(self) -> None:
        """Take blocks in another thread, as long as there are any."""
        with self._lock:
            if self._ended:
                return
            self._busy += 1
        try:
            self._parts.append(self.own_part())
        except BaseException as error:
            self._error = error
            self._left = iter(())
        with self._lock:
            self._busy -= 1
            last = self._ended and not self._busy
        if last:
            self._idle.release()

    def end(self) -> None:
        """Give out no further block, and return when no other thread holds one. An interrupt
        meanwhile is raised then."""
        interrupt: BaseException | None = None
        while True:
            try:
                with self._lock:
                    self._left, self._ended = iter(()), True
                    busy = self._busy
                if busy:
                    self._wait()
                break
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def other_parts(self) -> np.ndarray | int:
        """Return the sum over the blocks that other threads took, or raise what one raised."""
        if self._error is not None:
            raise self._error
        return sum(self._parts)

    def _wait(self) -> None:
        """Return when the last of the other threads has let go of its block."""
        self._idle.acquire()

    def _next(self) -> Block | None:
        with self._lock:
            return next(self._left, None)
