"""The tasks that a worker runs. What decides a sum comes and goes as bytes of ``wire``. An error
comes back as a value: a worker's log, which others read, holds none of its text."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.errors import DpcoreError, EngineError
from dpcore_dask.files import names_of, rows_in
from dpcore_dask.frames import held
from dpcore_dask.partition import Partition
from dpcore_dask.wire import packed, require_unregistered, unpacked

__all__ = [
    "Outcome",
    "answer",
    "make_hats",
    "facts",
    "hold_partition",
    "names",
    "open_partition",
    "dry_run",
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


def names(files_and_schema: bytes) -> bytes:
    """Return the names of the partitions."""
    return _outcome(lambda: names_of(*unpacked(files_and_schema)))


def rows_of_file(name: str) -> bytes:
    return _outcome(lambda: rows_in(name))


def rows_of_frame(frame: Any) -> bytes:
    return _outcome(lambda: len(frame))


def open_partition(source: bytes) -> Partition:
    """Return the partition, open unless ``facts`` is to say why it is not."""
    partition = Partition(unpacked(source))
    _outcome(partition.facts)
    return partition


def hold_partition(frame: Any, source: bytes) -> Partition:
    """Return the partition of a frame, which is let go of once it is in a store."""
    partition = held(unpacked(source), frame)
    _outcome(partition.facts)
    return partition


def facts(partitions: Sequence[Partition]) -> bytes:
    return _outcome(lambda: [partition.facts() for partition in partitions])


def dry_run(partitions: Sequence[Partition], asked: bytes, seals: Sequence[str]) -> bytes:
    def work() -> None:
        query, curves = unpacked(asked)
        partitions[0].dry_run(query, seals[0], curves)

    return _outcome(work)


def make_hats(partitions: Sequence[Partition], schema: bytes, seals: Sequence[str]) -> bytes:
    """Make the hat functions of the schema of the numbers of several partitions."""

    def work() -> None:
        curves = unpacked(schema)
        for partition, seal in zip(partitions, seals, strict=True):
            partition.make_hats(seal, curves)

    return _outcome(work)


def answer(partitions: Sequence[Partition], asked: bytes, seals: Sequence[str]) -> bytes:
    """Return the sum over the rows of several partitions, each looked at once. ``asked`` : a query,
    and the schema whose hat functions numbers have for it, ``None`` for the rows as they are."""

    def work() -> np.ndarray:
        query, curves = unpacked(asked)
        total = np.zeros_like(query.start())
        for partition, seal in zip(partitions, seals, strict=True):
            total += partition.answer(query, seal, curves)
        require_unregistered(Partition)  # Else Dask may have moved another one here.
        return total

    return _outcome(work)


def _outcome(work: Callable[[], Any]) -> bytes:
    from distributed import get_worker

    address = get_worker().address
    try:
        return packed(Outcome(work(), worker=address))
    except DpcoreError as error:
        told = error
    except OSError as error:
        # The system's word alone: the error's own text may be of a file's content.
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        told = EngineError(f"In a worker's sum: {reason}.")
    except Exception as error:
        # Its own text may hold a private value.
        told = EngineError(f"{type(error).__name__} in a worker's sum.")
    return packed(Outcome(error=told, worker=address))
