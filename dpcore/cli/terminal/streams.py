"""Standard streams as the commands find them, always open; and requests to end, answered as Ctrl-C
is."""

import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dpcore.errors import visible

__all__ = ["ended_as_interrupted", "hush", "open_closed_streams", "tell_outlook", "was_told"]


def open_closed_streams() -> None:
    """Open each of the three streams that the caller closed (``2>&-``) to nowhere. Else the first
    file that is opened would take its number, and what is written to it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number
    sys.stdin = sys.stdin or open(os.devnull)
    sys.stdout = sys.stdout or open(os.devnull, "w")
    sys.stderr = sys.stderr or open(os.devnull, "w")


def hush(quiet: bool) -> None:
    """Print the library's own warnings (a kernel cache that cannot be used), or not."""
    logger = logging.getLogger("dpcore")
    logger.setLevel(logging.ERROR if quiet else logging.WARNING)
    if _ON_STDERR not in logger.handlers:
        logger.addHandler(_ON_STDERR)


def tell_outlook(quiet: bool) -> None:
    """Print what the library says of a run before it starts, beside its warnings, or neither."""
    hush(quiet)
    _ON_STDERR.told.clear()
    if not quiet:
        logging.getLogger("dpcore").setLevel(logging.INFO)


def was_told(sentence: str) -> bool:
    """Return whether the library said a sentence before the run."""
    return any(sentence in told for told in _ON_STDERR.told)


class _OnStderr(logging.Handler):
    """Prints to what standard error is at the time: beside a bar, above it."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(record.getMessage())
        print(visible(self.told[-1]), file=sys.stderr)


_ON_STDERR = _OnStderr()


@contextmanager
def ended_as_interrupted() -> Iterator[None]:
    """Let a request to end, or a terminal that is gone, clean up and tell as an interrupt does. One
    that is ignored, as under nohup, stays so."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    heard = [number for number in numbers if before[number] is not signal.SIG_IGN]
    for number in heard:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])
