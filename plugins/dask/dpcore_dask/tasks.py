"""The tasks that a worker runs. An error comes back as a value: a worker's log, which others read,
holds none of its text."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore import Schema
from dpcore.errors import DpcoreError, EngineError
from dpcore.plugin.engines import Files
from dpcore.plugin.parts import Query
from dpcore_dask.files import names_of, rows_in
from dpcore_dask.frames import FrameSource, held
from dpcore_dask.partition import Partition, Source

__all__ = [
    "Outcome",
    "answer",
    "facts",
    "hold_partition",
    "names",
    "open_partition",
    "rehearse",
    "rows_of_file",
    "rows_of_frame",
]


@dataclass(frozen=True, repr=False)
class Outcome:
    """The value that a task returned, or the error that ended it; ``worker`` : its address."""

    value: Any = None
    error: DpcoreError | None = None
    worker: str = ""

    def get(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


def names(files: Files, schema: Schema | None) -> Outcome:
    """Return the names of the partitions."""
    return _outcome(lambda: names_of(files, schema))


def rows_of_file(name: str) -> Outcome:
    return _outcome(lambda: rows_in(name))


def rows_of_frame(frame: Any) -> Outcome:
    return _outcome(lambda: len(frame))


def open_partition(source: Source) -> Partition:
    """Return the partition, open unless ``facts`` is to say why it is not."""
    partition = Partition(source)
    _outcome(partition.facts)
    return partition


def hold_partition(frame: Any, source: FrameSource) -> Partition:
    """Return the partition of a frame, which is let go of once it is in a store."""
    partition = held(source, frame)
    _outcome(partition.facts)
    return partition


def facts(partitions: Sequence[Partition]) -> Outcome:
    return _outcome(lambda: [partition.facts() for partition in partitions])


def rehearse(partitions: Sequence[Partition], query: Query, seals: Sequence[str]) -> Outcome:
    return _outcome(lambda: partitions[0].rehearse(query, seals[0]))


def answer(partitions: Sequence[Partition], query: Query, seals: Sequence[str]) -> Outcome:
    """Return the sum over the rows of several partitions, each looked at once."""

    def work() -> np.ndarray:
        total = np.zeros_like(query.start())
        for partition, seal in zip(partitions, seals, strict=True):
            total += partition.answer(query, seal)
        return total

    return _outcome(work)


def _outcome(work: Callable[[], Any]) -> Outcome:
    from distributed import get_worker

    address = get_worker().address
    try:
        return Outcome(work(), worker=address)
    except DpcoreError as error:
        return Outcome(error=error, worker=address)
    except OSError as error:
        # The system's word alone: the error's own text may be of a file's content.
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        return Outcome(error=EngineError(f"In a worker's sum: {reason}."), worker=address)
    except Exception as error:
        # Its own text may hold a private value.
        told = EngineError(f"{type(error).__name__} in a worker's sum.")
        return Outcome(error=told, worker=address)
