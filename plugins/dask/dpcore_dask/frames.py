"""Partitions of a Dask frame: each is turned into a store by the worker that has it.

Types are the schema's; neither Dask's ``meta`` nor the types that a partition's cells gave it
decide what a cell becomes. Where a worker ends, Dask works its partitions out again on others, and
they have to give the same rows: a partition's seal is a hash over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpcore import Schema
from dpcore.errors import DataError, DpcoreError
from dpcore.plugin.engines import BadRows
from dpcore_dask.coins import PartCoins
from dpcore_dask.partition import Opened, Partition
from dpcore_dask.stores import bounded_store, opened_store, private_store
from dpcore_tables.readers.frame_parts import encoded_parts, part_of_units
from dpcore_tables.store import write_rows

__all__ = ["FrameSource", "held", "sent"]


@dataclass(frozen=True)
class FrameSource:
    """A partition of a frame by its place, from 1; ``schema`` : without wildcards. ``coins`` :
    where rows have units."""

    place: int
    schema: Schema
    bad_rows: BadRows
    versions: tuple[tuple[str, str], ...]
    coins: PartCoins | None = None

    @property
    def name(self) -> str:
        return f"partition {self.place} of the frame"

    def stamp(self) -> None:
        return None

    def open(self) -> Opened:
        raise DataError(f"{self.name}: its rows are not here.")

    def written(self, frame: Any) -> Opened:
        """Return the rows of the partition, which ``frame`` is, once they are in a store."""
        if self.coins is not None:
            data = part_of_units(frame, self.schema, self.name, self.coins)
            rows, file = bounded_store(data)
            return opened_store(rows, None, file, data.n_units)

        def write(path: str) -> None:
            pieces = encoded_parts(frame, self.schema, self.name, bad_rows=self.bad_rows)
            write_rows(pieces, path, self.schema, self.bad_rows == "drop", False)

        rows, file = private_store(write)
        return opened_store(rows, None, file)

    def copied(self, content: bytes, n_units: int) -> Opened:
        """Return the rows of the store of these bytes, and of so many units."""

        def write(path: str) -> None:
            with open(path, "xb") as file:
                file.write(content)

        rows, file = private_store(write)
        return opened_store(rows, None, file, n_units)


def held(source: FrameSource, frame: Any) -> Partition:
    """Return the partition that a worker has as a frame."""
    return Partition(source, lambda: source.written(frame), sent)


def sent(source: Any, failed: DpcoreError | None, opened: Opened | None) -> tuple[Any, ...]:
    """Return how another worker makes the same partition, as ``pickle`` has it: Dask may move it,
    as it moves any part of a frame."""
    if opened is None or opened.store is None:
        return _failed, (source, failed or DataError(f"{source.name}: its rows are not here."))
    return _copied, (source, opened.store.content(), opened.facts.n_units)


def _copied(source: FrameSource, content: bytes, n_units: int) -> Partition:
    return Partition(source, lambda: source.copied(content, n_units), sent)


def _failed(source: FrameSource, error: DpcoreError) -> Partition:
    def fail() -> Opened:
        raise error

    return Partition(source, fail, sent)
