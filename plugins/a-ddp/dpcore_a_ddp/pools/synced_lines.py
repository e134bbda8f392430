"""A file of JSON lines, each synced to the disk before anything is done that it speaks of."""

from __future__ import annotations

import fcntl
import json
import os
from typing import Any

from dpcore.errors import replacing
from dpcore.plugin import InvalidInputError

__all__ = ["SyncedLines"]


class SyncedLines:
    """Lines that are only appended, in a file that one process holds at a time.

    A line that an interruption cut short was never acted on, so it is cut off.

    Parameters
    ----------
    path : of the file, made if it is not there, readable by its owner only.
    held : the error for a file that another process holds.
    """

    def __init__(self, path: str | os.PathLike[str], held: InvalidInputError) -> None:
        self.path = os.fspath(path)
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            with replacing(BlockingIOError, by=lambda _: held):
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.lines = self._read()
        except BaseException:
            self.close()
            raise

    def append(self, entry: dict[str, Any]) -> None:
        """Write a line and sync it. Raises OSError where it cannot be written."""
        line = (json.dumps(entry) + "\n").encode("ascii")
        if os.write(self._fd, line) != len(line):
            raise OSError(f"{self.path!r} could not be written.")
        os.fsync(self._fd)

    def sync_folder(self) -> None:
        """Sync the folder's entry of the file."""
        folder = os.open(os.path.dirname(os.path.abspath(self.path)), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        """Let another process have it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _read(self) -> list[bytes]:
        with open(self.path, "rb") as file:
            content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.ftruncate(self._fd, whole)
        return content[:whole].splitlines()
