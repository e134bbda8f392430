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
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from dpcore.plugin.engines import Description, Table, open_store
from dpcore_dask.kept import KeptFile
from dpcore_dask.partition import Facts, Opened, scratch

__all__ = ["opened_store", "private_store"]


def private_store(write: Callable[[str], None]) -> tuple[Any, np.ndarray, Description, KeptFile]:
    """Return the rows of a store that ``write`` writes to a path, and its file."""
    folder = tempfile.mkdtemp(prefix="dpcore-", dir=scratch())
    try:
        path = os.path.join(folder, "rows.dpcore")
        write(path)
        return *open_store(path), KeptFile.of(path)
    finally:
        shutil.rmtree(folder)


def opened_store(
    rows: tuple[Any, np.ndarray, Description], stamp: Hashable, file: KeptFile | None = None
) -> Opened:
    """Return the partition of a store's rows, labels and description."""
    X, y, description = rows
    schema = description.schema
    table = Table.from_matrix(
        X,
        y,
        row_norm=min(schema.row_norm, schema.raw_norm_bound),
        raw_norm_bound=schema.raw_norm_bound,
        capacity=schema.capacity,
    )
    stated = description.n_rows, description.rows_dropped, description.is_typed
    return Opened(table, Facts(schema, *stated, _seal(description, stamp)), stamp, file)


def _seal(description: Description, stamp: Hashable) -> str:
    held = [description.schema.to_dict(), description.n_rows, description.digests, stamp]
    return hashlib.sha256(json.dumps(held, sort_keys=True).encode("ascii")).hexdigest()
