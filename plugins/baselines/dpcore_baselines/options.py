"""Fields and checks that the optimizers of this plugin share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.errors import UnsupportedEventError
from dpcore.plugin.parts import accountant_facts, accountants_for, optimizer_facts

if TYPE_CHECKING:
    from dpcore.plugin import Accountant
    from dpcore.plugin.parts import DpEvent, Optimizer

__all__ = ["require_several"]


def require_several(optimizer: Optimizer, accountant: Accountant, *events: DpEvent) -> None:
    """Raise UnsupportedEventError, before the first of them is charged, for an accountant that
    holds these releases one by one and not together."""
    if all(map(accountant.supports, events)) and not accountant_facts(accountant).holds_several:
        raise UnsupportedEventError(
            f"{optimizer_facts(optimizer).name} makes {len(events)} or more releases here, and the "
            f"{accountant.name} accountant holds one; choose {accountants_for(optimizer, *events)}."
        )
