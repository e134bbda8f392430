"""The mechanisms in the slots of an optimizer: found by name, and refused before any data."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from dpcore.accountants.registered import registered_accountants, which_support
from dpcore.errors import InvalidInputError, RegistryError, UnsupportedEventError, near_names
from dpcore.privacy.events import DpEvent, PoissonSampledDpEvent
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.registry.catalogue import Registry, load_registry
from dpcore.registry.tables.optimizer_spec import optimizer_facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcore.fitting.request.settings import Settings
    from dpcore.protocols import Accountant
    from dpcore.protocols.optimizer import Optimizer
    from dpcore.registry.slots import Slot

__all__ = ["accountants_for", "fill_slots", "mechanism_in", "others_for"]


def fill_slots(
    factory: type[Optimizer], settings: Settings, preset: Mapping[str, Any], registry: Registry
) -> dict[str, str]:
    """Return the slots filled by the preset and, over it, by the user.

    Raises InvalidInputError, with what would do, for a slot that there is not, or a name that the
    slot cannot hold; RegistryError for a mechanism that cannot be loaded.
    """
    slots = factory.slots
    for name in settings.use:
        if name not in slots:
            raise InvalidInputError(
                f"{settings.algo} has no slot {name!r}."
                + (
                    near_names(name, slots)
                    if slots
                    else f" It has none: dpcore info {settings.algo} shows its theorem, which is "
                    "of a mechanism of its own."
                )
            )
    filled = {name: preset[name] for name in slots if name in preset} | dict(settings.use)
    for name, filling in filled.items():
        _require(settings.algo, name, slots[name], filling, registry)
    return filled


def mechanism_in(optimizer: Optimizer, slot: str, accountant: Accountant | None = None) -> Any:
    """Return the class of the mechanism in a slot of an optimizer, from its ``use`` or the default.

    ``accountant`` : the run's, which has to hold what every slot releases.

    Raises as ``fill_slots``, and UnsupportedEventError, with what would do, for an accountant that
    cannot bound the slot's events.

    Examples
    --------
    >>> from dpcore.plugin import Settings, mechanism_in
    >>> from dpcore.plugin.commands import make_plan
    >>> mechanism_in(make_plan(Settings(epsilon=0.5)).optimizer, "noise").name
    'gaussian'
    """
    mechanism = _class_in(optimizer, slot)
    if accountant is not None and not accountant.supports(mechanism.nominal_event(1.0)):
        raise UnsupportedEventError(
            f"{optimizer_facts(optimizer).name}'s slot {slot} ({_filling(optimizer, slot)}) cannot "
            f"be held by {accountant.name}; choose {_remedy(optimizer, slot, accountant)}."
        )
    return mechanism


def accountants_for(optimizer: Optimizer, *events: DpEvent) -> str:
    """Return the ``--accountant`` options under which an optimizer may make all of these releases.

    Its own accountant comes first; the text is empty where there is none.
    """
    stated = optimizer_facts(optimizer)
    own = load_registry().load("accountant", stated.accountant)
    usable = [
        accountant
        for accountant in (own, *registered_accountants())
        if accountant.fully_adaptive or stated.schedule is not None
    ]
    names = list(dict.fromkeys(a.name for a in usable if all(map(a.supports, events))))
    listed = [", ".join(names[:-1]), names[-1]] if len(names) > 1 else names
    return f"--accountant {' or '.join(listed)} (accountant=)" if names else ""


def others_for(slot: Slot, registry: Registry) -> tuple[str, ...]:
    """Return the installed mechanisms that fill a slot beside those that it names."""
    found = []
    for name in registry.names("mechanism"):
        try:
            if name not in slot.names and not _fault(slot, name, registry):
                found.append(name)
        except RegistryError:
            continue
    return tuple(found)


def _class_in(optimizer: Optimizer, slot: str) -> Any:
    name, registry = _filling(optimizer, slot), load_registry()
    _require(optimizer_facts(optimizer).name, slot, optimizer.slots[slot], name, registry)
    return registry.load("mechanism", name)


def _filling(optimizer: Any, slot: str) -> str:
    """Return the name of the mechanism in a slot."""
    return str(optimizer.use.get(slot, optimizer.slots[slot].names[0]))


def _require(algo: str, name: str, slot: Slot, filling: str, registry: Registry) -> None:
    fault = _fault(slot, filling, registry)
    if fault:
        known = (*slot.names, *others_for(slot, registry))
        raise InvalidInputError(
            f"The slot {name} of {algo} cannot hold {filling!r}: {fault}. It takes "
            f"{', '.join(slot.names)}, and {slot.beside_its_names}.{near_names(filling, known)}"
        )


def _fault(slot: Slot, name: str, registry: Registry) -> str:
    """Return why a slot cannot hold the mechanism of this name; empty if it can."""
    if name in slot.names:
        return ""
    if slot.closed:
        return "it is closed"
    if name not in registry.names("mechanism"):
        return "no mechanism of that name is registered"
    mechanism = registry.load("mechanism", name)
    if mechanism.needs not in slot.takes:
        return f"its noise is scaled to {mechanism.needs}"
    if getattr(mechanism, "nominal_event", None) is None:
        return (
            getattr(mechanism, "no_slot", "")
            or "it states no nominal_event, by which the noise of a share of the budget is found"
        )
    if getattr(mechanism, "is_share", False):
        return "it draws a share of the noise that it is charged for"
    try:
        inspect.signature(mechanism).bind(1.0)
    except TypeError:
        return "it is not built from a noise multiplier alone"
    if slot.sampled and not which_support(
        PoissonSampledDpEvent(
            0.5, mechanism.nominal_event(1.0), NeighboringRelation.ADD_OR_REMOVE_ONE
        )
    ):
        return "no accountant that is installed bounds Poisson samples of it"
    return ""


def _remedy(optimizer: Optimizer, slot: str, accountant: Accountant) -> str:
    """Return the options with which all of the slots' events can be held."""
    registry = load_registry()
    fitting = [
        f"--use {slot}={name} (use={{{slot!r}: {name!r}}})"
        for name in optimizer.slots[slot].names
        if accountant.supports(registry.load("mechanism", name).nominal_event(1.0))
    ]
    events = [_class_in(optimizer, name).nominal_event(1.0) for name in optimizer.slots]
    others = accountants_for(optimizer, *events)
    return ", or ".join([*fitting, *([others] if others else [])]) or "another mechanism"
