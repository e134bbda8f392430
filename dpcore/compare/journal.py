"""The journal beside a results file: every fit is kept when it is done, so that a comparison that
was interrupted goes on where it ended. It is removed when the results file is written."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from dpcore.compare.results import refuse_other
from dpcore.errors import DataError, InvalidInputError

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

__all__ = ["Journal", "check_finished", "journal_path", "open_journal"]

_FORMAT = "dpcore comparison journal 1"
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
    path : of the file, readable by its owner only: ``key`` tells which private rows stand in
        which fold. ``None`` to keep the fits in memory alone.
    key : the secret of the folds, of the first run.
    rows : the fits that are done, by cell.
    """

    def __init__(self, path: Path | None, key: bytes, rows: dict[Key, dict[str, Any]]) -> None:
        self.path, self.key, self.rows = path, key, rows
        self._file = None if path is None else _open_alone(path)

    def append(self, row: dict[str, Any]) -> None:
        """Keep a row; another of the same fit is forgotten."""
        if self._file is not None:
            self._file.write(f"{json.dumps(row, allow_nan=False)}\n".encode("ascii"))
            self._file.flush()
        self.rows[cell_of(row)] = row

    def close(self) -> None:
        """Let another run go on with the file."""
        if self._file is not None:
            self._file.close()

    def remove(self) -> None:
        self.close()
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _open_alone(path: Path) -> BinaryIO:
    """Return the file, to write at its end, locked until it is closed or the process ends.

    Raises InvalidInputError while another run has it. (Windows and some network file systems have
    no such lock.)
    """
    file = open(path, "ab")  # noqa: SIM115  (it is kept open)
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise InvalidInputError(
                f"Another run is writing {os.fspath(path)!r}. Wait for it, or choose another --out."
            ) from None
        except OSError:
            pass
    return file


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

    ``sources`` : the state of each private file, to find that it was changed in between.

    Raises InvalidInputError for one of other settings or files, DataError for no journal at all.
    """
    path = journal_path(out)
    if path.exists():
        return _resume(path, settings, sources)
    header = {"format": _FORMAT, "settings": settings, "sources": sources, "key": key.hex()}
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write((json.dumps(header) + "\n").encode("ascii"))
    return Journal(path, key, {})


def _resume(path: Path, settings: Mapping[str, Any], sources: Mapping[str, Any]) -> Journal:
    content = path.read_bytes()
    # A run that was killed may have left part of a line.
    whole = content[: content.rfind(b"\n") + 1]
    try:
        header, *rows = map(json.loads, whole.splitlines())
        found = {cell_of(row): row for row in rows}
        known, key = header["settings"], bytes.fromhex(header["key"])
        right = header["format"] == _FORMAT and isinstance(header["sources"], dict)
    except (ValueError, KeyError, TypeError):
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
    if len(whole) < len(content):
        os.truncate(path, len(whole))
    return Journal(path, key, found)
