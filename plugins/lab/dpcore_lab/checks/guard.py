"""Guards of every check: assertions that are made, and a part that is frozen."""

from typing import Any

from dpcore.errors import InvalidInputError

__all__ = ["require_assertions", "require_frozen"]


def require_assertions() -> None:
    """Raise InvalidInputError under ``python -O``, which removes every assertion."""
    if not __debug__:
        raise InvalidInputError("The checks are assertions: run Python without -O.")


def require_frozen(part: Any) -> None:
    """Raise AssertionError for an object of a dataclass that is not frozen."""
    stated = getattr(type(part), "__dataclass_params__", None)
    assert stated is None or stated.frozen, (
        f"{type(part).__name__} is a dataclass that is not frozen, so that what is checked of its "
        "fields could change after the check. Write @dataclass(frozen=True)."
    )
