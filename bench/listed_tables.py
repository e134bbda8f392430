"""The tables of ``development.toml``: read from the packages that hold them, if they are the same
to the bit, with a schema of all their columns."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpcore import Schema

__all__ = ["LISTED", "ListedTable", "listed_tables", "split_rows"]

LISTED = Path(__file__).with_name("development.toml")


@dataclass(frozen=True, kw_only=True)
class ListedTable:
    """An entry of ``development.toml``, whose header says what the keys mean."""

    name: str
    use: str
    task: str
    package: str
    file: str
    sha256: str
    target: str
    positive: str = ""
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    separator: str = "comma"

    def frame(self, folder: Path) -> pd.DataFrame:
        """Return the rows without an empty cell; raises OSError where the file is not in the
        folder, and ValueError where it is another file."""
        path = folder / self.file
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != self.sha256:
            raise ValueError(f"{path.name} of {self.package} has another SHA-256: {found}.")
        rows = self._read(path).drop(columns=list(self.drop))
        if self.only:
            column, cell = self.only
            rows = rows[rows[column].astype(str).str.strip() == cell].drop(columns=column)
        rows = rows[[*self.keep, self.target]] if self.keep else rows
        rows = rows.dropna().reset_index(drop=True)
        if self.task == "classification":
            labels = rows[self.target].astype(str).str.strip()
            rows[self.target] = np.where(labels == self.positive, "yes", "no")
        words = [name for name in rows if name in self.categories or not _is_number(rows[name])]
        return rows.assign(**{name: rows[name].astype(str).str.strip() for name in words})

    def _read(self, path: Path) -> pd.DataFrame:
        if path.name.endswith(".pkl.compress"):
            return pd.read_pickle(path, compression="xz")
        by: Any = r"\s+" if self.separator == "whitespace" else r"\s*,\s*"
        if not self.names:
            return pd.read_csv(path)
        return pd.read_csv(path, sep=by, header=None, names=list(self.names), engine="python")

    def schema(self, rows: pd.DataFrame) -> Schema:
        """Return a schema by which the bounds and categories of ``rows`` are public."""
        columns = {str(name): _kind(rows[name]) for name in rows if name != self.target}
        if self.task == "classification":
            columns[self.target] = {"kind": "label", "classes": ["no", "yes"]}
        else:
            target = rows[self.target]
            bounds = {"lower": float(target.min()), "upper": float(target.max())}
            columns[self.target] = {"kind": "label", **bounds}
        return Schema.from_dict({"columns": columns})


def listed_tables(use: str) -> list[ListedTable]:
    """Return the tables for ``development`` or for ``reporting``, in the order of the file."""
    entries = tomllib.loads(LISTED.read_text())["tables"]
    tables = [ListedTable(name=name, **_frozen(entry)) for name, entry in entries.items()]
    return [table for table in tables if table.use == use]


def _frozen(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and column.dtype != bool


def _kind(column: pd.Series) -> dict[str, Any]:
    """Return a column of a schema; one that has but one value is dropped."""
    if column.nunique() < 2:
        return {"kind": "drop"}
    if _is_number(column):
        return {"kind": "numeric", "lower": float(column.min()), "upper": float(column.max())}
    return {"kind": "categorical", "categories": sorted(column.unique())}


def split_rows(frame: pd.DataFrame, repeat: int, tested: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows to train on and those to test on, one in ``tested`` of them, by a
    permutation of the repeat's own."""
    order = np.random.default_rng(1000 + repeat).permutation(len(frame))
    held = np.zeros(len(order), dtype=bool)
    held[order[: len(order) // tested]] = True
    return frame[~held].reset_index(drop=True), frame[held].reset_index(drop=True)
