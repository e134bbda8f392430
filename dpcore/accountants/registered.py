"""The accountants that are registered, the core's and plugins' alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.errors import RegistryError
from dpcore.registry.catalogue import load_registry
from dpcore.registry.tables.declarations import accountant_facts

if TYPE_CHECKING:
    from dpcore.privacy.events import DpEvent

__all__ = ["registered_accountants", "target_of", "which_support"]


def registered_accountants() -> tuple[Any, ...]:
    """Return the classes of the accountants that hold several private releases: the fully adaptive
    first, of these pure epsilon last, and of the others the core's first; else as they were
    registered. One that cannot be loaded is left out.

    Examples
    --------
    >>> from dpcore.accountants.registered import registered_accountants
    >>> sorted(each.name for each in registered_accountants())[:3]
    ['advanced-composition', 'gdp', 'pld']
    """
    usable = []
    for owner, found in _loaded():
        facts = accountant_facts(found)
        if facts.holds_several and facts.private:
            pure, elsewhere = facts.delta_may_be_zero, owner != "dpcore"
            place = (False, pure, elsewhere) if facts.fully_adaptive else (True, False, False)
            usable.append((place, found))
    usable.sort(key=lambda pair: pair[0])
    return tuple(found for _, found in usable)


def which_support(event: DpEvent) -> list[str]:
    """Return the names of the accountants that can bound an event; of those for a fixed schedule
    alone only where it is a sample's."""
    usable = [c for c in registered_accountants() if hasattr(event, "event") or c.fully_adaptive]
    return [c.name for c in usable if c.supports(event)]


def target_of(accountant: Any) -> tuple[str, ...]:
    """Return the ``"module:Class"`` under which the class of an accountant is registered: what it
    says of its own module may be borrowed. Empty for an accountant that is not registered."""
    registry = load_registry()
    for entry in registry.in_order("accountant"):
        try:
            if registry.load("accountant", entry.name) is type(accountant):
                return (entry.target,)
        except RegistryError:
            continue
    return ()


def _loaded() -> list[tuple[str, Any]]:
    """Return the accountants that can be loaded, each with its distribution."""
    registry, found = load_registry("accountant"), []
    for entry in registry.in_order("accountant"):
        try:
            found.append((entry.distribution, registry.load("accountant", entry.name)))
        except RegistryError:
            continue
    return found
