"""The ledger that a run is to be charged to, as it was asked for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcore.data.schema.named_ledger import ledgers
from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema
    from dpcore.session.ledger import TableLedger

__all__ = ["LedgerRequest", "require_ledgers"]

_VARIABLE = "DPCORE_LEDGER"
_LONGEST = 200


@dataclass(frozen=True)
class LedgerRequest:
    """The ledger that a run is to be charged to.

    Parameters
    ----------
    ledger : its file; ``None`` for the schema's, or else that of ``DPCORE_LEDGER``, if any.
    analyst : who runs it, for the table of runs.
    same_table : whether a schema that the ledger does not know is of the same rows.

    Raises RegistryError where a ledger is named and no package that keeps ledgers is installed.
    """

    ledger: str | os.PathLike[str] | None = None
    analyst: str = ""
    same_table: bool = False

    def __post_init__(self) -> None:
        """Refuse what could not be noted, or shown: what is in a ledger stays there."""
        if not (self.ledger is None or isinstance(self.ledger, str | os.PathLike)):
            raise InvalidInputError(f"Expected ledger={self.ledger!r} to be a path or an address.")
        who = self.analyst
        if not (isinstance(who, str) and len(who) <= _LONGEST and who.isprintable()):
            raise InvalidInputError(
                f"Expected --as (analyst={who!r}) to be a text of at most {_LONGEST} printable "
                "characters: it is noted in the ledger."
            )
        require_ledgers(self.ledger, os.environ.get(_VARIABLE))

    def of(self, schema: Schema) -> str | None:
        """Return the path of the ledger of a table, ``None`` where it has none.

        Raises InvalidInputError where something is said of a ledger and there is none, and as
        ``require_ledgers``.
        """
        for path in (self.ledger, schema.ledger, os.environ.get(_VARIABLE) or None):
            if path is not None:
                require_ledgers(path)
                return os.fspath(path)
        if self.analyst or self.same_table:
            raise InvalidInputError(
                "Expected a ledger beside --as (analyst=) and --same-table (same_table=True), "
                "which are noted there: no option, schema or DPCORE_LEDGER names one."
            )
        return None

    def table_ledger(self, schema: Schema) -> TableLedger | None:
        """Return the ledger of a table, ``None`` where it has none. Raises as ``of``."""
        if (path := self.of(schema)) is None:
            return None
        ledger: TableLedger = ledgers()(path, self.analyst, self.same_table)
        return ledger

    def note_outside(self, schema: Schema, what: str) -> None:
        """Note in the table's ledger, if it has one, what is computed of its rows without
        privacy."""
        ledger = self.table_ledger(schema)
        if ledger is not None:
            ledger.outside((what,))


def require_ledgers(*named: str | os.PathLike[str] | None) -> None:
    """Raise RegistryError, with what to install, where a ledger is named and no package that keeps
    ledgers is installed: before any row is read."""
    if any(named):
        ledgers()
