"""Processes that share the fits: started afresh, one thread each, gone when their parent is.

Nothing heavy is imported before ``start`` has said how many threads there are to be.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TYPE_CHECKING, Any

from dpcore.errors import DpcoreError

if TYPE_CHECKING:
    from dpcore.compare.fitting import Fitter
    from dpcore.compare.settings import Cell, Comparison

__all__ = ["fit_in_processes"]

_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)
_AHEAD = 2
"""Fits handed out per process: enough that none waits for the next."""

_fitter: Fitter | None = None


def fit_in_processes(
    comparison: Comparison,
    cells: Iterable[Cell],
    key: bytes,
    jobs: int,
    on_row: Callable[[dict[str, Any]], None],
) -> None:
    """Make the fits in ``jobs`` processes and hand over each row when it is done.

    At an interrupt the fits that are under way are finished and handed over first. Raises
    DpcoreError if a process ended by itself.
    """
    left = iter(cells)
    # Spawned, never forked: a child has none of its parent's threads, sessions or entropy.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, initializer=start, initargs=(comparison, key))
    running: set[Future[dict[str, Any]]] = set()
    try:
        running |= {pool.submit(fit, cell) for cell in islice(left, _AHEAD * jobs)}
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                on_row(future.result())
                running.discard(future)
                running |= {pool.submit(fit, cell) for cell in islice(left, 1)}
    except KeyboardInterrupt:
        for future in wait({future for future in running if not future.cancel()}).done:
            on_row(future.result())
        raise
    except BrokenProcessPool as error:
        raise DpcoreError(
            "A process that was fitting ended by itself, perhaps for want of memory. Fits that "
            "were done are kept; go on with the same command, with fewer --jobs."
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def start(comparison: Comparison, key: bytes) -> None:
    """Prepare a new process for its fits."""
    global _fitter
    # The parent alone answers an interrupt, which a terminal sends to all.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    from dpcore.compare.fitting import Fitter

    _fitter = Fitter(comparison, key, threads=1)


def fit(cell: Cell) -> dict[str, Any]:
    assert _fitter is not None
    return _fitter.row(cell)


def _follow_parent() -> None:
    """End with the parent, however that ended: a queue would be waited at for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
