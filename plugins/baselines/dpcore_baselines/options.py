"""Fields and checks that the optimizers of this plugin share."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcore.errors import UnsupportedEventError
from dpcore.plugin import mechanism_in, noise_multiplier
from dpcore.plugin.commands import Plan
from dpcore.plugin.parts import Registry, optimizer_facts

if TYPE_CHECKING:
    from dpcore.plugin import Accountant
    from dpcore.plugin.parts import DpEvent, Optimizer

__all__ = ["noise_of_parts", "require_several"]


def require_several(optimizer: Optimizer, accountant: Accountant, *events: DpEvent) -> None:
    """Raise UnsupportedEventError, before the first of them is charged, for an accountant that
    holds these releases one by one and not together."""
    holds_several = Registry.facts_of("accountant", accountant).holds_several
    if all(map(accountant.supports, events)) and not holds_several:
        raise UnsupportedEventError(
            f"{optimizer_facts(optimizer).name} makes {len(events)} or more releases here, and the "
            f"{accountant.name} accountant holds one; choose "
            f"{Plan.accountants_for(optimizer, *events)}."
        )


def noise_of_parts(optimizer: Any, accountant: Accountant, parts: Fraction | int) -> Any:
    """Return the mechanism in the slot ``noise`` whose release costs one of so many equal parts of
    what is left of a budget."""
    kind, share = mechanism_in(optimizer, "noise"), Fraction(accountant.remaining) / parts
    return kind(noise_multiplier(accountant, kind.nominal_event, share))
