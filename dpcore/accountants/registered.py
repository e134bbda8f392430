"""The accountants that are registered, the core's and plugins' alike, and the refusal of an event
that one has no rule for: its kind, and who can bound it."""

from __future__ import annotations

from typing import Any

from dpcore.errors import RegistryError
from dpcore.privacy.events import DpEvent, NonPrivateDpEvent
from dpcore.privacy.stated_events import ApproximateDpEvent
from dpcore.registry.catalogue import load_registry
from dpcore.registry.tables.optimizer_spec import accountant_facts

__all__ = [
    "described",
    "registered_accountants",
    "target_of",
    "unsupported",
    "which_can",
    "which_support",
]


def registered_accountants() -> tuple[Any, ...]:
    """Return the classes of the accountants that hold several private releases: the fully adaptive
    first, of these pure epsilon last, and of the others the core's first; else as they were
    registered. One that cannot be loaded is left out.

    Examples
    --------
    >>> from dpcore.accountants.registered import registered_accountants
    >>> sorted(each.name for each in registered_accountants())[:3]
    ['advanced-composition', 'basic', 'gdp']
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
    return [
        each.name
        for each in registered_accountants()
        if (hasattr(event, "event") or each.fully_adaptive) and each.supports(event)
    ]


def described(event: DpEvent) -> str:
    """Return the name of an event's type, and of the event that it is a sample of."""
    inner, relation = (getattr(event, name, None) for name in ("event", "relation"))
    return "".join(
        (
            type(event).__name__,
            "" if inner is None else f" of a {type(inner).__name__}",
            "" if relation is None else f" under {relation.value}",
        )
    )


def which_can(event: DpEvent) -> str:
    """Return which accountants can bound an event, as a clause: where none can that is fully
    adaptive, those that hold a schedule fixed beforehand."""
    names = (adaptive := which_support(event)) or [
        each.name for each in registered_accountants() if each.supports(event)
    ]
    # Of an (epsilon, delta) release every filter keeps a part of delta, taken from a schedule.
    is_stated = not adaptive or type(event) is ApproximateDpEvent
    if not names:
        return "no accountant that is installed can" + (
            ", since theorems of samples are of normal noise: --use SLOT=gaussian (use=)"
            if hasattr(event, "event")
            else ""
        )
    return f"{', '.join(names)} can" + (
        ", where the algorithm states its schedule beforehand" if is_stated else ""
    )


def unsupported(name: str, event: DpEvent) -> str:
    """Return why an accountant refuses an event, and which others can bound it."""
    kind, hint = described(event), which_can(event)
    if isinstance(event, NonPrivateDpEvent):
        hint = (
            "it is an exact answer: --accountant none (accountant='none'), which guarantees "
            "nothing, counts those"
        )
    named = f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind}"
    return f"The {name} accountant cannot bound the cost of {named}; {hint}."


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
