"""Partitions and the workers that have them: in a pass a thread of a worker has one task, for all
partitions that are its share.

A task is bound to no worker. Where one has ended, Dask opens its partitions on others, and a task
that was to sum over several has them moved together; what it returns is added once all the same.
Shares are dealt anew then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any, TypeAlias

from dpcore.errors import EngineError
from dpcore_dask import tasks
from dpcore_dask.cluster import lost_is_told
from dpcore_dask.wire import packed, unpacked

if TYPE_CHECKING:
    from distributed import Client, Future

    from dpcore import Schema
    from dpcore.plugin.parts import Query
    from dpcore_dask.partition import Facts, Source
    from dpcore_dask.tasks import Outcome

    Asked: TypeAlias = tuple[Query, Schema | None]
    """A query, and the schema whose hat functions numbers have for it."""

__all__ = ["Shares", "outcomes_of"]

_SECONDS = 60
"""How long sums are waited for where no worker is left."""


class Shares:
    """Partitions on the workers of a cluster.

    ``frames`` : for each partition the future of a frame that it is made of, where it is one.
    """

    def __init__(
        self, client: Client, sources: Sequence[Source], frames: Sequence[Future] | None = None
    ) -> None:
        self._client = client
        with lost_is_told():
            if frames is None:
                self._partitions = self._opened(sources)
            else:
                packets = [packed(source) for source in sources]
                self._partitions = client.map(tasks.hold_partition, frames, packets, pure=False)
        self._dealt: list[tuple[str, list[int]]] = []

    def close(self) -> None:
        self._partitions.clear()

    def facts(self) -> list[Facts]:
        """Return the facts of every partition, in their order."""
        alone = [("", [place]) for place in range(len(self._partitions))]
        return [found for (found,) in self._asked(alone, tasks.facts, [() for _ in alone])]

    def dry_run(self, asked: Asked, seals: Sequence[str]) -> None:
        """Have every worker load what an answer needs."""
        self._of_each(tasks.dry_run, asked, seals)

    def make_hats(self, schema: Schema, seals: Sequence[str]) -> None:
        """Have hat functions of the schema made of the numbers of all partitions."""
        self._of_each(tasks.make_hats, schema, seals)

    def sums(self, asked: Asked, seals: Sequence[str]) -> list[Any]:
        """Return sums that together are over all partitions."""
        return self._of_each(tasks.answer, asked, seals)

    def _opened(self, sources: Sequence[Source]) -> list[Future]:
        """Return the partitions, the same number for each thread of a cluster, so that none waits
        for another in a pass: no task depends on that."""
        of_threads = cycle(_threads(self._client) or [None])
        asked: dict[str, Any] = {"allow_other_workers": True, "pure": False}
        partitions = [
            self._client.submit(tasks.open_partition, packed(source), workers=worker, **asked)
            for source, worker in zip(sources, of_threads, strict=False)
        ]
        _unbind(self._client, partitions)
        return partitions

    def _of_each(self, task: Callable[..., bytes], asked: Any, seals: Sequence[str]) -> list[Any]:
        if not self._dealt:
            with lost_is_told():
                self._dealt = self._deal()
        sent = packed(asked)
        given = [(sent, [seals[place] for place in places]) for _, places in self._dealt]
        return self._asked(self._dealt, task, given)

    def _deal(self) -> list[tuple[str, list[int]]]:
        """Return for each thread of a worker that has partitions the places of its share."""
        having = self._client.who_has(self._partitions)
        shares: dict[tuple[str, int], list[int]] = {}
        for worker, threads in self._client.nthreads().items():
            shares.update(((worker, thread), []) for thread in range(threads))
        for place, partition in enumerate(self._partitions):
            here = [share for share in shares if share[0] in having.get(partition.key, ())]
            at = min(here, key=lambda share: len(shares[share]), default=("", -1 - place))
            shares.setdefault(at, []).append(place)
        return [(worker, places) for (worker, _), places in shares.items() if places]

    def _asked(
        self,
        shares: Sequence[tuple[str, list[int]]],
        task: Callable[..., bytes],
        given: Sequence[tuple[Any, ...]],
    ) -> list[Any]:
        """Return what a task says of each share, in their order. ``given`` : to that of each."""
        with lost_is_told():
            futures = [
                self._client.submit(
                    task, [self._partitions[i] for i in places], *others, pure=False
                )
                for (_, places), others in zip(shares, given, strict=True)
            ]
            try:
                outcomes = outcomes_of(self._client, futures)
            except BaseException:
                self._dealt = []
                with suppress(Exception):  # The cluster may be gone.
                    self._client.cancel(futures)
                raise
        if [outcome.worker for outcome in outcomes] != [worker for worker, _ in shares]:
            self._dealt = []
        return [outcome.get() for outcome in outcomes]


def outcomes_of(client: Client, futures: Sequence[Future]) -> list[Outcome]:
    """Return what tasks came to, when all are done; EngineError where one cannot be."""
    gather, seconds = partial(client.gather, asynchronous=True), _SECONDS
    while True:
        _wait(client, futures)
        # A worker that ends now takes what its tasks came to with it: they are to be done again.
        # Or the sums are large, and come by a slow line: the next time they have longer.
        with suppress(TimeoutError):
            told = client.sync(gather, futures, callback_timeout=seconds)
            return [unpacked(content) for content in told]
        seconds *= 2


def _unbind(client: Client, futures: Sequence[Future]) -> None:
    """Let any worker have tasks that were given to some, once the scheduler has given them out.

    A task that may run elsewhere, too, goes to a worker that is there when its own ends, but Dask
    never gives it to a later one: where all have ended and others are started for them, as a nanny
    does, it would wait for ever.
    """
    left = list(futures)
    while left:
        here = client.sync(client.scheduler.get_task_status, keys=[future.key for future in left])
        known: dict[Any, list[str]] = {key: [] for key, state in here.items() if state is not None}
        client.sync(client.scheduler.set_restrictions, worker=known)
        left = [future for future in left if future.key not in known and future.status == "pending"]
        time.sleep(0.005 if left else 0.0)  # They come to the scheduler one after the other.


def _threads(client: Client) -> list[str]:
    """Return the workers, one name for each of their threads, of every worker in turn."""
    threads = client.nthreads()
    rounds = range(max(threads.values(), default=0))
    return [worker for i in rounds for worker, count in threads.items() if i < count]


def _wait(client: Client, futures: Sequence[Future]) -> None:
    """Return when all are done; EngineError where no worker is left that could do them, or where a
    frame that they need could not be worked out."""
    from distributed import KilledWorker, wait

    while True:
        with suppress(TimeoutError), client.as_current():
            wait(futures, timeout=_SECONDS)
            break
        if not client.nthreads():
            raise EngineError(
                f"The Dask cluster has had no worker for {_SECONDS} s or so: nothing more is "
                "released, and what was charged stays charged."
            )
    for future in futures:
        if future.status == "error":  # Tasks return their own errors.
            error = future.exception()
            if isinstance(error, KilledWorker):
                raise error
            raise EngineError(
                f"Dask could not work out a partition of the frame ({type(error).__name__}): "
                "the workers' logs say more."
            )
