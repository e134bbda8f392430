"""Work in a process of its own that writes no file, reaches no network and starts no process.

A part that keeps an exact answer outside the session, in a global of its module or in a file, tells
it to the next run in the same process. Runs that are to be compared are therefore made in forked
children of a process that has made none. What they send back is checked by the caller.
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
import warnings
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["is_apart", "not_isolated", "run_apart"]

Result = TypeVar("Result")

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_FILES = "changes files"
_NETWORK = "reaches for the network"
_PROCESS = "starts another process"
_REFUSED = {
    **dict.fromkeys(("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link"), _FILES),
    **dict.fromkeys(("os.symlink", "os.truncate", "os.chmod", "sqlite3.connect"), _FILES),
    **dict.fromkeys(("socket.connect", "socket.bind", "socket.sendto"), _NETWORK),
    **dict.fromkeys(("socket.sendmsg", "socket.getaddrinfo"), _NETWORK),
    **dict.fromkeys(("subprocess.Popen", "os.system", "os.exec", "os.fork"), _PROCESS),
    **dict.fromkeys(("os.forkpty", "os.posix_spawn", "os.spawn"), _PROCESS),
}
"""Audit events of Python (``sys.addaudithook``) that no run has a use for."""


def is_apart() -> bool:
    """Return whether ``run_apart`` has a process: elsewhere than on Linux a forked child is not
    safe to compute in, or there is none."""
    return sys.platform == "linux"


def not_isolated() -> tuple[str, ...]:
    """Return clauses on what ``run_apart`` does not prevent on this platform."""
    if not is_apart():
        return ("what is kept in globals or written to files: there is no process apart here",)
    return (
        "files that compiled code writes by itself, or that were open before",
        "what a part kept in this process before the check",
    )


def run_apart(work: Callable[[], Result]) -> Result:
    """Return what ``work`` returns in a forked child, in an empty folder that is not writeable.

    Raises AssertionError where it writes or removes a file, reaches for the network or starts a
    process, whether or not it minds that this is refused, and for every assertion of its own. Any
    other error is raised by ``work`` itself, which is called once more here for that. Where there
    are no safe children ``work`` is called here, unguarded (``not_isolated``).
    """
    if not is_apart():
        return work()
    outcome, told = _in_a_child(work)
    if outcome == "returned":
        result: Result = told
        return result
    assert outcome != "refused", told
    work()
    raise AssertionError(f"It fails in a process of its own, and not here: {told}")


def _in_a_child(work: Callable[[], Any]) -> tuple[str, Any]:
    """Return how the work ended in a child, and its result or reason."""
    reading, writing = os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        with warnings.catch_warnings():
            # The idle threads of an engine hold no lock.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            _answer(work, folder, writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            sent = pipe.read()
        os.waitpid(child, 0)
    if not sent:
        return "failed", "the process ended without an answer."
    ended: tuple[str, Any] = pickle.loads(sent)
    return ended


def _answer(work: Callable[[], Any], folder: str, writing: int) -> None:
    """Do the work in the child, send how it ended, and end the child."""
    try:
        sent = _outcome(work, folder)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(sent)
    finally:
        os._exit(0)


def _outcome(work: Callable[[], Any], folder: str) -> bytes:
    sys.path[:] = [os.path.abspath(path) for path in sys.path]
    os.chmod(folder, 0o500)
    os.chdir(folder)
    faults = _refuse_all()
    try:
        ended: tuple[str, Any] = ("returned", work())
    except AssertionError as error:
        ended = ("refused", str(error))
    except BaseException as error:
        ended = ("failed", f"{type(error).__name__}: {error}")
    if faults:  # An error may have been caught on its way.
        ended = ("refused", faults[0])
    try:
        return pickle.dumps(ended)
    except Exception as error:
        return pickle.dumps(("failed", f"its result cannot be sent: {error}"))


def _refuse_all() -> list[str]:
    """Refuse from now on what no run has a use for; return the list of what was refused."""
    faults: list[str] = []
    sys.dont_write_bytecode = True

    def hook(event: str, args: tuple[Any, ...]) -> None:
        fault = _fault(event, args)
        if fault and not _is_kernel_cache():
            faults.append(f"A run {fault}: what it leaves there is outside the session.")
            raise PermissionError(faults[-1])

    sys.addaudithook(hook)
    return faults


def _fault(event: str, args: tuple[Any, ...]) -> str:
    if event == "open":
        path, _, flags = args
        named = isinstance(path, (str, bytes, os.PathLike)) and path != os.devnull
        return f"writes to {path!r}" if named and flags & _WRITES else ""
    return _REFUSED.get(event, "")


def _is_kernel_cache() -> bool:
    """Return whether Numba is storing a compiled kernel, which no row goes into."""
    frame: Any = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == "numba.core.caching":
            return True
        frame = frame.f_back
    return False
