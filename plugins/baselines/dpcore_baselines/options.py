"""Fields and checks that the optimizers of this plugin share."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from dpcore.plugin import InvalidInputError, UnsupportedEventError
from dpcore.plugin.parts import ComposedDpEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcore.plugin import Accountant
    from dpcore.plugin.parts import DpEvent

__all__ = ["check_ranges", "option", "require_several"]


def option(default: Any, help: str, unit: str = "", rule: str = "") -> Any:
    """Return a dataclass field with what ``dpcore info`` shows of it."""
    return field(default=default, metadata={"help": help, "unit": unit, "rule": rule})


def check_ranges(optimizer: Any, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Raise InvalidInputError for a field that is neither ``None`` nor within its closed range."""
    for name, (low, high) in ranges.items():
        value = getattr(optimizer, name)
        if value is not None and not low <= value <= high:
            raise InvalidInputError(
                f"{name}={value!r} is out of range; see dpcore info {optimizer.name}."
            )


def require_several(name: str, accountant: Accountant, *events: DpEvent) -> None:
    """Raise UnsupportedEventError, before the first of them is charged, for an accountant that
    holds these releases one by one and not together."""
    if all(map(accountant.supports, events)) and not accountant.supports(ComposedDpEvent(events)):
        raise UnsupportedEventError(
            f"{name} makes {len(events)} or more releases here, and the {accountant.name} "
            "accountant holds one; choose --accountant gdp, zcdp or rdp."
        )
