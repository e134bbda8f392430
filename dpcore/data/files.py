"""Rows in files that an engine's own processes read: their names, and the public facts of the rows.

The process that asks for a fit reads none of these rows.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from dpcore.data.readers.places import partition_files

if TYPE_CHECKING:
    import numpy as np

    from dpcore.data.readers import BadRows
    from dpcore.data.row_part import RowPart
    from dpcore.data.schema.schema import Schema

__all__ = ["Files", "RowFacts", "RowsElsewhere"]


@dataclass(frozen=True)
class Files:
    """Partitions of a table: Parquet files or stores, each read by whoever sums over it.

    Parameters
    ----------
    place : a file, a folder or a pattern.
    bad_rows : whether a row that does not satisfy the schema is an error, or is left out.
    address : where the engine's processes are, in the engine's own words; ``None`` : it starts
        them.
    """

    place: str
    bad_rows: BadRows = "refuse"
    address: str | None = None

    def names(self) -> list[str]:
        """Return the partitions, in the order of their names, as they are called from everywhere;
        DataError if there is none."""
        return partition_files(os.path.abspath(self.place))


class RowFacts(Protocol):
    """The facts of rows that a fit asks for, wherever they are; as ``dpcore.data.dataset.Dataset``
    has them."""

    @property
    def name(self) -> str: ...
    @property
    def schema(self) -> Schema: ...
    @property
    def n_units(self) -> int: ...
    @property
    def units(self) -> np.ndarray | None: ...
    @property
    def weights(self) -> np.ndarray | None: ...
    @property
    def is_generated(self) -> bool: ...
    @property
    def rows_dropped(self) -> bool: ...
    @property
    def typed_by(self) -> Literal["frame", "file"] | None: ...
    @property
    def part(self) -> RowPart | None: ...


@dataclass(frozen=True)
class RowsElsewhere:
    """The public facts of rows that only an engine has; to a fit what a ``Dataset`` says of its own
    (``dpcore.data.dataset``).

    ``n_units`` : the number of rows, private under add-or-remove-one.
    """

    name: str
    schema: Schema
    n_units: int
    rows_dropped: bool = False
    typed_by: Literal["file"] | None = None

    is_generated: ClassVar[bool] = False
    units: ClassVar[None] = None
    weights: ClassVar[None] = None
    part: ClassVar[None] = None

    def __repr__(self) -> str:
        return f"RowsElsewhere({self.name!r}, n_features={self.schema.n_features})"
