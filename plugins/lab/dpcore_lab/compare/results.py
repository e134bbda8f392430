"""The results file: Parquet, one tidy row per fit, with the settings in its metadata."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dpcore.errors import DataError, replacing
from dpcore.plugin.parts import OutFile
from dpcore_lab.compare.settings import STATEMENT
from dpcore_lab.compare.table import EXACT, MEASURES

__all__ = ["Results", "read_results", "with_new_names", "write_results"]

FORMAT, FORMAT_VERSION = "dpcore comparison", 1
_KEY = b"dpcore"
_ADDED = pa.schema(
    [
        ("chosen", pa.string()),
        ("most_rows", pa.int64()),
        ("parts_not_from_dpcore", pa.string()),
        ("unit_of_protection", pa.string()),
        ("exact_macro_f1", pa.float64()),
        *((f"exact_{name}", pa.float64()) for name in ("rmse", "mae", "r2")),
        ("guarantee", pa.string()),
        ("exact_auc", pa.float64()),
    ]
)
"""Columns that older files of this version have not, or not all of them; null there."""
_OLD_COLUMNS = pa.schema(
    [
        *((name, pa.string()) for name in ("data", "algorithm", "distribution", "parameters")),
        ("loss", pa.string()),
        *((name, pa.float64()) for name in ("l2", "epsilon", "delta")),
        ("relation", pa.string()),
        *((name, pa.int64()) for name in ("fold", "repeat")),
        *((name, pa.float64()) for name in ("exact_accuracy", "exact_objective", "exact_seconds")),
        ("releases", pa.string()),
        ("accountant", pa.string()),
        *((name, pa.float64()) for name in ("budget", "spent")),
        ("unit", pa.string()),
        ("private", pa.bool_()),
        *((name, pa.string()) for name in ("status", "message", "versions")),
        ("seed", pa.int64()),
    ]
)
_COLUMNS = pa.unify_schemas([_OLD_COLUMNS, _ADDED])
_RENAMED = {measure: f"{EXACT}{measure}" for measure in MEASURES}
"""Columns that were named in older files of this version as if they were private."""


@dataclass(frozen=True)
class Results:
    """A finished comparison: its settings as JSON-able data, and one mapping per fit."""

    settings: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]


def write_results(path: str | os.PathLike[str], results: Results) -> None:
    """Write the file, whole or not at all, readable by its owner only."""
    description = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "statement": STATEMENT,
        "settings": results.settings,
    }
    table = pa.Table.from_pylist(list(results.rows), schema=_COLUMNS)
    table = table.replace_schema_metadata({_KEY: json.dumps(description, sort_keys=True)})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    OutFile(path).write(buffer.getvalue(), mode=0o600)


def read_results(path: str | os.PathLike[str]) -> Results:
    """Return a finished comparison.

    Raises DataError for a file that is missing or cut short, or that ``dpcore compare`` did not
    write in this version of the format.
    """
    name = os.fspath(path)
    cut_short = DataError(f"{name!r} is not a whole results file of dpcore compare.")
    content = io.BytesIO(_content(name))
    with replacing(pa.ArrowException, OSError, by=lambda _: cut_short):
        # Arrow's threads may outlive the process's own, which then ends in an abort.
        table = pq.read_table(content, use_threads=False)
    described = _description(table.schema.metadata or {})
    names = [_RENAMED.get(name, name) for name in table.schema.names]
    n_added = len(names) - len(_OLD_COLUMNS.names)
    is_known = n_added >= 0 and names == _COLUMNS.names[: len(names)]
    if described.get("format") != FORMAT or not is_known:
        raise DataError(f"{name!r} is not a results file of dpcore compare.")
    version = described.get("format_version")
    if version != FORMAT_VERSION:
        raise DataError(f"{name!r} has version {version!r}; this dpcore reads {FORMAT_VERSION}.")
    found = map(with_new_names, table.to_pylist())
    rows = [{name: row.get(name) for name in _COLUMNS.names} for row in found]
    return Results(described["settings"], rows)


def with_new_names(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row, of an older version perhaps, with the names of this one."""
    return {_RENAMED.get(name, name): value for name, value in row.items()}


def foreign_parts_of(row: Mapping[str, Any]) -> list[str]:
    """Return a row's parts that are not from dpcore; DataError for a text that lists none."""
    no_list = DataError("A row of these results has no list of the parts that are not from dpcore.")
    with replacing(ValueError, RecursionError, by=lambda _: no_list):
        found = json.loads(row.get("parts_not_from_dpcore") or "[]")
    if not (isinstance(found, list) and all(isinstance(part, str) for part in found)):
        raise no_list
    return found


def _content(name: str) -> bytes:
    try:
        with open(name, "rb") as file:
            return file.read()
    except OSError as error:
        raise DataError(f"Cannot read {name!r}: {error.strerror}.") from error


def _description(metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    try:
        description = json.loads(metadata.get(_KEY, b"{}"))
    except (ValueError, RecursionError):
        return {}
    return description if isinstance(description, dict) else {}
