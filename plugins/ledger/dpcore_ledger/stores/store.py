"""The contract of a store: rows of a ledger, changed in transactions that are on disk when done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

__all__ = ["COPY", "TABLES", "Answer", "Rows", "Store"]

TABLES = (
    """
CREATE TABLE main.entry (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, at TEXT NOT NULL, body TEXT NOT NULL,
    digest TEXT NOT NULL
)
""",
    """
CREATE TABLE main.release (
    run INTEGER NOT NULL, place INTEGER NOT NULL, body TEXT NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (run, place)
)
""",
    # Runs that were closed, whoever closed them: their releases are refused.
    "CREATE TABLE main.ended (run INTEGER PRIMARY KEY)",
)
"""The tables of a ledger, in SQL that every store reads."""
COPY = (
    "Charge nothing to it any more: take its last whole copy, and hold that against the models "
    "that were made since (`dpcore ledger verify COPY MODELS`)."
)
"""The advice beside every kind of damage."""


class Answer(Protocol):
    """Rows that a statement found, or the count of those that it wrote."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...


class Rows(Protocol):
    """A connection, lent for a while. In a statement ``?`` is a value, and ``main`` the ledger."""

    def execute(self, statement: str, values: Sequence[Any] = ..., /) -> Answer: ...


class Store(Protocol):
    """The place of one ledger.

    All of it raises LedgerError where the ledger is not there, is none, was damaged, or cannot be
    written, and leaves it as it was: what is said within a ``with`` is done whole or not at all.

    Parameters
    ----------
    address : as messages name it, without a secret.
    stays_open : whether the connection is kept between calls, until ``close``.
    """

    address: str
    stays_open: bool

    def creating(self) -> AbstractContextManager[Rows]:
        """Lend the tables of a new ledger; LedgerError where there is one already."""

    def reading(self) -> AbstractContextManager[Rows]:
        """Lend the tables to read, as they are at one moment."""

    def writing(self) -> AbstractContextManager[Rows]:
        """Lend the tables to who alone may write until the end, when all is on disk."""

    def logging(self) -> AbstractContextManager[Rows]:
        """Lend the table of releases to a statement that need not wait for the disk."""

    def close(self) -> None:
        """Close the connections of this process; the next call opens others."""
