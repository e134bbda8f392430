"""Runs that several processes share, each with fits of its own from the request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from dpcore.compare.spawned import spawned

if TYPE_CHECKING:
    from dpcore.audit.fits import Fits, Request
    from dpcore.audit.two_world import Draw

__all__ = ["drawing"]

_PORTIONS = 4
"""Parts of a draw per process: the slowest is not waited for long."""

_fits: Fits | None = None


@contextmanager
def drawing(fits: Fits, jobs: int) -> Iterator[Draw]:
    """Yield the draw of these fits, which ``jobs`` processes share; one is this process."""
    if jobs == 1:
        yield fits.draw
        return
    with spawned(jobs, start, fits.request) as pool:

        def draw(pair: int, world: int, first: int, runs: int) -> np.ndarray:
            ends = np.linspace(0, runs, min(runs, _PORTIONS * jobs) + 1).astype(int)
            parts = [
                pool.submit(run, pair, world, first + int(a), int(b - a))
                for a, b in zip(ends, ends[1:], strict=False)
            ]
            return np.concatenate([part.result() for part in parts])

        yield draw


def start(request: Request) -> None:
    """Prepare a new process: its fits."""
    global _fits
    from dpcore.audit.fits import Fits

    _fits = Fits(request)


def run(pair: int, world: int, first: int, runs: int) -> np.ndarray:
    assert _fits is not None
    return _fits.draw(pair, world, first, runs)
