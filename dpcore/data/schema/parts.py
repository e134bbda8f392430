"""The features that a column becomes, as its rows hold them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Part", "indicator_of", "level_parts"]


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


def indicator_of(name: str) -> str:
    """Return the name of the feature that is 1 where a column's cell is empty."""
    return f"{name} is empty"


def level_parts(name: str, levels: tuple[str, ...], indicator: bool) -> tuple[Part, ...]:
    """Return the one part of a column of levels: a feature each, and one for the empty cell."""
    features = [f"{name}={level}" for level in levels]
    if indicator:
        features.append(indicator_of(name))
    return (Part(tuple(features), is_code=True),)
