"""The schema that an array's public bounds make, or that was named in their place."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpcore.data.schema.columns import Numeric
from dpcore.data.schema.features.width import width_schema
from dpcore.data.schema.installed import column_from_dict
from dpcore.data.schema.schema import Schema
from dpcore.data.schema.values import Entry
from dpcore.errors import InvalidInputError, replacing

__all__ = ["array_schema", "schema_beside"]


def schema_beside(schema: Schema | None, width: int, *, n0: int | None, **public: Any) -> Schema:
    """Return the schema that was named beside rows, or that of an array's width and of what is
    public of it; InvalidInputError for both."""
    if schema is None:
        return array_schema(width, rows=n0, **public)
    others = {k: v for k, v in public.items() if k not in ("private_bounds", "intercept")}
    Schema.refuse_beside("the schema", n0=n0, **others)
    return schema


def array_schema(
    width: int,
    bounds: Sequence[Any] | None,
    row_norm: float | None,
    private_bounds: bool = False,
    **options: Any,
) -> Schema:
    """Return the schema of ``width`` unnamed features, or, with ``bounds`` or private ones, of as
    many numeric columns x1, x2, ...

    ``bounds`` : (lower, upper), each a number or one per column. ``options`` : of ``width_schema``.
    """
    if bounds is not None and private_bounds:
        raise InvalidInputError("Expected bounds or private_bounds, not both.")
    if bounds is None and not private_bounds:
        if row_norm is None:
            raise InvalidInputError(
                "Expected row_norm to be a number: without bounds=(lower, upper) of the columns no "
                "bound of a row follows."
            )
        return width_schema(width, row_norm=row_norm, **options)
    schema = width_schema(width, row_norm=row_norm, header=True, separator=",", **options)
    names = [f"x{j + 1}" for j in range(width)]
    columns = _waiting(names) if bounds is None else _bounded(names, bounds)
    return replace(schema, width=None, columns=(*columns, schema.label))


def _waiting(names: list[str]) -> list[Any]:
    both = {"kind": "numeric", "lower": Entry.PRIVATE, "upper": Entry.PRIVATE}
    return [column_from_dict(name, both) for name in names]


def _bounded(names: list[str], bounds: Sequence[Any]) -> list[Numeric]:
    width = len(names)
    no_bounds = InvalidInputError(
        f"Expected bounds = (lower, upper), each a number or one for each of {width} columns."
    )
    with replacing(TypeError, ValueError, by=lambda _: no_bounds):
        lower, upper = (np.broadcast_to(np.asarray(b, np.float64), width).tolist() for b in bounds)
    return [Numeric(name, lower[j], upper[j]) for j, name in enumerate(names)]
