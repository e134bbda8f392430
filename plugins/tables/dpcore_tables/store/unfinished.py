"""A store, or a folder of stores, that is not whole yet: under one name beside its own, locked.

The lock goes with the processes that hold it. Whoever finds the name without a lock has found the
rows that a killed conversion left, and removes them.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import BinaryIO

from dpcore.errors import InvalidInputError, replacing

__all__ = ["claimed_file", "claimed_folder", "hold_folder", "is_at", "partial_path"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_STORES = (".dpcore", ".dpcore.partial")


def partial_path(path: str) -> str:
    """Return the name of a store, or of a folder of stores, until it is whole."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.partial")


def claimed_file(path: str, unfinished: str) -> BinaryIO:
    """Return a new file of the name ``unfinished``, locked, that is to become ``path``.

    It is always made anew, readable by its owner only, so that the rows go nowhere else: not
    through a link, nor to whoever has an older file of the name open.
    Raises InvalidInputError while another process writes it, OSError where it cannot be made.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    made = _claimed(path, unfinished, lambda: os.open(unfinished, flags, 0o600), fcntl.LOCK_EX)
    return os.fdopen(made, "w+b")


def claimed_folder(path: str, unfinished: str) -> int:
    """Return the descriptor of a new folder, as ``claimed_file`` returns a file. Its lock is
    shared by the processes that write into it (``hold_folder``)."""

    def make() -> int | None:
        os.mkdir(unfinished, 0o700)
        with suppress(FileNotFoundError):  # Taken by another process for an abandoned one.
            return os.open(unfinished, _FOLDER)
        return None

    return _claimed(path, unfinished, make, fcntl.LOCK_SH)


def hold_folder(unfinished: str, claimed: os.stat_result) -> None:
    """Lock a folder that another process has claimed, for as long as this process lives: nobody
    removes it then, or makes another of its name. Raises OSError if it is another already."""
    held = os.open(unfinished, _FOLDER)
    fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
    if not os.path.samestat(os.fstat(held), claimed):
        raise FileNotFoundError(errno.ENOENT, "the folder is gone", unfinished)


def is_at(descriptor: int, path: str) -> bool:
    """Return whether an open file or folder still has a name."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _claimed(path: str, unfinished: str, make: Callable[[], int | None], lock: int) -> int:
    while True:
        made = None
        with suppress(FileExistsError):
            made = make()
        if made is None:
            _remove_abandoned(path, unfinished, is_folder=lock == fcntl.LOCK_SH)
            continue
        with ExitStack() as held:
            held.callback(os.close, made)
            _lock(made, path, lock)
            if is_at(made, unfinished):
                held.pop_all()
                return made
            # Another process took it for an abandoned one: begin again.


def _remove_abandoned(path: str, unfinished: str, is_folder: bool) -> None:
    """Remove what an interrupted conversion left; InvalidInputError if one goes on."""
    found = None
    with suppress(FileNotFoundError):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        found = os.open(unfinished, flags)
    if found is None:
        return
    try:
        mode = os.fstat(found).st_mode
        if not (stat.S_ISDIR(mode) if is_folder else stat.S_ISREG(mode)):
            raise OSError(None, f"{unfinished} is in the way")
        _lock(found, path, fcntl.LOCK_EX)
        # Who holds the lock may remove it: it is not another process's new one.
        if is_at(found, unfinished):
            _remove(unfinished, is_folder)
    finally:
        os.close(found)


def _remove(unfinished: str, is_folder: bool) -> None:
    if not is_folder:
        os.unlink(unfinished)
    elif all(name.endswith(_STORES) for name in os.listdir(unfinished)):
        shutil.rmtree(unfinished)
    else:
        raise OSError(None, f"{unfinished} is in the way, and has more in it than stores")


def _lock(descriptor: int, path: str, lock: int) -> None:
    taken = InvalidInputError(f"{path!r} is being written by another process; wait for it to end.")
    with replacing(BlockingIOError, PermissionError, by=lambda _: taken):
        fcntl.flock(descriptor, lock | fcntl.LOCK_NB)
