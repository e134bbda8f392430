"""The journal beside a results file: every fit is kept when it is done, so that a comparison that
was interrupted goes on where it ended. It is removed when the results file is written."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Any

from dpcore.errors import DataError, DpcoreError, InvalidInputError
from dpcore_lab.compare.agreement import refuse_other
from dpcore_lab.compare.results import with_new_names

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

__all__ = ["Journal", "check_finished", "journal_path", "open_journal"]

_FORMAT = "dpcore comparison journal 1"
_START = json.dumps({"format": _FORMAT})[:-1].encode("ascii")
_CELL = ("data", "fold", "algorithm", "epsilon", "repeat")

Key = tuple[Any, ...]


def journal_path(out: str | os.PathLike[str]) -> Path:
    """Return the path of a results file's journal."""
    return Path(f"{os.fspath(out)}.journal")


def check_finished(out: str | os.PathLike[str]) -> None:
    """Raise DataError for a results file that is not there yet, while its journal is."""
    journal = journal_path(out)
    if journal.exists() and not os.path.exists(out):
        raise DataError(
            f"{os.fspath(out)!r} is not written yet: {os.fspath(journal)!r} holds an unfinished "
            "comparison. The same dpcore compare command finishes it."
        )


class Journal:
    """The fits of a comparison that are done.

    Parameters
    ----------
    path : of the file. ``None`` to keep the fits in memory alone.
    file : the locked file, unbuffered, to write at its end.
    key : the secret of the folds, of the first run.
    rows : the fits that are done, by cell.
    """

    def __init__(
        self,
        key: bytes,
        rows: dict[Key, dict[str, Any]] | None = None,
        path: Path | None = None,
        file: FileIO | None = None,
    ) -> None:
        self.key, self.rows = key, {} if rows is None else rows
        self._path, self._file = path, file

    def append(self, row: dict[str, Any]) -> None:
        """Keep a row; another of the same fit is forgotten.

        Raises DpcoreError if it cannot be written.
        """
        if self._file is not None and self._path is not None:
            _write(self._file, self._path, row)
        self.rows[cell_of(row)] = row

    def close(self) -> None:
        """Let another run go on with the file."""
        if self._file is not None:
            self._file.close()

    def remove(self) -> None:
        """Remove the file while it is locked, so that no other run goes on with it, and close."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        self.close()


def cell_of(row: Mapping[str, Any]) -> Key:
    """Return what tells a row's fit from the others of a comparison."""
    return tuple(row[name] for name in _CELL)


def open_journal(
    out: str | os.PathLike[str],
    settings: Mapping[str, Any],
    sources: Mapping[str, Any],
    key: bytes,
) -> Journal:
    """Return the journal of a results file, as an earlier run left it or new with ``key``.

    The file is readable by its owner only: the key tells which private rows are in which fold.
    It is locked before it is read. ``sources`` : the state of each private file, to find that it
    was changed in between.

    Raises InvalidInputError for one of other settings or files, or that another run has, DataError
    for no journal at all, DpcoreError where it cannot be written.
    """
    path = journal_path(out)
    file = _open_alone(path)
    try:
        content = file.readall()
        if _is_begun(content):
            file.truncate(0)
            header = {"format": _FORMAT, "settings": settings, "sources": sources, "key": key.hex()}
            _write(file, path, header)
            return Journal(key, path=path, file=file)
        return _resume(path, file, content, settings, sources)
    except BaseException:
        file.close()
        raise


def _open_alone(path: Path) -> FileIO:
    """Return the file, to read and to write at its end, locked until it is closed or the process
    ends.

    Raises InvalidInputError while another run has it. (Windows and some network file systems have
    no such lock.)
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    file = FileIO(descriptor, "r+")
    if fcntl is None:
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_removed = os.fstat(descriptor).st_nlink == 0
    except BlockingIOError:
        file.close()
        raise InvalidInputError(
            f"Another run is writing {os.fspath(path)!r}. Wait for it, or choose another --out."
        ) from None
    except OSError:
        return file
    if is_removed:
        file.close()
        raise InvalidInputError(
            f"Another run finished with {os.fspath(path)!r} just now; give the command again."
        )
    return file


def _is_begun(content: bytes) -> bool:
    """Return whether this is nothing, or part of a header: what a run leaves that is stopped, or
    finds the disk full, as it begins."""
    return b"\n" not in content and content[: len(_START)] == _START[: len(content)]


def _write(file: FileIO, path: Path, entry: Mapping[str, Any]) -> None:
    """Add a line. A later run cuts off a line that is not whole."""
    line = f"{json.dumps(entry, allow_nan=False)}\n".encode("ascii")
    try:
        while line:
            line = line[file.write(line) :]
    except OSError as error:
        raise DpcoreError(
            f"Cannot write {os.fspath(path)!r}: {error.strerror}. It keeps the fits that were "
            "done; the same command goes on."
        ) from error


def _resume(
    path: Path,
    file: FileIO,
    content: bytes,
    settings: Mapping[str, Any],
    sources: Mapping[str, Any],
) -> Journal:
    # A run that was killed may have left part of a line.
    whole = content[: content.rfind(b"\n") + 1]
    try:
        header, *rows = map(json.loads, whole.splitlines())
        found = {cell_of(row): with_new_names(row) for row in rows}
        known, key = header["settings"], bytes.fromhex(header["key"])
        right = header["format"] == _FORMAT and isinstance(header["sources"], dict)
    except (ValueError, KeyError, TypeError, RecursionError):
        right = False
    if not right:
        raise DataError(f"{os.fspath(path)!r} is no journal of a comparison; remove it.")
    refuse_other(os.fspath(path), known, settings)
    changed = [name for name in sources if header["sources"].get(name) != sources[name]]
    if changed:
        raise InvalidInputError(
            f"{changed[0]!r} was changed since {os.fspath(path)!r} was begun. Remove the journal "
            "to begin anew."
        )
    file.truncate(len(whole))
    return Journal(key, found, path, file)
