"""The features that are numbers, of a schema's columns, and those that bend them."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from dpcore.data.schema.features.numeric import Numeric
from dpcore.data.schema.unbounded_columns import waits

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema

__all__ = ["curve_features", "number_features"]


def number_features(schema: Schema) -> tuple[int, ...]:
    """Return the places of the features that hold a numeric column's number between its bounds,
    private ones included: a public fact. Of unnamed features nothing is known."""
    return tuple(at for at, of in _placed(schema) if isinstance(of, Numeric) or waits(of))


def curve_features(schema: Schema) -> tuple[tuple[int, int], ...]:
    """Return first place and number of the hat functions behind each such number that has some."""
    known = [(at, of.parts) for at, of in _placed(schema) if isinstance(of, Numeric)]
    return tuple(
        (at + sum(part.width for part in parts[:-1]), parts[-1].width)
        for at, parts in known
        if parts[-1].width > 1
    )


def _placed(schema: Schema) -> zip[tuple[int, Any]]:
    columns = schema.features if schema.width is None else ()
    places = accumulate((sum(part.width for part in of.parts) for of in columns), initial=0)
    return zip(places, columns, strict=False)  # The last place is behind all of them.
