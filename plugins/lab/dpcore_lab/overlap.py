"""Calls that overlap, as those of an engine's threads do."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from dpcore.plugin.parts import PrivacyStatement

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

__all__ = ["run_between_lines", "run_overlapping"]

_MOST_LINES = 40
_OTHERS = ("numpy", "numba", "scipy", "threading")
_WAIT = 0.05
"""Seconds for a call that waits for a lock, which the line that it comes between may hold."""


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


def run_between_lines(work: Callable[[], None], other: Callable[[], None]) -> None:
    """Call ``work`` once, and in another thread ``other`` before each of the first forty lines of
    Python in it that are not dpcore's. So how calls overlap depends on no chance, and on no
    load."""
    lines, running = 0, []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in _OTHERS or PrivacyStatement.is_ours(module):
            return None
        if event == "line" and lines < _MOST_LINES:
            lines += 1
            thread = threading.Thread(target=other)
            running.append(thread)
            thread.start()
            thread.join(_WAIT)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        for thread in running:
            thread.join()
