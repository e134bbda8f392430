"""The ledger of a table: what all runs over it have cost, in one file that outlives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpcore.plugin import hookimpl

if TYPE_CHECKING:
    from dpcore_ledger.reservation import Reservation
    from dpcore_ledger.table_ledger import TableLedger
    from dpcore_ledger.terms import Terms

__all__ = ["Reservation", "TableLedger", "Terms"]

_PLACES = {
    "Reservation": "dpcore_ledger.reservation",
    "TableLedger": "dpcore_ledger.table_ledger",
    "Terms": "dpcore_ledger.terms",
}


def __getattr__(name: str) -> Any:
    """Return a name of the package, imported when it is asked for: hooks are read at each start of
    the command line."""
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


@hookimpl
def register_commands(register: Callable[..., None]) -> None:
    register(
        "ledger",
        "dpcore_ledger.command:ledger_commands",
        summary="Keep what all runs over a table have cost.",
        group="Runs over one table",
    )


@hookimpl
def register_ledgers(register: Callable[..., None]) -> None:
    register(
        "table",
        "dpcore_ledger.runs:LedgerOfRuns",
        summary="A file, or a database, that all runs over a table are charged to.",
    )


@hookimpl
def register_ledger_stores(register: Callable[..., None]) -> None:
    register(
        "sqlite",
        "dpcore_ledger.stores.sqlite:SqliteStore",
        summary="A SQLite file: every path whose suffix no other store claims.",
        suffixes=(".ledger", ".sqlite"),
    )
    register(
        "postgresql",
        "dpcore_ledger.stores.postgresql:PostgresqlStore",
        summary="A PostgreSQL database, for several machines: postgresql://HOST/DATABASE?ledger=NAME.",
        schemes=("postgresql", "postgres"),
    )
