"""Fields of a frozen dataclass that are plain data, and nothing that only looks like it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from dpcore.errors import replacing
from dpcore.plugin import InvalidInputError

__all__ = ["take_plain"]

_KINDS: dict[Any, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool,),
    "int": (int,),
    "float": (float, int, np.float64),
    "float | None": (float, int, np.float64, type(None)),
    "tuple[tuple[float, float], ...]": (tuple, list),
}
_MOST = 2**63 - 1


def take_plain(part: Any) -> None:
    """Make a dataclass's numbers plain ones.

    Raises InvalidInputError for a value of another type than its field, subclasses included, which
    may compare and convert as they like, and for a number beyond 64 bits, which no float may hold.
    """
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if type(value) not in _KINDS[field.type]:
            kind = type(value).__name__
            raise InvalidInputError(f"Expected {field.name} to be a {field.type}, not a {kind}.")
        if field.type == "int" and not -_MOST <= value <= _MOST:
            raise InvalidInputError(f"Expected {field.name} to be a number of 64 bits.")
        if field.type.startswith("float") and value is not None:  # type: ignore[union-attr]
            object.__setattr__(part, field.name, _plain_float(field.name, value))
        if field.type.startswith("tuple"):  # type: ignore[union-attr]
            object.__setattr__(part, field.name, _plain_pairs(field.name, value))


def _plain_float(name: str, value: Any) -> float:
    too_large = InvalidInputError(f"Expected {name} to be a number of 64 bits.")
    with replacing(OverflowError, by=lambda _: too_large):
        return float(value)


def _plain_pairs(name: str, value: Any) -> tuple[tuple[float, float], ...]:
    no_pairs = InvalidInputError(f"Expected {name} to be pairs of numbers.")
    with replacing(TypeError, ValueError, OverflowError, by=lambda _: no_pairs):
        return tuple((float(first), float(second)) for first, second in value)
