"""The ledger that a schema names, and the package that keeps ledgers."""

from typing import Any

from dpcore.errors import RegistryError
from dpcore.moved import where_to_get
from dpcore.registry.catalogue import load_registry

__all__ = ["check_ledger", "kept_by", "ledgers"]

_LEDGER = "ledger", "table"
"""The kind, and the one name of it that there is: ledgers of two packages would be two budgets."""


def check_ledger(ledger: str) -> None:
    """Raise InvalidInputError for an address with a secret, which a schema would show. Without a
    package that keeps ledgers no address is known, and no run is made."""
    kind, name = _LEDGER
    if ":" in ledger and name in load_registry(kind).names(kind):
        ledgers().check_address(ledger)


def ledgers() -> Any:
    """Return the class of ledgers, a ``dpcore.session.ledger.TableLedger``.

    Raises RegistryError, with what to install, where there is none.
    """
    registry = load_registry(_LEDGER[0])
    if not registry.names(_LEDGER[0]) and not registry.failures:
        raise RegistryError(f"No package that keeps ledgers is installed. {where_to_get(*_LEDGER)}")
    return registry.load(*_LEDGER)


def kept_by() -> str:
    """Return ``"module:Class"`` of it, as it is registered."""
    return load_registry(_LEDGER[0]).get(*_LEDGER).target
