"""Fields and checks that the optimizers of this plugin share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.plugin import UnsupportedEventError
from dpcore.plugin.parts import accountant_facts

if TYPE_CHECKING:
    from dpcore.plugin import Accountant
    from dpcore.plugin.parts import DpEvent

__all__ = ["require_several"]


def require_several(name: str, accountant: Accountant, *events: DpEvent) -> None:
    """Raise UnsupportedEventError, before the first of them is charged, for an accountant that
    holds these releases one by one and not together."""
    if all(map(accountant.supports, events)) and not accountant_facts(accountant).holds_several:
        raise UnsupportedEventError(
            f"{name} makes {len(events)} or more releases here, and the {accountant.name} "
            "accountant holds one; choose --accountant gdp, zcdp or rdp."
        )
