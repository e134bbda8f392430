"""Progress of a command on standard error, for whoever runs it: a bar at a terminal, elsewhere a
line every ten seconds.

What is shown is public (releases, shares of a budget, fits, rounds) or is the owner's: bytes of a
file, which is read before any release. The time that remains follows from running time, which is
outside every guarantee.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dpcore.cli.terminal.streams import ended_as_interrupted
from dpcore.errors import visible

__all__ = ["FilesRead", "Step", "TimeLeft", "line_of"]

_LOOK_SECONDS, _LINE_SECONDS = 1.0, 10.0
_MEGABYTE = 1e6


@dataclass(frozen=True)
class Step:
    """How far a step of a command is.

    name : what is done. done, total : in one unit; ``total`` is ``None`` where nobody knows it.
    words : how far, in words.
    """

    name: str
    done: float
    total: float | None
    words: str

    ended_as_interrupted = staticmethod(ended_as_interrupted)

    @staticmethod
    @contextmanager
    def shown(look: Callable[[], Step | None], *, hidden: bool) -> Iterator[None]:
        """Show what ``look`` returns, now and then, from a thread that the work does not wait
        for."""
        if hidden:
            yield
        elif sys.stderr.isatty():
            with _bar(look):
                yield
        else:
            with _lines(look):
                yield

    @staticmethod
    def of_files(name: str) -> FilesRead:
        """Return what takes note of the bytes that are read of files, in ``on_bytes``, and has the
        step that they are, in ``look``."""
        return FilesRead(name)


class FilesRead:
    """The bytes read of a file, of a folder's files together. No row is counted: how many there are
    may be private, and lines on standard error may be kept where others read them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.step: Step | None = None

    def on_bytes(self, path: str, done: int, total: int | None) -> None:
        """Take note of the bytes read so far."""
        of_all = "" if total is None else f" of {total / _MEGABYTE:,.1f}"
        words = f"{done / _MEGABYTE:,.1f}{of_all} MB read"
        name = f"{self._name} {os.path.basename(os.path.normpath(path))}"
        self.step = Step(name, done, total, words)

    def look(self) -> Step | None:
        return self.step


Look = Callable[[], Step | None]


class TimeLeft:
    """The time that a step has still to go, at its speed since it was first looked at: what was
    done before, by an earlier run, says nothing of this one's speed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first: tuple[Step, float] | None = None

    def of(self, step: Step) -> str:
        """Return it in words, empty where nothing is known of it yet."""
        now = self._clock()
        if self._first is None or self._first[0].name != step.name:
            self._first = step, now
        first, since = self._first
        gone = step.done - first.done
        if step.total is None or gone <= 0 or step.done >= step.total:
            return ""
        return f"about {_in_words((now - since) * (step.total - step.done) / gone)} left"


def _in_words(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{max(1, whole)} s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {whole % 60} s"


def line_of(step: Step, left: str) -> str:
    """Return the plain line of a step."""
    return visible(f"dpcore: {step.name}: {step.words}{', ' if left else ''}{left}")


@contextmanager
def _lines(look: Look) -> Iterator[None]:
    """Print a line every ten seconds; a shorter command prints none."""
    left, ended, stream = TimeLeft(), threading.Event(), sys.stderr
    every = round(_LINE_SECONDS / _LOOK_SECONDS)

    def tell() -> None:
        looks = 0
        while not ended.wait(_LOOK_SECONDS):
            looks += 1
            if (step := look()) is not None:
                remaining = left.of(step)
                if looks % every == 0:
                    print(line_of(step, remaining), file=stream, flush=True)

    teller = threading.Thread(target=tell, name="dpcore-progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()


@contextmanager
def _bar(look: Look) -> Iterator[None]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    left = TimeLeft()

    class Bar(Progress):
        def get_renderables(self) -> Any:
            for task in self.tasks:
                if (step := look()) is not None:
                    task.total = step.total
                    self.update(
                        task.id,
                        description=visible(step.name),
                        completed=step.done,
                        words=visible(step.words),
                        left=left.of(step),
                    )
            return super().get_renderables()

    names = ("{task.description}", "{task.fields[words]}", "{task.fields[left]}")
    name, words, remaining = (TextColumn(text, markup=False) for text in names)
    bar = Bar(name, BarColumn(), words, remaining, console=Console(stderr=True), transient=True)
    bar.add_task("", total=None, words="", left="")
    with bar:
        yield
