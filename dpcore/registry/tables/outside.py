"""Tables of the facts of parts that see no row: exporters, ledgers, and stores of ledgers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpcore.registry.tables.class_metadata import TEXT, Method, fact

__all__ = ["ExporterFacts", "LedgerFacts", "LedgerStoreFacts"]


@dataclass(frozen=True, kw_only=True)
class ExporterFacts:
    """Facts that the class of an exporter states."""

    content: Callable[..., bytes] = fact(
        Method(("model",), of_class=True),
        "A class method: returns the bytes of a `Model`'s file, or refuses by InvalidInputError.",
    )
    writes: str = fact(TEXT, "The word for the file, which is printed before its name.", "File")
    check: Callable[..., None] | None = fact(
        Method((), of_class=True),
        "A class method: refuses before a model is read, such as where a library is missing.",
        None,
    )


@dataclass(frozen=True, kw_only=True)
class LedgerStoreFacts:
    """Facts that the class of a ledger's store states."""

    creating: Callable[..., Any] = fact(Method(()), "Lends the tables of a new ledger.")
    reading: Callable[..., Any] = fact(Method(()), "Lends the tables, as they are at one moment.")
    writing: Callable[..., Any] = fact(
        Method(()), "Lends the tables to one writer, whose changes are on disk at the end, or none."
    )
    logging: Callable[..., Any] = fact(
        Method(()), "Lends the table of releases; what is written need not wait for the disk."
    )
    close: Callable[..., None] = fact(Method(()), "Closes the connections of this process.")


@dataclass(frozen=True, kw_only=True)
class LedgerFacts:
    """Facts that the class of a table's ledger states (``dpcore.session.ledger.TableLedger``)."""

    check_address: Callable[..., None] = fact(
        Method(("address",), of_class=True), "Refuses an address that is none, or has a secret."
    )
    reserve: Callable[..., Any] = fact(
        Method(("run",)), "Returns a run's place, its whole budget charged, or refuses."
    )
    by_release: Callable[..., Any] = fact(
        Method(("run",)), "Returns a run's place, each release of which is charged by itself."
    )
    outside: Callable[..., None] = fact(
        Method(("why_not_private", "run")), "Notes what guarantees nothing, and charges nothing."
    )
    note_model: Callable[..., None] = fact(
        Method(("reference", "out")), "Notes that the model of a run is in a file now."
    )
