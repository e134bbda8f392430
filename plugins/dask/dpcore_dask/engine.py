"""The engine ``dask``: every partition is summed by a worker, and sums are added in int64.

Sums are integers modulo 2^64, so that any cut into partitions, any order and any number of workers
give the bits of one thread. Each partition is in one task of a pass, and what that task returns is
added once, whether Dask had to run it again on another worker or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dpcore.errors import DataError, DpcoreError, EngineError
from dpcore_dask.cluster import connected, lost_is_told
from dpcore_dask.sources import require_here, shared_rows

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from distributed import Client

    from dpcore import Schema
    from dpcore.plugin.parts import Query
    from dpcore_dask.sources import RowSource

__all__ = ["DaskEngine"]


class DaskEngine:
    """Sums over partitions that the workers of a Dask cluster have open.

    Parameters
    ----------
    source : the partitions. ``schema`` : theirs; ``None`` for the source's own.
    client : of the cluster.

    Raises DataError or InvalidInputError for a partition that cannot be read, or differs from
    others in its schema; EngineError where the cluster is lost.
    """

    reads_files: ClassVar[bool] = True
    reads_frames: ClassVar[bool] = True
    reads_registered: ClassVar[bool] = True

    def __init__(self, source: RowSource, schema: Schema | None, client: Client) -> None:
        self._client, self._held = client, ExitStack()
        self._ended: DpcoreError | None = None
        self._shares, self._seals, self.rows = shared_rows(source, schema, client)

    @classmethod
    def open(cls, source: RowSource, schema: Schema | None, threads: int | None) -> Self:
        require_here(source)
        with ExitStack() as held:
            # A frame's partitions may be held by the client that its owner works with.
            is_frame = source.kind == "frame"
            client = held.enter_context(connected(source.address, threads, takes_own=is_frame))
            engine = cls(source, schema, client)
            engine._held = held.pop_all()
        return engine

    @classmethod
    @contextmanager
    def executor(cls, address: str | None, workers: int | None) -> Iterator[Executor]:
        """Lend an executor whose tasks the workers run. Raises as ``open``; EngineError where the
        cluster is lost."""
        with connected(address, workers) as client, lost_is_told():
            yield client.get_executor(pure=False)

    def close(self) -> None:
        """Let go of the partitions, and of the cluster if it is this engine's own."""
        self._ended = EngineError("The engine is closed.")
        self._shares.close()
        self._held.close()

    def answer(self, query: Query) -> np.ndarray:
        """Return the sum over all partitions.

        Raises DataError where one has changed, and EngineError where the cluster is lost; no
        further question is answered then.
        """
        return self.sum(query)

    def sum(self, query: Query, curves: Schema | None = None) -> np.ndarray:
        """Return ``answer``; ``curves`` : the schema whose hat functions the rows' numbers have,
        ``None`` for the rows as they were read."""
        if self._ended is not None:
            raise self._ended
        total: Any = query.start()
        try:
            parts = self._shares.sums((query, curves), self._seals)
        except (DataError, EngineError) as error:
            self._ended = error
            raise
        for part in parts:
            total = total + part
        return np.asarray(total)

    def without_rows(self) -> _NoRows:
        """Return an engine over no rows, which loads what answers need on every worker."""
        return _NoRows(self)

    def dry_run(self, query: Query, curves: Schema | None = None) -> None:
        self._shares.dry_run((query, curves), self._seals)

    def with_curves(self, schema: Schema) -> _WithCurves:
        """Return an engine over the same rows, whose numbers have the hat functions of the schema,
        all of them made now.

        Raises InvalidInputError for rows that cannot have them, and as ``answer``.
        """
        self._shares.make_hats(schema, self._seals)
        return _WithCurves(self, schema)


class _WithCurves:
    """The rows of an engine with hat functions; they are let go of with it."""

    def __init__(self, whole: DaskEngine, schema: Schema) -> None:
        self._whole, self._schema = whole, schema

    def answer(self, query: Query) -> np.ndarray:
        return self._whole.sum(query, self._schema)

    def without_rows(self) -> _NoRows:
        return _NoRows(self._whole, self._schema)


class _NoRows:
    """The answers of no rows."""

    def __init__(self, whole: DaskEngine, curves: Schema | None = None) -> None:
        self._whole, self._curves = whole, curves

    def answer(self, query: Query) -> np.ndarray:
        self._whole.dry_run(query, self._curves)
        return query.start()
