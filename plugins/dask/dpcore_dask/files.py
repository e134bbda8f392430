"""Partitions that are files: stores, which are mapped as they are, and files of rows, which the
worker converts once; or the parts of an address, as its reader says."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError, replacing
from dpcore.plugin.engines import BadRows, Files
from dpcore.plugin.parts import Dataset
from dpcore_dask.coins import PartCoins
from dpcore_dask.partition import Opened
from dpcore_dask.stores import bounded_store, opened_store, private_store
from dpcore_tables.files import open_rows
from dpcore_tables.store import convert, open_store

__all__ = ["FileSource", "is_address", "names_of", "rows_in"]


@dataclass(frozen=True)
class FileSource:
    """A file; ``schema`` : ``None`` for a store's own. ``coins`` : where rows have units."""

    name: str
    schema: Schema | None
    bad_rows: BadRows
    versions: tuple[tuple[str, str], ...]
    coins: PartCoins | None = None

    def stamp(self) -> tuple[int, int] | str:
        """Return size and time of the file; of an address what its reader says, ``digest()``."""
        if is_address(self.name):
            return self._digest()

        def unread(error: OSError) -> DataError:
            if isinstance(error, FileNotFoundError):
                return DataError(f"{self.name}: the partition is not there, or not any more.")
            return DataError(f"Cannot read {self.name!r}: {error.strerror}.")

        with replacing(OSError, by=unread):
            found = os.stat(self.name)
        return found.st_size, found.st_mtime_ns

    def open(self) -> Opened:
        stamp, n_units = self.stamp(), None
        if Files.format_of(self.name) == "dpcore":
            rows = open_store(self.name)
            self._require_schema(rows[2].schema, rows[2].units)
            n_units = None if rows[2].units is None else int(rows[2].units.max(initial=-1)) + 1
        elif self.coins is not None:
            data = Dataset.from_file(
                self.name, self.schema, bad_rows=self.bad_rows, coins=self.coins
            )
            (rows, _), n_units = bounded_store(data), data.n_units
        else:
            rows, _ = private_store(self._convert)
        if self.stamp() != stamp:
            raise DataError(f"{self.name}: the partition was changed while it was read.")
        return opened_store(rows, stamp, n_units=n_units)

    def _digest(self) -> str:
        opened: Any = open_rows(self.name, _needed(self.schema, self.name), None, self.bad_rows)
        if not hasattr(opened, "digest"):
            raise InvalidInputError(
                f"The reader of {self.name} has no digest(), by which it would be seen that rows "
                "were changed: take --engine local (engine='local'), or convert them to a store."
            )
        return str(opened.digest())

    def _convert(self, store: str) -> None:
        convert(self.name, store, _needed(self.schema, self.name), bad_rows=self.bad_rows)

    def _require_schema(self, own: Schema, units: np.ndarray | None) -> None:
        by_unit = own.unit or (self.schema and self.schema.unit)
        if by_unit and (units is None or not own.unit_in_one_file):
            # A store has no ids, by which rows of a unit in two of them would be found.
            raise InvalidInputError(
                f"The store {self.name} was not converted with units by {by_unit!r} of which none "
                "has rows in two files, as a schema claims by unit_in_one_file = true: convert its "
                "source with that, or name the Parquet files that stores were made of."
            )
        asked = self.schema and self.schema.for_names([column.name for column in own.columns])
        if asked is not None and asked != own:
            raise InvalidInputError(
                f"{self.name} has a schema of its own, and this run's differs from it; leave the "
                "schema out, or convert the rows again."
            )


def _needed(schema: Schema | None, name: str) -> Schema:
    if schema is None:
        raise InvalidInputError(
            f"{name} needs a schema of its public bounds and categories: --schema FILE (schema=)."
        )
    return schema


def is_address(name: str) -> bool:
    """Return whether rows are at an address, which a registered reader opens."""
    return "://" in name


def names_of(files: Files, schema: Schema | None) -> list[str]:
    """Return the partitions: the files of a folder or a pattern; of an address those that its
    reader says (``partitions()``), or itself where it says none. DataError where the reader says
    one twice, whose rows would count twice, or none at all."""
    if not is_address(files.place):
        return files.names()
    opened: Any = open_rows(files.place, _needed(schema, files.place), None, files.bad_rows)
    if not hasattr(opened, "partitions"):
        return [files.place]
    found = [str(name) for name in opened.partitions()]
    if not found or len(set(found)) < len(found):
        raise DataError(f"The reader of {files.place!r} names no partition of it, or one twice.")
    return found


def rows_in(name: str) -> int:
    """Return how many rows a Parquet file says that it has; 0 where it does not say, and is refused
    when it is opened."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(name).num_rows)
    except (OSError, pa.ArrowException):
        return 0
