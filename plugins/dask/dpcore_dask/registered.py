"""Partitions of a registered data set: each worker loads it by its name, and keeps its own part.

That a row is in one part is true of parts of one whole. A loader that shuffles, or reads what
differs from worker to worker, has another whole each time: a row could be in several parts, and
count as often. So the seal of every part is a hash over the whole, the same wherever it is loaded.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.engines import Registered
from dpcore.plugin.parts import Dataset, Table, load_registry
from dpcore_dask.partition import Facts, Opened, new_mmap_store

__all__ = ["RegisteredSource", "load_whole", "part_of", "require_one_whole"]


@dataclass(frozen=True)
class RegisteredSource:
    """Part ``place``, from 0, of ``count`` of a data set's blocks."""

    rows: Registered
    place: int
    count: int
    versions: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        return f"part {self.place + 1} of {self.rows.name}"

    def stamp(self) -> None:
        return None

    def open(self) -> Opened:
        whole = load_whole(self.rows.name)
        if whole.weights is not None:
            raise InvalidInputError(
                f"The data set {self.rows.name} has weights of rows, which only the engine local "
                "takes."
            )
        if whole.units is not None:
            raise InvalidInputError(
                f"The data set {self.rows.name} has units of several rows, and its parts are of "
                "blocks, which may cut one in two: take the engine local."
            )
        part = part_of(whole, self.place, self.count)
        stated = part.rows_dropped, part.typed_by is not None, _seal(whole), part.is_generated
        table, facts = part.table(), Facts(part.schema, part.n_units, *stated)
        return Opened(part.X, table, facts, None, new_mmap_store(table.n_rows))


def load_whole(name: str) -> Dataset:
    """Return a registered data set, loaded here."""
    whole: Dataset = load_registry().load("dataset", name)()
    return whole


def part_of(whole: Dataset, place: int, count: int) -> Dataset:
    """Return part ``place``, from 0, of ``count`` of a data set's blocks, each of them in one
    part."""
    block = np.arange(whole.n_units) // Table.BLOCK_ROWS
    blocks = -(-whole.n_units // Table.BLOCK_ROWS)
    return whole.take(block * count // max(1, blocks) == place)


def require_one_whole(name: str, found: Sequence[Facts]) -> None:
    """Raise DataError unless the parts of a data set are of the same rows in the same order."""
    if len({facts.seal for facts in found}) > 1:
        raise DataError(
            f"The data set {name} is another one each time it is loaded, or on each worker, so "
            "that a row could count in several parts: write it to files, and name these."
        )


def _seal(whole: Dataset) -> str:
    seal = hashlib.sha256(json.dumps(whole.schema.to_dict(), sort_keys=True).encode("ascii"))
    for array in (whole.y, *Table.layout_of(whole.X).parts(whole.X)):
        seal.update(repr((array.dtype.str, array.shape)).encode("ascii"))
        seal.update(array.tobytes())
    return seal.hexdigest()
