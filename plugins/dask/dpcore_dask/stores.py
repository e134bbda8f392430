"""Partitions on a worker's local disk, and the tables made of them.

A partition that is no store yet is written to one, in a folder of mode 0700; that store has no name
any more when it is used: its bytes are freed with the worker, however that ends.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from dpcore import Schema
from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import Dataset, Table
from dpcore_dask.kept import KeptFile
from dpcore_dask.partition import Facts, Opened, new_mmap_store, scratch
from dpcore_tables.store import Description, open_store, write_rows

__all__ = ["bounded_store", "opened_store", "private_store"]


Stored = tuple[Any, np.ndarray, Description]
"""Rows, labels and description of a store."""
_SCHEMAS: weakref.WeakValueDictionary[str, Schema] = weakref.WeakValueDictionary()


def private_store(write: Callable[[str], None]) -> tuple[Stored, KeptFile]:
    """Return the rows of a store that ``write`` writes to a path, and its file."""
    folder = tempfile.mkdtemp(prefix="dpcore-", dir=scratch())
    try:
        path = os.path.join(folder, "rows.dpcore")
        write(path)
        return open_store(path), KeptFile.of(path)
    finally:
        shutil.rmtree(folder)


def bounded_store(data: Dataset) -> tuple[Stored, KeptFile]:
    """Return rows whose units are bounded already as those of a store, and its file."""
    stated = data.rows_dropped, data.typed_by is not None
    return private_store(lambda path: write_rows([(data.X, data.y)], path, data.schema, *stated))


def opened_store(
    rows: Stored,
    stamp: Hashable,
    file: KeptFile | None = None,
    n_units: int | None = None,
) -> Opened:
    """Return the partition of a store's rows, labels and description. ``n_units`` : ``None`` where
    each row is one.

    Raises InvalidInputError for a store that was written with weights of its rows.
    """
    X, y, description = rows
    if description.weight:
        raise InvalidInputError(
            f"A store has weights {description.weight!r} of its rows, which only the engine local "
            "takes: convert the rows without --weight, or leave --engine out."
        )
    schema = _one_schema(description.schema)
    mmap_store = new_mmap_store(description.n_rows)
    table = Table.from_matrix(
        X,
        y,
        row_norm=min(schema.row_norm, schema.raw_norm_bound),
        raw_norm_bound=schema.raw_norm_bound,
        capacity=schema.capacity,
        keep=mmap_store.lay,
    )
    counted = description.n_rows if n_units is None else n_units
    stated = counted, description.rows_dropped, description.is_typed
    seal, of_rows = _seal(description, stamp), (description.read_by, description.claim)
    facts = Facts(schema, *stated, seal, False, *of_rows)
    return Opened(X, table, facts, stamp, mmap_store, file)


def _one_schema(schema: Schema) -> Schema:
    """Return a schema of the same content, one for all partitions of a process that have it."""
    return _SCHEMAS.setdefault(json.dumps(schema.to_dict(), sort_keys=True), schema)


def _seal(description: Description, stamp: Hashable) -> str:
    held = [description.schema.to_dict(), description.n_rows, description.digests, stamp]
    return hashlib.sha256(json.dumps(held, sort_keys=True).encode("ascii")).hexdigest()
