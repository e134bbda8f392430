"""Rows that an engine's own processes read: where they are, and the public facts of them.

The process that asks for a fit reads none of these rows.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias

from dpcore.errors import InvalidInputError
from dpcore.privacy.first_party import part_of

if TYPE_CHECKING:
    import numpy as np

    from dpcore.data.schema.schema import Schema
    from dpcore.privacy.unit_of_privacy import RowPart

__all__ = [
    "BadRows",
    "Files",
    "FrameParts",
    "Registered",
    "RowFacts",
    "RowSource",
    "RowsElsewhere",
    "parts_of_rows",
]

BadRows = Literal["refuse", "drop"]
"""Whether a row that does not satisfy the schema is an error, or is left out."""


@dataclass(frozen=True)
class Files:
    """Partitions of a table: Parquet files or stores, each read by whoever sums over it.

    Parameters
    ----------
    place : a file, a folder or a pattern.
    bad_rows : whether a row that does not satisfy the schema is an error, or is left out.
    address : where the engine's processes are, in the engine's own words; ``None`` : it starts
        them.
    seed : the run's, from which follows which rows of a unit are used; ``None`` : by fresh coins.
    """

    place: str
    bad_rows: BadRows = "refuse"
    address: str | None = None
    seed: int | None = None

    kind: ClassVar[Literal["files"]] = "files"

    @property
    def title(self) -> str:
        return os.path.basename(os.path.abspath(self.place))

    @staticmethod
    def format_of(path: str, format: str | None = None) -> str:
        """Return the format to read ``path`` with: ``format``, or by its suffix; of standard input
        ("-") it is csv, of a folder parquet. A further ``.gz`` is unpacked.

        Raises InvalidInputError for an unknown format or suffix.

        Examples
        --------
        >>> from dpcore.plugin.engines import Files
        >>> Files.format_of("rows.csv.gz"), Files.format_of("rows.parquet")
        ('csv', 'parquet')
        """
        from dpcore.data.loader import file_loader

        return file_loader().format_of(path, format)

    def names(self) -> list[str]:
        """Return the partitions, in the order of their names, as they are called from everywhere;
        DataError if there is none."""
        from dpcore.data.loader import file_loader

        return file_loader().partitions(os.path.abspath(self.place))


@dataclass(frozen=True, eq=False)
class FrameParts:
    """A frame in partitions that are worked out elsewhere, a collection of Dask with columns.

    ``address``, ``seed`` : as of ``Files``.
    Raises InvalidInputError for a collection without columns.
    """

    frame: Any
    address: str | None = None
    seed: int | None = None

    kind: ClassVar[Literal["frame"]] = "frame"
    title: ClassVar[str] = "frame"

    @staticmethod
    def are(rows: Any) -> bool:
        """Return whether rows are a collection of Dask, which says so by ``__dask_graph__``: its
        partitions are worked out where its workers are."""
        return hasattr(rows, "__dask_graph__")

    def __post_init__(self) -> None:
        # A series has a column too, but neither names nor types of several.
        if getattr(self.frame, "ndim", None) != 2 or not hasattr(self.frame, "columns"):
            raise InvalidInputError(
                "Expected rows of Dask to be a frame of named columns, its label among them."
            )


@dataclass(frozen=True)
class Registered:
    """A registered data set, whose parts are loaded elsewhere. ``address`` : as of ``Files``."""

    name: str
    address: str | None = None

    kind: ClassVar[Literal["registered"]] = "registered"

    @property
    def title(self) -> str:
        return self.name


RowSource: TypeAlias = Files | FrameParts | Registered
"""Where an engine finds rows that it reads itself."""


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
    def typed_by(self) -> str | None: ...
    @property
    def part(self) -> RowPart | None: ...
    @property
    def read_by(self) -> tuple[str, ...]: ...
    @property
    def rests_on_claim(self) -> bool: ...


def parts_of_rows(rows: RowFacts) -> tuple[str, ...]:
    """Return ``"module:Class"`` of what saw the rows before any query did: the kinds of their
    columns, what read them, and the type of rows with a layout of their own."""
    from dpcore.data.registered_loader import foreign_loader

    X: Any = getattr(rows, "X", None)
    read = [*rows.schema.columns, *([X] if hasattr(type(X), "row_layout") else ())]
    return (*sorted({*map(part_of, read)}), *rows.read_by, *foreign_loader())


@dataclass(frozen=True)
class RowsElsewhere:
    """The public facts of rows that only an engine has; to a fit what a ``Dataset`` says of its own
    (``dpcore.data.dataset``).

    ``n_units`` : the number of units, rows where the schema has none: private under
    add-or-remove-one. Of units of several rows at most ``rows_per_unit`` are among the rows.
    """

    name: str
    schema: Schema
    n_units: int
    rows_dropped: bool = False
    typed_by: str | None = None
    is_generated: bool = False
    read_by: tuple[str, ...] = ()

    units: ClassVar[None] = None
    weights: ClassVar[None] = None
    part: ClassVar[None] = None

    @property
    def rests_on_claim(self) -> bool:
        """Whether units were bounded in each partition by itself, which bounds them as a whole
        where each is in one of them."""
        return self.schema.unit is not None

    def __repr__(self) -> str:
        return f"RowsElsewhere({self.name!r}, n_features={self.schema.n_features})"
