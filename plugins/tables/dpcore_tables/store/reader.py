"""Opening a store: every byte is checked before its rows are handed out."""

from __future__ import annotations

import fcntl
import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from dpcore.errors import DataError, replacing
from dpcore.plugin import Problem
from dpcore_tables.cells.features import coded_layout
from dpcore_tables.cells.weights import no_weights
from dpcore_tables.store.format import PAGE, Description, check_header, digest
from dpcore_tables.store.rows import StoredRows
from dpcore_tables.store.store_file import StoreFile
from dpcore_tables.store.unfinished import partial_path

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin.columns import Label
    from dpcore_tables.coded.rows import CodedLayout, CodedRows

__all__ = ["are_labels", "open_store", "read_schema", "stored_rows"]


def open_store(path: str | os.PathLike[str]) -> tuple[StoredRows, np.ndarray, Description]:
    """Return the rows of a store (their cells stay in the file), the labels (float64 of shape
    (n_rows,), read only) and the description.

    Raises DataError for a file that is no store, of another version, cut short, altered anywhere,
    or still being written.
    """
    name = os.fspath(path)
    with _open(name) as file:
        return stored_rows(name, file)


def stored_rows(name: str, file: BinaryIO) -> tuple[StoredRows, np.ndarray, Description]:
    """Return what an open file holds, as ``open_store`` does; the file may be closed then.
    ``name`` : what errors call it."""
    description = _describe(name, file)
    layout = coded_layout(description.schema)
    forms = description.forms()
    store = StoreFile(name, file, layout, forms)
    y = np.empty(description.n_rows)
    firsts, weights = [np.empty(0, dtype=np.uint8)], [np.empty(0)]
    begin = 0
    for index, (expected, form) in enumerate(zip(description.digests, forms, strict=True)):
        with store.block(index) as (content, labels, rows):
            end = begin + labels.size
            firsts.append(form.firsts(content).copy())
            weights.append(form.weights(content).copy())
            if (
                digest(content) != expected
                or not _is_sound(labels, rows, layout, description.schema.label)
                or not _are_marks(firsts[-1], description.schema.rows_per_unit)
                or no_weights(weights[-1]).any()
            ):
                raise DataError(
                    f"{name}: the rows from {begin + 1} to {end} were altered; convert the file "
                    "again."
                )
            y[begin:end] = labels
            begin = end
    y.setflags(write=False)
    if description.of_blocks is not None:
        units = np.cumsum(np.concatenate(firsts), dtype=np.int64) - 1
        units.setflags(write=False)
        description = replace(description, units=units)
    if description.weight:
        of_rows = np.concatenate(weights)
        of_rows.setflags(write=False)
        description = replace(description, weights=of_rows)
    return StoredRows(store), y, description


def read_schema(path: str | os.PathLike[str]) -> Schema:
    """Return the schema of a store, without a look at its rows. Raises as ``open_store``."""
    name = os.fspath(path)
    with _open(name) as file:
        return _describe(name, file).schema


def _open(path: str) -> BinaryIO:
    if os.path.exists(path) and not os.path.isfile(path):
        raise DataError(f"Cannot read {path!r}: it is no file.")
    with replacing(OSError, ValueError, by=partial(_fault_of, path)):
        return open(path, "rb")


def _fault_of(path: str, error: Exception) -> DataError:
    if isinstance(error, FileNotFoundError):
        return DataError(f"{_absence(path)}.")
    reason = getattr(error, "strerror", None) or "not a path"
    return DataError(f"Cannot read {path!r}: {reason}.")


def _absence(path: str) -> str:
    """Return why there is no such file: a conversion goes on, was interrupted, or neither."""
    try:
        with open(partial_path(path), "rb") as partial:
            fcntl.flock(partial, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return f"No such file: {path}"
    except OSError:
        return f"{path}: the store is being written by another process; wait for it to end"
    return f"{path}: the store was not finished; convert the rows again"


def _describe(path: str, file: BinaryIO) -> Description:
    def read(begin: int, end: int) -> bytes:
        file.seek(begin)
        return file.read(end - begin)

    check_header(path, read(0, PAGE))
    return Description.from_tail(path, read, os.fstat(file.fileno()).st_size)


def _is_sound(y: np.ndarray, rows: CodedRows, layout: CodedLayout, label: Label) -> bool:
    """Return whether every cell may be in an encoded row: norms follow from that."""
    steps = np.ldexp(rows.numeric, Problem.FEATURE_BITS)
    # A comparison with NaN is false.
    numbers = (steps >= 0) & (steps <= 2.0**Problem.FEATURE_BITS) & (steps == np.trunc(steps))
    return bool(numbers.all() and are_labels(label, y).all()) and layout.holds(rows.codes)


def _are_marks(firsts: np.ndarray, most: int | None) -> bool:
    """Return whether each row begins a unit or does not, the first of the block does, as the rows
    of a unit are in one block, and no unit has more than ``most``."""
    sizes = np.diff(np.flatnonzero(np.append(firsts, 1)))
    is_bounded = most is None or bool((sizes <= most).all())
    return is_bounded and bool((firsts[:1] == 1).all() and (firsts <= 1).all())


def are_labels(column: Label, y: np.ndarray) -> np.ndarray:
    """Return which numbers are labels as rows hold them, bool."""
    if column.is_real:
        return np.asarray(np.abs(y) <= 1)
    return np.isin(y, column.labels_at(np.arange(column.n_classes)))
