"""Where rows are read from: a file, standard input, or the Parquet files of a folder."""

from __future__ import annotations

import glob
import os

from dpcore.errors import DataError, InvalidInputError

__all__ = [
    "STDIN",
    "is_there",
    "name_of",
    "parquet_files",
    "partition_files",
    "refuse_stdin",
    "refuse_stores",
]

STDIN = "-"
"""The name of standard input: delimited text, read once."""
_PARQUET = (".parquet", ".pq")
_STORE = ".dpcore"


def refuse_stdin(path: str) -> None:
    """Raise InvalidInputError for standard input, where rows are read more than once."""
    if path == STDIN:
        raise InvalidInputError("Standard input can be read once only; name a file.")


def is_there(path: str) -> bool:
    """Return whether rows can be looked for there: a file, a folder, a pattern that some files
    meet, standard input, or an address, whose reader says what is there."""
    return path == STDIN or "://" in path or os.path.exists(path) or bool(_matches(path))


def name_of(path: str) -> str:
    """Return what a run calls its rows: the file's name, of an address without the keys."""
    if "://" not in path or os.path.exists(path):
        return os.path.basename(path)
    base = path.partition("?")[0]
    scheme, _, place = base.partition("://")
    return os.path.basename(place.partition("/")[2] or place.rpartition("@")[2]) or scheme


def parquet_files(path: str) -> list[str]:
    """Return the Parquet files of a folder or of a pattern, in the order of their names, or the
    one file; DataError if there is none."""
    return _files(path, _PARQUET, "Parquet file (.parquet, .pq)")


def partition_files(path: str) -> list[str]:
    """Return the Parquet files, or the stores, of a folder or of a pattern, in the order of their
    names, or the one file. Raises DataError if there is none, or where rows would count twice: in
    files beside stores that were made of them, or in one file under two names."""
    kinds = (*_PARQUET, _STORE)
    if glob.has_magic(path) and not is_there(path):
        raise DataError(f"No such file: {path}.")
    found = _files(path, kinds, "Parquet file or store (.parquet, .pq, .dpcore)")
    if len({name.lower().endswith(_STORE) for name in found}) > 1:
        raise DataError(
            f"{path!r} has Parquet files and stores, and a row that is in both would count twice: "
            "name those of one kind by a pattern, such as 'folder/*.parquet'."
        )
    places = [(stat.st_dev, stat.st_ino) for stat in map(_stat, found) if stat is not None]
    if len(set(places)) < len(places):
        raise DataError(f"{path!r} has two names of one file, whose rows would count twice.")
    return found


def refuse_stores(path: str) -> None:
    """Raise InvalidInputError for several stores, or a folder that has no other rows: they are one
    table to an engine that reads files itself."""
    if os.path.isdir(path):
        found = [n.lower() for n in os.listdir(path) if n.lower().endswith((*_PARQUET, _STORE))]
    else:
        found = [] if os.path.exists(path) else _matches(path)
    if found and all(name.endswith(_STORE) for name in found):
        raise InvalidInputError(
            f"{path!r} names stores, and this engine takes one file of that kind: name it, or take "
            "--engine dask (engine='dask'), which sums over all of them."
        )


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:  # Whoever opens it says what is wrong.
        return None


def _files(path: str, suffixes: tuple[str, ...], sought: str) -> list[str]:
    if os.path.isdir(path):
        names = (n for n in os.listdir(path) if n.lower().endswith(suffixes))
        found = [os.path.join(path, name) for name in sorted(names)]
        if not found:
            raise DataError(f"The folder {path!r} has no {sought} in it.")
        return found
    if os.path.exists(path) or not (found := _matches(path)):
        return [path]
    return found


def _matches(path: str) -> list[str]:
    return sorted(glob.glob(path)) if glob.has_magic(path) else []
