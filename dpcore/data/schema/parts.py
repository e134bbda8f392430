"""The features that a column becomes, as its rows hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Part", "empty_keys", "level_parts", "with_empty"]


@dataclass(frozen=True, slots=True)
class Part:
    """Some features of a column, side by side.

    Parameters
    ----------
    names : a name for each feature.
    is_code : whether at most one of them is 1 and the others are 0, so that a row holds one small
        integer for all of them; otherwise each is a number in [0, 1].
    """

    names: tuple[str, ...]
    is_code: bool = False


def level_parts(name: str, levels: tuple[str, ...], indicator: bool) -> tuple[Part, ...]:
    """Return the one part of a column of levels: a feature each, and one for the empty cell."""
    features = [f"{name}={level}" for level in levels]
    if indicator:
        features.append(_indicator(name))
    return (Part(tuple(features), is_code=True),)


def with_empty(name: str, parts: tuple[Part, ...], indicator: bool) -> tuple[Part, ...]:
    """Return the parts, and the feature that is 1 where the cell is empty."""
    return (*parts, Part((_indicator(name),))) if indicator else parts


def empty_keys(fill: Any, indicator: bool) -> dict[str, Any]:
    """Return the keys of a column that say what an empty cell becomes."""
    data = {} if fill is None else {"fill": fill}
    return data | ({"indicator": True} if indicator else {})


def _indicator(name: str) -> str:
    return f"{name} is empty"
