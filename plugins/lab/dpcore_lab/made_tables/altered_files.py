"""Files that are read in place of others: the same rows in another order, or few of them."""

from __future__ import annotations

import builtins
import gzip
import io
import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["ALTERATIONS", "ReadFiles", "alter"]

_NO_ROWS = tuple(".py .pyc .so .nbi .nbc .toml .json .yaml .yml .ini .cfg .md .names".split())
"""Code, kernels and what is public of rows."""
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_open = io.open


def _in_another_order(n: int) -> np.ndarray:
    return np.random.default_rng(n).permutation(n)


def _one_row(n: int) -> np.ndarray:
    return np.arange(n)[n // 2 : n // 2 + 1]


def _a_few_rows(n: int) -> np.ndarray:
    return np.arange(n)[n // 3 : n // 3 + max(2, n // 50)]


ALTERATIONS: Mapping[str, Callable[[int], np.ndarray]] = {
    "in another order": _in_another_order,
    "a few of them": _a_few_rows,
    "one of them": _one_row,
}
"""Places of the rows that are kept, of so many."""


class ReadFiles:
    """The files that a process opens to read from now on, and others that it reads in their place.

    It lasts as long as the process, which has to be one of its own. Files that are opened by
    compiled code, and not by Python's ``open`` or NumPy, are neither seen nor replaced.

    ``instead`` : real paths to the paths of what is read instead.
    """

    def __init__(self, instead: Mapping[str, str] | None = None) -> None:
        self.instead = instead or {}
        self.opened: dict[str, None] = {}
        self.replaced: set[str] = set()
        sys.addaudithook(self._note)
        builtins.open = io.open = self._open
        # NumPy's readers of text look their opener up in a table, filled when it was imported.
        openers = getattr(getattr(np.lib, "_datasource", None), "_file_openers", None)
        if openers is not None and openers[None] is _open:
            openers._file_openers[None] = self._open

    def _note(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(args[0], str) and not args[2] & _WRITES:
            self.opened[os.path.realpath(args[0])] = None

    def _open(self, file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if isinstance(file, (str, os.PathLike)) and not set("wax+") & set(mode):
            path = os.path.realpath(os.fspath(file))
            if path in self.instead:
                self.replaced.add(path)
                file = self.instead[path]
        return _open(file, mode, *rest, **named)

    @property
    def read(self) -> tuple[str, ...]:
        """The files that may hold rows, in the order in which they were opened."""
        return tuple(path for path in self.opened if _may_hold_rows(path))


def _may_hold_rows(path: str) -> bool:
    system = path.startswith(("/dev/", "/proc/", "/sys/"))
    return not (system or path.endswith(_NO_ROWS)) and os.path.isfile(path)


def alter(path: str, folder: Path, places: Callable[[int], np.ndarray]) -> str | None:
    """Return the path of a copy in ``folder`` with the rows at ``places``; ``None`` for a file
    whose rows are not lines, nor those of NumPy's arrays.

    The first line stays, since it may be a header.
    """
    copy = folder / os.path.basename(path)
    try:
        if path.endswith((".npy", ".npz")):
            _alter_arrays(path, copy, places)
        elif path.endswith(".gz"):
            with gzip.open(path) as packed:
                text = _some_lines(packed.read(), places)
            with gzip.open(copy, "wb", compresslevel=1) as out:
                out.write(text)
        else:
            with _open(path, "rb") as plain:
                text = _some_lines(plain.read(), places)
            copy.write_bytes(text)
    except (OSError, ValueError):
        return None
    return str(copy)


def _some_lines(text: bytes, places: Callable[[int], np.ndarray]) -> bytes:
    if b"\0" in text[:4096]:
        raise ValueError("no lines of text")
    first, *lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        raise ValueError("no rows")
    if not lines[-1].endswith(b"\n"):
        lines[-1] += b"\n"
    return b"".join([first, *(lines[i] for i in places(len(lines)))])


def _alter_arrays(path: str, copy: Path, places: Callable[[int], np.ndarray]) -> None:
    """Write the arrays with some of their rows; all that have as many as the longest."""
    held = np.load(path, allow_pickle=False)
    if isinstance(held, np.ndarray):
        np.save(copy, held[places(len(held))])
        return
    n = max(len(array) for array in held.values() if array.ndim)
    kept: dict[str, Any] = dict(held.items())
    for name, array in kept.items():
        if array.ndim and len(array) == n:
            kept[name] = array[places(n)]
    np.savez(copy, **kept)
