"""Crosses of columns: a feature for each combination of their public levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore.plugin.columns import Entry, Key, Part, transforms

if TYPE_CHECKING:
    from dpcore.plugin.columns import FeatureColumn

__all__ = ["CROSS_KEYS", "Cross", "Crossed", "crosses_of"]

CROSS_KEYS = (Key("columns", '["city", "flag"]', "two or more columns of levels, bins or buckets"),)
_MOST_LEVELS = 2**20


@dataclass(frozen=True, slots=True)
class Cross:
    """The columns whose levels are combined.

    A row is in one combination at most, in none if one of its cells has no level: the features add
    at most 1 to the square of its l2 norm.
    """

    columns: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"columns": list(self.columns)}

    def over(self, features: Sequence[FeatureColumn]) -> Crossed:
        """Return the cross of these columns; InvalidInputError for a name that is none of them, or
        has no levels."""
        known = {column.name: column for column in features}
        for name in self.columns:
            if name not in known:
                raise InvalidInputError(f"The schema has no column {name!r} to cross.")
            if not known[name].encoding.levels:
                raise InvalidInputError(
                    f"Column {name!r} cannot be crossed, since it has no levels; give a number "
                    "bins."
                )
        found = Crossed(tuple(known[name] for name in self.columns))
        if math.prod(found.levels) > _MOST_LEVELS:
            raise InvalidInputError(
                f"The cross of {' and '.join(map(repr, self.columns))} has more than 2^20 levels."
            )
        return found


@dataclass(frozen=True, slots=True)
class Crossed:
    """The columns of a cross: ``levels`` counts those of each, with the empty cell's."""

    columns: tuple[FeatureColumn, ...]
    levels: tuple[int, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        levels = (len(column.encoding.levels) + column.indicator for column in self.columns)
        object.__setattr__(self, "levels", tuple(levels))

    @property
    def part(self) -> Part:
        return Part(math.prod(self.levels), is_code=True)

    @property
    def feature_names(self) -> tuple[str, ...]:
        words = [
            [
                *transforms.OneHot(column.encoding.levels).words,
                *(["empty"] if column.indicator else []),
            ]
            for column in self.columns
        ]
        name = "*".join(column.name for column in self.columns)
        return tuple(f"{name}={'*'.join(some)}" for some in product(*words))


def crosses_of(entries: Any) -> tuple[Cross, ...]:
    """Return what the tables of ``[[crosses]]`` describe, in order."""
    if not isinstance(entries, (list, tuple)):
        raise InvalidInputError("Expected crosses to be a list of tables, [[crosses]].")
    return tuple(map(_cross, entries))


def _cross(data: Any) -> Cross:
    if not isinstance(data, Mapping):
        raise InvalidInputError("Expected every entry of crosses to be a table.")
    Entry("an entry of crosses", data).check_keys(key.name for key in CROSS_KEYS)
    names = data.get("columns")
    if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
        raise InvalidInputError("Expected columns of an entry of crosses to be a list of names.")
    if len(names) < 2 or len(set(names)) < len(names):
        raise InvalidInputError("Expected two different columns or more in an entry of crosses.")
    return Cross(tuple(names))
