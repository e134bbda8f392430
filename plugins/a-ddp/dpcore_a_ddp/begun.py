"""A draw that another thread begins while this one goes on."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np

__all__ = ["begun"]


def begun(draw: Callable[[], np.ndarray], threads: int) -> Callable[[], np.ndarray]:
    """Return what waits for a draw that another thread has begun, or, of one thread, the draw."""
    return draw if threads < 2 else _executor(os.getpid()).submit(draw).result


@lru_cache(maxsize=1)
def _executor(process: int) -> ThreadPoolExecutor:
    """Return a thread that stays. ``process`` : its number; a forked child has none of it."""
    return ThreadPoolExecutor(1, "dpcore-users")
