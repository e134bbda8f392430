"""Runs that several processes share, each with fits of its own from the request."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import EngineError
from dpcore_tables.spawned import spawned

if TYPE_CHECKING:
    from dpcore_lab.audit.fits import Fits, Request
    from dpcore_lab.audit.two_world import Draw

__all__ = ["OnRuns", "drawing", "no_note"]

OnRuns = Callable[[int], None]
"""Takes note of so many more runs that were made."""

_PORTIONS = 4
"""Parts of a draw per process: the slowest is not waited for long."""

_fits: Fits | None = None


def no_note(runs: int) -> None:
    """Take no note."""


@contextmanager
def drawing(fits: Fits, jobs: int, on_runs: OnRuns = no_note) -> Iterator[Draw]:
    """Yield the draw of these fits, which ``jobs`` processes share; one is this process.
    ``on_runs`` is called after every run of this process, and after each part of another's."""
    if jobs == 1:
        yield functools.partial(_here, fits, on_runs)
        return
    with spawned(jobs, start, fits.request) as pool:

        def draw(pair: int, world: int, first: int, runs: int) -> np.ndarray:
            ends = np.linspace(0, runs, min(runs, _PORTIONS * jobs) + 1).astype(int)
            parts = [
                pool.submit(run, pair, world, first + int(a), int(b - a))
                for a, b in zip(ends, ends[1:], strict=False)
            ]
            return _noted((part.result() for part in parts), on_runs)

        try:
            yield draw
        except BrokenProcessPool as error:
            raise EngineError(
                "A process that made runs ended by itself, as one does that is out of memory. Run "
                "the audit again with fewer --jobs, or with none."
            ) from error


def _here(fits: Fits, on_runs: OnRuns, pair: int, world: int, first: int, runs: int) -> np.ndarray:
    return _noted((fits.draw(pair, world, first + k, 1) for k in range(runs)), on_runs)


def _noted(parts: Iterator[np.ndarray], on_runs: OnRuns) -> np.ndarray:
    """Return the parts put together, each told when it is there."""
    found = []
    for part in parts:
        found.append(part)
        on_runs(len(part))
    return np.concatenate(found)


def start(request: Request) -> None:
    """Prepare a new process: its fits."""
    global _fits
    from dpcore_lab.audit.fits import Fits

    _fits = Fits(request)


def run(pair: int, world: int, first: int, runs: int) -> np.ndarray:
    assert _fits is not None
    return _fits.draw(pair, world, first, runs)
