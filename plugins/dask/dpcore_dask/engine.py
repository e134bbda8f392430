"""The engine ``dask``: every partition is summed by a worker, and sums are added in int64.

Sums are integers modulo 2^64, so that any cut into partitions, any order and any number of workers
give the bits of one thread. Each partition has one task in a pass, and what that task returns is
added once, whether Dask had to run it again on another worker or not.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dpcore.plugin.engines import (
    MOST_FILES,
    DataError,
    DpcoreError,
    EngineError,
    InvalidInputError,
    RowsElsewhere,
)
from dpcore_dask import tasks
from dpcore_dask.cluster import connected, lost_is_told
from dpcore_dask.partition import Recipe
from dpcore_dask.versions import own_versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributed import Client, Future

    from dpcore.plugin.engines import Files, Query, Schema
    from dpcore_dask.partition import Facts
    from dpcore_dask.tasks import Outcome

__all__ = ["DaskEngine"]

_SECONDS = 60
"""How long sums are waited for where no worker is left."""


class DaskEngine:
    """Sums over partitions that the workers of a Dask cluster have open.

    Parameters
    ----------
    files : the partitions. ``schema`` : theirs; ``None`` for the stores' own.
    client : of the cluster.

    Raises DataError or InvalidInputError for a partition that cannot be read, or differs from
    others in its schema; EngineError where the cluster is lost.
    """

    reads_files: ClassVar[bool] = True

    def __init__(self, files: Files, schema: Schema | None, client: Client) -> None:
        self._client, self._held = client, ExitStack()
        self._ended: DpcoreError | None = None
        with lost_is_told():
            named: Outcome = client.submit(tasks.names, files, pure=False).result()
        if len(named.get()) > MOST_FILES:
            raise InvalidInputError(
                f"Expected at most {MOST_FILES:,} files of one table, not {len(named.get()):,}: "
                "join some of them."
            )
        versions = tuple(own_versions().items())
        recipes = [Recipe(name, schema, files.bad_rows, versions) for name in named.get()]
        with lost_is_told():
            # Bound to no worker: a task that is stays unrun where that worker has ended.
            self._partitions = client.map(tasks.open_partition, recipes, pure=False)
        found: list[Facts] = self._of_each(tasks.facts)
        self._seals = [facts.seal for facts in found]
        self.rows = _rows_of(files, recipes, found)

    @classmethod
    def open(cls, source: Files, schema: Schema | None, threads: int | None) -> Self:
        with ExitStack() as held:
            client = held.enter_context(connected(source.address, threads))
            engine = cls(source, schema, client)
            engine._held = held.pop_all()
        return engine

    def close(self) -> None:
        """Let go of the partitions, and of the cluster if it is this engine's own."""
        self._ended = EngineError("The engine is closed.")
        self._partitions.clear()
        self._held.close()

    def answer(self, query: Query) -> np.ndarray:
        """Return the sum over all partitions.

        Raises DataError where one has changed, and EngineError where the cluster is lost; no
        further question is answered then.
        """
        if self._ended is not None:
            raise self._ended
        total = query.start()
        try:
            parts = self._of_each(tasks.answer, [query] * len(self._seals), self._seals)
        except (DataError, EngineError) as error:
            self._ended = error
            raise
        for part in parts:
            total = total + part
        return np.asarray(total)

    def without_rows(self) -> _NoRows:
        """Return an engine over no rows, which loads what answers need on every worker."""
        return _NoRows(self)

    def rehearse(self, query: Query) -> None:
        self._of_each(tasks.rehearse, [query] * len(self._seals))

    def _of_each(self, task: Callable[..., Outcome], *arguments: Sequence[Any]) -> list[Any]:
        """Return what a task says of each partition, in their order."""
        with lost_is_told():
            futures = self._client.map(task, self._partitions, *arguments, pure=False)
            try:
                _wait(self._client, futures)
                outcomes: list[Outcome] = self._client.gather(futures)
            except BaseException:
                with suppress(Exception):  # The cluster may be gone.
                    self._client.cancel(futures)
                raise
        return [outcome.get() for outcome in outcomes]


class _NoRows:
    """The answers of no rows."""

    def __init__(self, whole: DaskEngine) -> None:
        self._whole = whole

    def answer(self, query: Query) -> np.ndarray:
        self._whole.rehearse(query)
        return query.start()


def _wait(client: Client, futures: Sequence[Future]) -> None:
    """Return when all are done; EngineError where no worker is left that could do them."""
    from distributed import wait

    while True:
        try:
            with client.as_current():
                wait(futures, timeout=_SECONDS)
            return
        except TimeoutError:
            if not client.nthreads():
                raise EngineError(
                    f"The Dask cluster has had no worker for {_SECONDS} s or so: nothing more is "
                    "released, and what was charged stays charged."
                ) from None


def _rows_of(files: Files, recipes: Sequence[Recipe], found: Sequence[Facts]) -> RowsElsewhere:
    """Return what the partitions are together; InvalidInputError for schemas that differ."""
    first = found[0].schema
    for recipe, facts in zip(recipes, found, strict=True):
        if facts.schema != first:
            raise InvalidInputError(
                f"{recipe.path} has another schema than {recipes[0].path}: convert both with one."
            )
    return RowsElsewhere(
        name=os.path.basename(os.path.abspath(files.place)),
        schema=first,
        n_units=sum(facts.n_rows for facts in found),
        rows_dropped=any(facts.rows_dropped for facts in found),
        typed_by="file" if any(facts.is_typed for facts in found) else None,
    )
