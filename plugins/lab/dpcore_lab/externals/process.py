"""A process whose time and memory are capped, with all that it starts."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from dpcore.errors import InvalidInputError

__all__ = ["CAPPED", "FAILED", "FINISHED", "Caps", "Ended", "run_capped"]

FINISHED, FAILED, CAPPED = "finished", "failed", "capped"
LOGS = "DPCORE_EXTERNAL_LOGS"
"""The variable that names a folder in which whatever externals print is kept."""
_EVERY = 0.1
"""Seconds between two looks at the memory: what is taken and given back in between is not seen."""
_GIB = 2.0**30
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "SYSTEMROOT")
_OF_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Caps:
    """The most that a process may take: ``seconds`` by the clock, and ``gib`` of resident memory,
    2^30 bytes each, of it and all that it started. Raises InvalidInputError for less than none."""

    seconds: float = 600.0
    gib: float = 4.0

    def __post_init__(self) -> None:
        for name, value in (("seconds", self.seconds), ("GiB", self.gib)):
            if not 0.0 < value < float("inf"):
                raise InvalidInputError(f"Expected a cap of {name}={value!r} > 0.")


@dataclass(frozen=True)
class Ended:
    """The end of a process: ``status``, a message that holds nothing it printed, seconds by the
    clock and of its processors, and the most memory that was seen, in bytes."""

    status: str
    message: str
    seconds: float
    cpu_seconds: float
    memory: int


def run_capped(
    command: Sequence[str], folder: Path, caps: Caps, threads: int | None = None
) -> Ended:
    """Run a command in a folder until it ends or reaches a cap, and end all that it started.

    Its output is thrown away, as it may hold rows, or kept in the folder that the variable
    ``DPCORE_EXTERNAL_LOGS`` names, readable by its owner only. ``threads`` : that its libraries are
    told to use. Of this process's environment it has what finds programs and libraries alone.
    """
    started = time.perf_counter()
    with _log() as (log, where):
        try:
            process = subprocess.Popen(
                [*command],
                cwd=folder,
                env=_environment(folder, threads),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,  # Not a session: it shares the priority of the caller's.
            )
        except OSError as error:
            return Ended(FAILED, f"cannot be started: {error.strerror}.", 0.0, 0.0, 0)
        watched = _Watched(process.pid)
        try:
            over = _watch(process, watched, caps, started)
        finally:
            _end_all(process, watched)
    seconds = time.perf_counter() - started
    status, message = (CAPPED, over) if over else _told(process.returncode, where)
    return Ended(status, message, seconds, watched.cpu_seconds, watched.memory)


class _Watched:
    """A process and all that it started: the most memory seen, and seconds of processors."""

    def __init__(self, pid: int) -> None:
        self.memory = 0
        self.known: dict[int, psutil.Process] = {}
        self._cpu: dict[int, float] = {}
        with suppress(psutil.Error):
            self.known[pid] = psutil.Process(pid)

    @property
    def cpu_seconds(self) -> float:
        return sum(self._cpu.values())

    def look(self) -> int:
        """Return the bytes that are resident now; a page that two processes share counts twice."""
        for process in tuple(self.known.values()):
            with suppress(psutil.Error):
                self.known |= {child.pid: child for child in process.children(recursive=True)}
        resident = 0
        for process in self.known.values():
            with suppress(psutil.Error):
                resident += process.memory_info().rss
                times = process.cpu_times()
                self._cpu[process.pid] = times.user + times.system
        self.memory = max(self.memory, resident)
        return resident


def _watch(process: subprocess.Popen[bytes], watched: _Watched, caps: Caps, started: float) -> str:
    """Wait until the process ends, and return an empty text, or which cap it reached."""
    while True:
        if watched.look() > caps.gib * _GIB:
            return f"stopped at its cap of {caps.gib:g} GiB of memory."
        left = caps.seconds - (time.perf_counter() - started)
        if left <= 0:
            return f"stopped at its cap of {caps.seconds:g} seconds."
        with suppress(subprocess.TimeoutExpired):
            process.wait(min(_EVERY, left))
            return ""


def _end_all(process: subprocess.Popen[bytes], watched: _Watched) -> None:
    """End the process and all that it started, whether or not it has ended itself."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    for each in watched.known.values():
        with suppress(psutil.Error):  # By pid and start: no other that has its number now.
            each.kill()
    process.wait()


def _told(code: int, where: Path | None) -> tuple[str, str]:
    """Return status and message of an exit code."""
    if code == 0:
        return FINISHED, ""
    printed = f"{LOGS}=FOLDER keeps what it prints" if where is None else f"its output: {where}"
    how = f"exit status {code}" if code > 0 else f"signal {-code}"
    return FAILED, f"ended with {how}; {printed}, which may hold rows."


def _environment(folder: Path, threads: int | None) -> dict[str, str]:
    """Return the variables of the process: its home and its temporary files are in the folder."""
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    passed |= {name: v for name, v in os.environ.items() if name.startswith("OPENBLAS_")}
    passed |= {name: str(folder) for name in ("HOME", "TMPDIR", "TEMP", "TMP")}
    return passed | (dict.fromkeys(_OF_THREADS, str(threads)) if threads else {})


@contextmanager
def _log() -> Iterator[tuple[int, Path | None]]:
    """Lend where output goes, and its path where it is kept."""
    kept = os.environ.get(LOGS)
    if not kept:
        yield subprocess.DEVNULL, None
        return
    path = Path(kept) / f"external-{os.getpid()}-{time.time_ns()}.log"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        yield descriptor, path
    finally:
        os.close(descriptor)
