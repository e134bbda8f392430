"""The features that are numbers, of a schema's columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.data.schema.features.numeric import Numeric
from dpcore.data.schema.unbounded_columns import waits

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema

__all__ = ["number_features"]


def number_features(schema: Schema) -> tuple[int, ...]:
    """Return the places of the features that hold a numeric column's number between its bounds,
    private ones included: a public fact. Of unnamed features nothing is known."""
    if schema.width is not None:
        return ()
    places, at = [], 0
    for column in schema.features:
        if isinstance(column, Numeric) or waits(column):
            places.append(at)
        at += sum(part.width for part in column.parts)
    return tuple(places)
