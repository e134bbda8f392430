"""The contract of a reader: rows of a file as they are, a piece at a time.

A reader is a function ``open(source, facts)``, registered with the suffixes of its files' names. It
sees private rows, so it is inside the trust boundary. What it hands over of a cell is a function of
that cell, of the schema and of the declared type of the column; it leaves out a malformed row under
``facts.drop``, and raises DataError otherwise, with the row's place and without its text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore_tables.raw.raw_matrix import RawMatrix
    from dpcore_tables.raw.raw_table import RawTable

__all__ = ["ReadFacts", "Reader", "RowFile", "wanted_names"]


@dataclass(frozen=True, slots=True)
class ReadFacts:
    """The public facts that rows are read by.

    Parameters
    ----------
    schema : of the rows.
    labelled : whether the label is asked for; if not, its column may be absent, and so may ids.
    drop : whether a malformed row is left out, by itself alone, or raises.
    promised : whether something is promised of the rows, as of those of a fit. Rows that a model
        scores, or that their owner looks at, need no claim on where they come from.
    """

    schema: Schema
    labelled: bool = True
    drop: bool = False
    promised: bool = True


def wanted_names(facts: ReadFacts) -> tuple[list[str], set[str]]:
    """Return the names of the columns to convert, and all that may be in a row."""
    schema, wanted = facts.schema, []
    for column in schema.columns:
        is_id = facts.labelled and column.name == schema.unit
        is_label = column is schema.label
        if is_id or column.kind != "drop" and (facts.labelled or not is_label):
            wanted.append(column.name)
    return wanted, {column.name for column in schema.columns}


class RowFile(Protocol):
    """One opened source."""

    def pieces(self) -> Iterator[RawTable | RawMatrix]:
        """Yield the rows as they are, one piece at least, with their places in the source. Where
        pieces end must not show in a row or a message."""

    def names(self) -> list[str]:
        """Return the names of the columns, without reading the rows; none of unnamed features."""

    def check(self) -> None:
        """Raise the DataError, if any, that reading the source as one piece raises before it comes
        to the cells."""


class Reader(Protocol):
    """A function that opens sources of one format, as it is registered."""

    def __call__(self, source: str, facts: ReadFacts) -> RowFile:
        """Return the opened source, perhaps before anything is read; InvalidInputError for a
        schema that does not fit the format."""
