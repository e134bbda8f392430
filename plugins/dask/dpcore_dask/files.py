"""Partitions that are files: stores, which are mapped as they are, and Parquet, which the worker
converts once."""

from __future__ import annotations

import os
from dataclasses import dataclass

from dpcore.plugin.engines import (
    BadRows,
    DataError,
    InvalidInputError,
    PartCoins,
    Schema,
    convert,
    format_of,
    load_file,
    open_store,
    replacing,
)
from dpcore_dask.partition import Opened
from dpcore_dask.stores import bounded_store, opened_store, private_store

__all__ = ["FileSource", "rows_in"]


@dataclass(frozen=True)
class FileSource:
    """A file; ``schema`` : ``None`` for a store's own. ``coins`` : where rows have units."""

    name: str
    schema: Schema | None
    bad_rows: BadRows
    versions: tuple[tuple[str, str], ...]
    coins: PartCoins | None = None

    def stamp(self) -> tuple[int, int]:
        """Return size and time of the file."""

        def unread(error: OSError) -> DataError:
            if isinstance(error, FileNotFoundError):
                return DataError(f"{self.name}: the partition is not there, or not any more.")
            return DataError(f"Cannot read {self.name!r}: {error.strerror}.")

        with replacing(OSError, by=unread):
            found = os.stat(self.name)
        return found.st_size, found.st_mtime_ns

    def open(self) -> Opened:
        stamp, n_units = self.stamp(), None
        if format_of(self.name) == "dpcore":
            rows = open_store(self.name)
            self._require_schema(rows[2].schema)
        elif self.coins is not None:
            data = load_file(self.name, self.schema, bad_rows=self.bad_rows, coins=self.coins)
            (rows, _), n_units = bounded_store(data), data.n_units
        else:
            rows, _ = private_store(self._convert)
        if self.stamp() != stamp:
            raise DataError(f"{self.name}: the partition was changed while it was read.")
        return opened_store(rows, stamp, n_units=n_units)

    def _convert(self, store: str) -> None:
        if self.schema is None:
            raise InvalidInputError(
                f"{self.name} needs a schema of its public bounds and categories: --schema FILE "
                "(schema=)."
            )
        convert(self.name, store, self.schema, bad_rows=self.bad_rows)

    def _require_schema(self, own: Schema) -> None:
        if self.schema is not None and self.schema.unit is not None:
            raise InvalidInputError(
                f"The store {self.name} holds no ids of units: name the Parquet files that stores "
                "were made of."
            )
        asked = self.schema and self.schema.for_names([column.name for column in own.columns])
        if asked is not None and asked != own:
            raise InvalidInputError(
                f"{self.name} has a schema of its own, and this run's differs from it; leave the "
                "schema out, or convert the rows again."
            )


def rows_in(name: str) -> int:
    """Return how many rows a Parquet file says that it has; 0 where it does not say, and is refused
    when it is opened."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(name).num_rows)
    except (OSError, pa.ArrowException):
        return 0
