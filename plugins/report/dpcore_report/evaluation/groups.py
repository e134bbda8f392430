"""The public groups of rows: the values of a column; a row has one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.plugin.columns import transforms
from dpcore.plugin.parts import sealed

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin.columns import FeatureColumn
    from dpcore.plugin.parts import Block

__all__ = ["OTHERS", "Groups", "groups_of"]

OTHERS = "none of these"
_MOST = 100


@sealed
@dataclass(frozen=True, slots=True)
class Groups:
    """The groups that rows are divided into, by features of a column, 0 or 1 each.

    Parameters
    ----------
    column : its name in the schema.
    places : of the features; a row has at most one of them above 0.
    names : of the groups, those of the features and a last one of the rows without any.
    """

    column: str
    places: tuple[int, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.places) + 1:
            raise InvalidInputError("Expected a name for each place, and one for all other rows.")

    def of_rows(self, block: Block, n_features: int) -> np.ndarray:
        """Return the place of each row's group, int64: by the row's own features alone, so that
        every row has one and no other row has to do with it. ``n_features`` : of a row."""
        found = np.full(block.y.size, len(self.places), dtype=np.int64)
        for group, place in enumerate(self.places):
            feature = np.zeros(n_features)
            feature[place] = 1.0
            found[block.margins(feature) > 0] = group
        return found


def groups_of(schema: Schema, by: str) -> Groups:
    """Return the groups of a schema's column of listed categories or of truth values.

    Raises InvalidInputError, with the columns that have some, for any other column.
    """
    at, fitting = 0, []
    for column in schema.features if schema.width is None else ():
        names = _names(column)
        fitting += [column.name] if names else []
        if names and column.name == by:
            n_features = len(names) - 1
            return Groups(by, tuple(range(at, at + n_features)), names)
        at += len(column.feature_names)
    listed = f"; these are: {', '.join(fitting)}" if fitting else ""
    raise InvalidInputError(
        f"Expected --evaluate-by (by= of Evaluation) to name a feature of the schema with public "
        f"categories, up to {_MOST}, or truth values, which {by!r} is not{listed}."
    )


def _names(column: FeatureColumn) -> tuple[str, ...]:
    """Return the names of the groups of a column, the last for rows without a feature; none of a
    column that has no listed values."""
    encoding = column.encoding
    if isinstance(encoding.reading, transforms.Truth) and not encoding.indicator:
        return ("true", "false")
    is_listed = isinstance(encoding.reading, transforms.Lookup) and encoding.is_code
    if not is_listed or len(column.feature_names) > _MOST:
        return ()
    levels = (name.removeprefix(f"{column.name}=") for name in column.feature_names)
    return (*levels, OTHERS)
