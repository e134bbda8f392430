"""Partitions of a registered data set: each worker loads it by its name, and keeps its own part."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from dpcore.plugin.engines import Dataset, Registered, layout_of
from dpcore_dask.partition import Facts, Opened

__all__ = ["RegisteredSource"]


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
        part = self.rows.part(self.place, self.count)
        stated = part.rows_dropped, part.typed_by is not None, _seal(part), part.is_generated
        return Opened(part.table(), Facts(part.schema, part.n_units, *stated), None)


def _seal(part: Dataset) -> str:
    seal = hashlib.sha256(json.dumps(part.schema.to_dict(), sort_keys=True).encode("ascii"))
    for array in (part.y, *layout_of(part.X).parts(part.X)):
        seal.update(repr((array.dtype.str, array.shape)).encode("ascii"))
        seal.update(array.tobytes())
    return seal.hexdigest()
