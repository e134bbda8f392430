"""A partition as its worker has it: blocks of a store, opened from a file by that worker.

Nothing here is sent anywhere but facts and sums: a partition that is asked of another worker goes
there as its recipe, and is opened there anew. A Parquet file is converted once by its worker, into
a store that has no name any more when it is used: its bytes are freed with the worker, however that
ends.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import threading
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.plugin.engines import (
    BadRows,
    DataError,
    Description,
    InvalidInputError,
    LocalEngine,
    Query,
    Schema,
    Table,
    convert,
    format_of,
    load_now,
    may_overlap,
    open_store,
)
from dpcore_dask.versions import require_versions

__all__ = ["Facts", "Partition", "Recipe"]

_BYTES_PER_ROW = 48
"""Of labels, norms, factors and margins; the cells stay in the store."""
_ALONE = threading.Lock()
"""Held while a query is answered whose class does not say that calls may overlap."""


@dataclass(frozen=True)
class Recipe:
    """All that a worker needs to open a partition; ``schema`` : ``None`` for a store's own;
    ``versions`` : of the packages that asked for it."""

    path: str
    schema: Schema | None
    bad_rows: BadRows
    versions: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Facts:
    """A partition's schema, its size, and the seal by which it is known again: a hash over its
    encoded rows and over its file's size and time."""

    schema: Schema
    n_rows: int
    rows_dropped: bool
    is_typed: bool
    seal: str


class Partition:
    """A partition that is opened where it is first asked, once in a process."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._lock = threading.Lock()
        self._open: tuple[Table, Facts, tuple[int, int]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Partition, (self._recipe,)

    def __sizeof__(self) -> int:
        opened = self._open
        return 1024 + (0 if opened is None else _BYTES_PER_ROW * opened[1].n_rows)

    def __repr__(self) -> str:
        return f"Partition({self._recipe.path!r})"

    def facts(self) -> Facts:
        """Return the facts of the partition; DataError where it cannot be read by its schema."""
        with self._lock:
            return self._opened()[1]

    def rehearse(self, query: Query) -> None:
        """Load what an answer needs; the rows are not asked. Raises KernelError."""
        with self._lock:
            none = self._opened()[0].without_rows()
        load_now(lambda: LocalEngine(none, threads=1).answer(query))

    def answer(self, query: Query, seal: str) -> np.ndarray:
        """Return the sum over the partition's rows, int64, without what ``query`` starts from.

        Raises DataError unless the partition is what had that seal, before the sum and after it.
        """
        with self._lock, nullcontext() if may_overlap(query) else _ALONE:
            table, facts, stamp = self._opened_again()
            self._require(facts.seal == seal and _stamp(self._recipe.path) == stamp)
            part = LocalEngine(table, threads=1).answer(query) - query.start()
            self._require(_stamp(self._recipe.path) == stamp)
        return np.asarray(part)

    def _require(self, same: bool) -> None:
        if not same:
            raise DataError(f"{self._recipe.path}: the partition was changed while it was in use.")

    def _opened_again(self) -> tuple[Table, Facts, tuple[int, int]]:
        """Return the partition, which another worker may have had open: what a reader says of a row
        of it now is not for whoever asks sums."""
        _stamp(self._recipe.path)
        try:
            return self._opened()
        except DataError:
            self._require(False)
            raise

    def _opened(self) -> tuple[Table, Facts, tuple[int, int]]:
        if self._open is None:
            require_versions(dict(self._recipe.versions))
            self._open = _open(self._recipe)
        return self._open


def _open(recipe: Recipe) -> tuple[Table, Facts, tuple[int, int]]:
    stamp = _stamp(recipe.path)
    if format_of(recipe.path) == "dpcore":
        X, y, description = open_store(recipe.path)
        _require_schema(recipe, description.schema)
    else:
        X, y, description = _converted(recipe)
    if _stamp(recipe.path) != stamp:
        raise DataError(f"{recipe.path}: the partition was changed while it was read.")
    schema = description.schema
    table = Table.from_matrix(
        X,
        y,
        row_norm=min(schema.row_norm, schema.raw_norm_bound),
        raw_norm_bound=schema.raw_norm_bound,
        capacity=schema.capacity,
    )
    seal = _seal(description, stamp)
    stated = description.n_rows, description.rows_dropped, description.is_typed
    return table, Facts(schema, *stated, seal), stamp


def _converted(recipe: Recipe) -> tuple[Any, np.ndarray, Description]:
    """Return the rows of a file in a private store (mode 0700), which no other can open by now."""
    if recipe.schema is None:
        raise InvalidInputError(
            f"{recipe.path} needs a schema of its public bounds and categories: --schema FILE."
        )
    folder = tempfile.mkdtemp(prefix="dpcore-", dir=_scratch())
    try:
        store = os.path.join(folder, "rows.dpcore")
        convert(recipe.path, store, recipe.schema, bad_rows=recipe.bad_rows)
        return open_store(store)
    finally:
        shutil.rmtree(folder)


def _scratch() -> str | None:
    """Return the worker's folder on a local disk, which Dask removes after it; ``None`` in a
    process that is no worker."""
    from distributed import get_worker

    try:
        return str(get_worker().local_directory)
    except ValueError:
        return None


def _require_schema(recipe: Recipe, own: Schema) -> None:
    asked = recipe.schema and recipe.schema.for_names([column.name for column in own.columns])
    if asked is not None and asked != own:
        raise InvalidInputError(
            f"{recipe.path} has a schema of its own, and this run's differs from it; leave the "
            "schema out, or convert the rows again."
        )


def _stamp(path: str) -> tuple[int, int]:
    """Return size and time of a file, the same on every machine that shares it."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise DataError(f"{path}: the partition is not there, or not any more.") from None
    except OSError as error:
        raise DataError(f"Cannot read {path!r}: {error.strerror}.") from None
    return found.st_size, found.st_mtime_ns


def _seal(description: Description, stamp: tuple[int, int]) -> str:
    held = [description.schema.to_dict(), description.n_rows, description.digests, stamp]
    return hashlib.sha256(json.dumps(held, sort_keys=True).encode("ascii")).hexdigest()
