"""The features that a column becomes, as its rows hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "OneNumber",
    "Part",
    "empty_keys",
    "level_names",
    "level_parts",
    "named_with_empty",
    "with_empty",
]


@dataclass(frozen=True, slots=True)
class Part:
    """Some features of a column, side by side.

    Parameters
    ----------
    width : how many features. Their names are worked out when somebody asks for them: a column may
        have a million.
    is_code : whether at most one of them is 1 and the others are 0, so that a row holds one small
        integer for all of them; otherwise each is a number in [0, 1].
    in_waiting : whether rows hold the number itself in the feature's place, NaN for an empty cell,
        until its bounds are known.
    """

    width: int
    is_code: bool = False
    in_waiting: bool = False


class OneNumber:
    """The features of a column whose cells become one number in [0, 1], and perhaps one more that
    is 1 where the cell is empty."""

    __slots__ = ()
    name: str
    fill: Any
    indicator: bool

    @property
    def parts(self) -> tuple[Part, ...]:
        return with_empty((Part(1),), self.indicator)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return named_with_empty(self.name, (self.name,), self.indicator)

    @property
    def square(self) -> int:
        """The most that the features add to the square of a row's norm: 1 for the number; another 1
        only where an empty cell has a number, its ``fill``, beside its indicator."""
        return 1 + (self.indicator and self.fill is not None)


def level_parts(n_levels: int, indicator: bool) -> tuple[Part, ...]:
    """Return the one part of a column of levels: a feature each, and one for the empty cell."""
    return (Part(n_levels + indicator, is_code=True),)


def level_names(name: str, levels: tuple[str, ...], indicator: bool) -> tuple[str, ...]:
    """Return the names of the features of a column of levels."""
    return named_with_empty(name, tuple(f"{name}={level}" for level in levels), indicator)


def with_empty(parts: tuple[Part, ...], indicator: bool) -> tuple[Part, ...]:
    """Return the parts, and the feature that is 1 where the cell is empty."""
    return (*parts, Part(1)) if indicator else parts


def named_with_empty(name: str, names: tuple[str, ...], indicator: bool) -> tuple[str, ...]:
    """Return the names of a column's features, and that of the feature for the empty cell."""
    return (*names, f"{name} is empty") if indicator else names


def empty_keys(fill: Any, indicator: bool, missing: tuple[str, ...]) -> dict[str, Any]:
    """Return the keys of a column that say which cells are empty, and what they become."""
    data = {} if fill is None else {"fill": fill}
    data |= {"indicator": True} if indicator else {}
    return data | ({"missing": list(missing)} if missing else {})
