"""A partition as its worker has it: rows on that worker's local disk, and what they are known by.

Nothing here is sent to whoever asks but facts and sums. What a partition keeps of each row beside
its cells lies on the disk too, so that a worker's memory holds the rows of the partition that is
being summed, however many it has.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcore import Schema
from dpcore.errors import DataError, DpcoreError, InvalidInputError, replacing
from dpcore.plugin.parts import (
    LocalEngine,
    Query,
    Table,
    TableSession,
)
from dpcore_dask.kept import KeptFile, allow_files
from dpcore_dask.mmap_store import MmapStore
from dpcore_dask.versions import require_versions
from dpcore_dask.wire import packed, unpacked
from dpcore_tables.curves import curved

if TYPE_CHECKING:
    from dpcore.plugin.parts import Block

__all__ = ["Facts", "Opened", "Partition", "Source", "new_mmap_store", "scratch"]

_BYTES_PER_ROW = 48
"""By which Dask reckons what it would take to have the partition elsewhere."""
_BLOCKS = 16
"""How many blocks are summed before their memory is let go of: a few MB of it."""
_ALONE = threading.Lock()
"""Held while a query is answered whose class does not say that calls may overlap."""


@dataclass(frozen=True)
class Facts:
    """A partition's schema, how many units it has (rows where each is one), and the seal by which
    it is known again: a hash over its encoded rows and over its stamp."""

    schema: Schema
    n_units: int
    rows_dropped: bool
    is_typed: bool
    seal: str
    is_generated: bool = False
    read_by: tuple[str, ...] = ()
    claim: str = ""


@dataclass(frozen=True)
class Opened:
    """The rows of a partition, ``X`` encoded and in a table. ``stamp`` : of where they are from, as
    it was when they were read. ``mmap_store`` : has what is kept of each row beside its cells.
    ``store`` : the file of rows that cannot be read again from where they are from."""

    X: Any = field(repr=False)
    table: Table
    facts: Facts
    stamp: Hashable
    mmap_store: MmapStore
    store: KeptFile | None = field(default=None, repr=False)

    def sum(self, query: Query) -> np.ndarray:
        """Return the sum over the rows, int64, without what ``query`` starts from. A few blocks at
        a time are in memory."""
        total, blocks = np.zeros_like(query.start()), self.table.blocks
        for begin in range(0, len(blocks), _BLOCKS):
            piece = self.table.with_blocks(blocks[begin : begin + _BLOCKS])
            try:
                total += LocalEngine(piece, threads=1).answer(query) - query.start()
            finally:
                self._settle(piece.blocks)
        return total

    def with_hats(self, schema: Schema) -> Opened:
        """Return the same rows, whose numbers have the hat functions of the schema: their cells are
        the same, and where those are kept."""
        labels = [block.y for block in self.table.blocks]
        table = Table.from_matrix(
            curved(self.X, schema),
            np.concatenate([np.zeros(0), *labels]),
            row_norm=min(schema.row_norm, schema.raw_norm_bound),
            raw_norm_bound=schema.raw_norm_bound,
            capacity=schema.capacity,
            keep=self.mmap_store.lay,
        )
        return replace(self, table=table, facts=replace(self.facts, schema=schema))

    def settle(self) -> None:
        """Put what is kept of each row beside its cells in the mapped file, out of memory."""
        self._settle(self.table.blocks)

    def _settle(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            block.settle(self.mmap_store.keep)
        self.mmap_store.release()


class Source(Protocol):
    """Where a partition's rows are from: all that a worker needs to open it, picklable."""

    @property
    def name(self) -> str:
        """Return what messages call the partition."""
        ...

    @property
    def versions(self) -> tuple[tuple[str, str], ...]:
        """Return those of the packages of whoever asks."""
        ...

    def stamp(self) -> Hashable:
        """Return what changes where the rows change, the same on every machine; DataError where
        they are not there any more."""
        ...

    def open(self) -> Opened:
        """Return the rows; DataError or InvalidInputError where they do not fit the schema."""
        ...


Sent = Callable[[Any, DpcoreError | None, Opened | None], tuple[Any, ...]]
"""Source, failure and rows of a partition to what ``pickle`` has of it."""


