"""Guards of every check: assertions that are made, and a part that is frozen."""

from typing import Any

from dpcore.errors import InvalidInputError
from dpcore.privacy.immutable import fault_of_unfrozen

__all__ = ["require_assertions", "require_frozen"]


def require_assertions() -> None:
    """Raise InvalidInputError under ``python -O``, which removes every assertion."""
    if not __debug__:
        raise InvalidInputError("The checks are assertions: run Python without -O.")


def require_frozen(part: Any) -> None:
    """Raise AssertionError for an object of a dataclass that is not frozen."""
    fault = fault_of_unfrozen(type(part))
    assert not fault, f"{type(part).__name__} {fault}"
