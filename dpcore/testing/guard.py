"""The checks are assertions: without assertions every cheat would pass."""

from dpcore.errors import InvalidInputError

__all__ = ["require_assertions"]


def require_assertions() -> None:
    """Raise InvalidInputError under ``python -O``, which removes every assertion."""
    if not __debug__:
        raise InvalidInputError("The checks are assertions: run Python without -O.")
