"""Fields and checks that the optimizers of this plugin share."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_ranges", "option"]


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
