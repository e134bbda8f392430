"""Standard streams as the commands find them: always open."""

from __future__ import annotations

import logging
import os
import sys

from dpcore.visible import visible

__all__ = ["hush", "open_closed_streams", "tell_outlook", "was_told"]


def open_closed_streams() -> None:
    """Open to nowhere each of the three that the caller closed (``2>&-``): Python has ``None`` in
    its place, and the first file that is opened would take its number and what is written to it."""
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
