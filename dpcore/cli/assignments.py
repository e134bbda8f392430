"""Options of names and values, ``NAME=VALUE``, that can be given several times."""

from __future__ import annotations

from dpcore.errors import InvalidInputError
from dpcore.registry.parameters import parse_assignment

__all__ = ["assigned"]


def assigned(texts: list[str] | None, option: str) -> dict[str, str]:
    """Return the values by name, in their order; InvalidInputError names the option otherwise."""
    pairs = [parse_assignment(text, option) for text in texts or ()]
    if len({key for key, _ in pairs}) < len(pairs):
        raise InvalidInputError(f"{option} sets the same name twice.")
    return dict(pairs)
