"""The tasks that a worker runs. An error comes back as a value: a worker's log, which others read,
holds none of its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.plugin.engines import DpcoreError, EngineError, Files, Query
from dpcore_dask.partition import Facts, Partition, Recipe

__all__ = ["Outcome", "answer", "facts", "names", "open_partition", "rehearse"]


@dataclass(frozen=True, repr=False)
class Outcome:
    """The value that a task returned, or the error that ended it."""

    value: Any = None
    error: DpcoreError | None = None

    def get(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


def names(files: Files) -> Outcome:
    """Return the names of the partitions."""
    return _outcome(files.names)


def open_partition(recipe: Recipe) -> Partition:
    """Return the partition, open unless ``facts`` is to say why it is not."""
    partition = Partition(recipe)
    _outcome(partition.facts)
    return partition


def facts(partition: Partition) -> Outcome:
    return _outcome(partition.facts)


def rehearse(partition: Partition, query: Query) -> Outcome:
    return _outcome(lambda: partition.rehearse(query))


def answer(partition: Partition, query: Query, seal: str) -> Outcome:
    return _outcome(lambda: partition.answer(query, seal))


def _outcome(work: Callable[[], Facts | np.ndarray | list[str] | None]) -> Outcome:
    try:
        return Outcome(work())
    except DpcoreError as error:
        return Outcome(error=error)
    except Exception as error:
        # Its own text may hold a private value.
        return Outcome(error=EngineError(f"{type(error).__name__} in a worker's sum."))
