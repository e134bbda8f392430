"""Partitions that are files: stores, which are mapped as they are, and Parquet, which the worker
converts once."""

from __future__ import annotations

import os
from dataclasses import dataclass

from dpcore.plugin.engines import (
    BadRows,
    DataError,
    InvalidInputError,
    Schema,
    convert,
    format_of,
    open_store,
)
from dpcore_dask.partition import Opened
from dpcore_dask.stores import opened_store, private_store

__all__ = ["FileSource"]


@dataclass(frozen=True)
class FileSource:
    """A file; ``schema`` : ``None`` for a store's own."""

    name: str
    schema: Schema | None
    bad_rows: BadRows
    versions: tuple[tuple[str, str], ...]

    def stamp(self) -> tuple[int, int]:
        """Return size and time of the file."""
        try:
            found = os.stat(self.name)
        except FileNotFoundError:
            raise DataError(f"{self.name}: the partition is not there, or not any more.") from None
        except OSError as error:
            raise DataError(f"Cannot read {self.name!r}: {error.strerror}.") from None
        return found.st_size, found.st_mtime_ns

    def open(self) -> Opened:
        stamp = self.stamp()
        if format_of(self.name) == "dpcore":
            rows = open_store(self.name)
            self._require_schema(rows[2].schema)
        else:
            X, y, description, _ = private_store(self._convert)
            rows = X, y, description
        if self.stamp() != stamp:
            raise DataError(f"{self.name}: the partition was changed while it was read.")
        return opened_store(rows, stamp)

    def _convert(self, store: str) -> None:
        if self.schema is None:
            raise InvalidInputError(
                f"{self.name} needs a schema of its public bounds and categories: --schema FILE."
            )
        convert(self.name, store, self.schema, bad_rows=self.bad_rows)

    def _require_schema(self, own: Schema) -> None:
        asked = self.schema and self.schema.for_names([column.name for column in own.columns])
        if asked is not None and asked != own:
            raise InvalidInputError(
                f"{self.name} has a schema of its own, and this run's differs from it; leave the "
                "schema out, or convert the rows again."
            )