class Partition:
    """A partition that is opened where it is first asked, once in a process."""

    def __init__(
        self, source: Source, held: Callable[[], Opened] | None = None, sent: Sent | None = None
    ) -> None:
        """``held`` : opens rows that the source does not lead to again. ``sent`` : how another
        worker then makes the same partition."""
        self._source, self._held, self._sent = source, held, sent
        self._lock = threading.Lock()
        self._open: Opened | None = None
        self._with_hats: Opened | None = None
        self._failed: DpcoreError | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._sent is None:
            return _again, (Partition, packed(self._source))
        with self._lock:
            make, (source, *others) = self._sent(self._source, self._failed, self._open)
        return _again, (make, packed(source), *others)

    def __sizeof__(self) -> int:
        return 1024 + (0 if self._open is None else _BYTES_PER_ROW * self._open.table.n_rows)

    def __repr__(self) -> str:
        return f"Partition({self._source.name!r})"

    def facts(self) -> Facts:
        """Return the facts of the partition; DataError where it cannot be read by its schema."""
        with self._lock:
            return self._opened().facts

    def dry_run(self, query: Query, seal: str, curves: Schema | None = None) -> None:
        """Load what an answer needs; the rows are not asked. Raises KernelError, and DataError as
        ``answer`` does."""
        with self._lock:
            none = LocalEngine(self._with(curves, seal).table, threads=1).without_rows()
        TableSession.load_now(lambda: none.answer(query))

    def make_hats(self, seal: str, curves: Schema) -> None:
        """Make the hat functions of the schema. Raises InvalidInputError for rows that cannot have
        them, and DataError as ``answer`` does."""
        with self._lock:
            self._with(curves, seal)

    def answer(self, query: Query, seal: str, curves: Schema | None = None) -> np.ndarray:
        """Return the sum over the partition's rows, int64, without what ``query`` starts from.
        ``curves`` : the schema whose hat functions numbers have; ``None`` : the rows as they are.

        Raises DataError unless the partition is what had that seal, before the sum and after it.
        """
        with self._lock, nullcontext() if LocalEngine.may_overlap(query) else _ALONE:
            opened = self._with(curves, seal)
            part = opened.sum(query)
            self._require(self._source.stamp() == opened.stamp)
        return part

    def _with(self, curves: Schema | None, seal: str) -> Opened:
        """Return the partition as sealed, with the hat functions of a schema."""
        opened = self._as_sealed(seal)
        if curves is None:
            return opened
        if self._with_hats is None or self._with_hats.facts.schema != curves:
            self._with_hats = opened.with_hats(curves)
        return self._with_hats

    def _require(self, same: bool) -> None:
        if not same:
            raise self._changed()

    def _changed(self) -> DataError:
        return DataError(f"{self._source.name}: the partition was changed while it was in use.")

    def _as_sealed(self, seal: str) -> Opened:
        """Return the partition, which another worker may have had open: what a reader says of a row
        of it now is not for whoever asks sums. DataError unless it is what had that seal."""
        self._source.stamp()
        with replacing(DataError, InvalidInputError, by=lambda _: self._changed()):
            opened = self._opened()
        self._require(opened.facts.seal == seal and self._source.stamp() == opened.stamp)
        return opened

    def _opened(self) -> Opened:
        if self._failed is not None:
            raise self._failed
        if self._open is None:
            require_versions(dict(self._source.versions))
            allow_files()
            try:
                opened = (self._held or self._source.open)()
            except DpcoreError as error:
                # Rows that are held are let go of now: nobody can look at them again.
                self._failed = error if self._held is not None else None
                raise
            finally:
                if self._held is not None:
                    self._held = _spent
            opened.settle()
            self._open = opened
        return self._open


def _again(make: Callable[..., Partition], source: bytes, *others: Any) -> Partition:
    return make(unpacked(source), *others)


def _spent() -> Opened:
    raise DataError("The rows of a partition are gone.")


def new_mmap_store(n_rows: int) -> MmapStore:
    """Return an empty mapped file for labels, norms and factors of so many rows."""
    return MmapStore(scratch(), 3 * 8 * n_rows)


def scratch() -> str | None:
    """Return the worker's folder on a local disk, which Dask removes after it; ``None`` in a
    process that is no worker."""
    from distributed import get_worker

    try:
        return str(get_worker().local_directory)
    except ValueError:
        return None
