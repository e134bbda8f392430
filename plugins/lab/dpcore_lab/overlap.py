"""Calls that overlap, as those of an engine's threads do."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["run_overlapping"]


def run_overlapping(work: Callable[[int], None], threads: int = 2) -> None:
    """Call ``work(0)``, ``work(1)``, ... in a thread each, with the interpreter going from one to
    another as often as it can, and return when all have ended. None begins before all can."""
    interval, ready = sys.getswitchinterval(), threading.Barrier(threads)

    def begin(k: int) -> None:
        ready.wait()
        work(k)

    sys.setswitchinterval(1e-6)
    try:
        running = [threading.Thread(target=begin, args=(k,)) for k in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
