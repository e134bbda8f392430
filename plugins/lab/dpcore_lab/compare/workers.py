"""Processes that share the fits: of this module's own (``spawned``), or those of an engine.

Nothing heavy is imported here: a process is told how many threads there are to be first.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from dpcore.errors import DpcoreError, InvalidInputError
from dpcore_tables.spawned import spawned

if TYPE_CHECKING:
    from dpcore_lab.compare.fits import Fitter
    from dpcore_lab.compare.settings import Cell, Comparison

__all__ = ["fit_in_processes", "fit_on_engine"]

_AHEAD = 2
"""Groups of fits handed out per process: enough that none waits for the next."""

_TASKS = 64
"""Groups of fits handed out to an engine, whose number of processes is its own affair."""

_fitter: Fitter | None = None
_fitters: dict[bytes, Fitter] = {}
_one_at_a_time = threading.Lock()


def fit_in_processes(
    comparison: Comparison,
    groups: Iterable[Sequence[Cell]],
    key: bytes,
    jobs: int,
    on_row: Callable[[dict[str, Any]], None],
) -> None:
    """Make the fits, a group in one process, in ``jobs`` of them, and hand over its rows when it is
    done.

    At an interrupt the fits that are done are handed over, and those under way given up: the
    processes end at once. Raises DpcoreError if a process ended by itself or cannot be started.
    """
    try:
        with spawned(jobs, start, comparison, key) as pool:
            _hand_out(pool, fit, iter(groups), _AHEAD * jobs, on_row)
    except BrokenProcessPool as error:
        raise DpcoreError(
            "A process that was fitting ended by itself, perhaps for want of memory. Fits that "
            "were done are kept; go on with the same command, with fewer --jobs."
        ) from error
    except OSError as error:
        raise DpcoreError(
            f"Cannot start {jobs} processes: {error.strerror}. Fits that were done are kept; go on "
            "with the same command, with fewer --jobs."
        ) from error


def fit_on_engine(
    comparison: Comparison,
    groups: Iterable[Sequence[Cell]],
    key: bytes,
    asked: str,
    workers: int | None,
    on_row: Callable[[dict[str, Any]], None],
) -> None:
    """Make the fits as tasks in the processes of an engine, ``asked`` for as NAME or NAME:ADDRESS;
    they are handed over as ``fit_in_processes`` does. Each process reads the rows itself: it has
    the key of the folds, and is inside the trust boundary.

    Raises InvalidInputError for an engine that runs no tasks; what the engine raises.
    """
    from dpcore.plugin.parts import load_registry

    (name, _, address), registry = asked.partition(":"), load_registry()
    executor = registry.facts_of("engine", registry.load("engine", name)).executor
    if executor is None:
        raise InvalidInputError(
            f"The engine {asked} runs no fits as tasks: leave --engine out, and --jobs shares them "
            "among processes of this machine."
        )
    run = os.urandom(16)
    with executor(address or None, workers) as pool:
        _hand_out(pool, partial(fit_there, comparison, key, run), iter(groups), _TASKS, on_row)


def _hand_out(
    pool: Executor,
    task: Callable[[Sequence[Cell]], list[dict[str, Any]]],
    left: Iterator[Sequence[Cell]],
    at_once: int,
    on_row: Callable[[dict[str, Any]], None],
) -> None:
    running: set[Future[list[dict[str, Any]]]] = set()
    try:
        running |= {pool.submit(task, group) for group in islice(left, at_once)}
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                for row in future.result():
                    on_row(row)
                running.discard(future)
                running |= {pool.submit(task, group) for group in islice(left, 1)}
    except KeyboardInterrupt:
        for future in running:
            if future.done() and future.exception() is None:
                for row in future.result():
                    on_row(row)
        raise


def start(comparison: Comparison, key: bytes) -> None:
    """Prepare a new process for its fits."""
    global _fitter
    from dpcore_lab.compare.fits import Fitter

    _fitter = Fitter(comparison, key, threads=1)


def fit(group: Sequence[Cell]) -> list[dict[str, Any]]:
    assert _fitter is not None
    return list(_fitter.rows(group))


def fit_there(
    comparison: Comparison, key: bytes, run: bytes, group: Sequence[Cell]
) -> list[dict[str, Any]]:
    """Make the fits of a group in a process that is not this module's own, one group at a time.

    ``run`` : drawn afresh. The process may outlive the comparison, and the next one may have the
    same key of a seed with other settings, or with files that were changed.
    """
    from dpcore_lab.compare.fits import Fitter

    with _one_at_a_time:
        if run not in _fitters:
            _fitters.clear()  # Its rows too: of an earlier run.
            _fitters[run] = Fitter(comparison, key, threads=1)
        return list(_fitters[run].rows(group))
