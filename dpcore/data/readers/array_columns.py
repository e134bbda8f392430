"""Arrays as a schema's numeric columns, and the schema that an array's public bounds make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dpcore.data.readers.in_memory import is_sparse, labels_of, real_matrix
from dpcore.data.readers.raw_table import RawTable
from dpcore.data.schema.columns import Numeric, Unbounded
from dpcore.data.schema.features.width import width_schema
from dpcore.data.schema.schema import Schema
from dpcore.errors import DataError, InvalidInputError, replacing

__all__ = ["array_schema", "array_table", "leave_to_schema"]


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
    columns = map(Unbounded, names) if bounds is None else _bounded(names, bounds)
    return replace(schema, width=None, columns=(*columns, schema.label))


def _bounded(names: list[str], bounds: Sequence[Any]) -> list[Numeric]:
    width = len(names)
    no_bounds = InvalidInputError(
        f"Expected bounds = (lower, upper), each a number or one for each of {width} columns."
    )
    with replacing(TypeError, ValueError, by=lambda _: no_bounds):
        lower, upper = (np.broadcast_to(np.asarray(b, np.float64), width).tolist() for b in bounds)
    return [Numeric(name, lower[j], upper[j]) for j, name in enumerate(names)]


def array_table(
    X: Any, y: Any, schema: Schema, where: Callable[[int], str], *, labelled: bool
) -> RawTable:
    """Return an array's columns under the schema's names, in order, and, if ``labelled``, labels.

    Raises InvalidInputError for a schema with categories, sparse rows, and labels that are not
    there; DataError for anything but real numbers of the schema's width.
    """
    source = "the array"
    if schema.unit is not None and labelled:
        raise InvalidInputError(
            f"An array has no column {schema.unit!r} of ids: a schema with a unit needs a frame."
        )
    if any(column.kind != "numeric" for column in schema.features):
        raise InvalidInputError(
            "A schema with categories or dates needs a frame, of pandas, polars or pyarrow."
        )
    if is_sparse(X):
        raise InvalidInputError(
            "Sparse rows cannot be mapped to bounds of columns: zeros would not stay zeros. Pass "
            "X.toarray(), or leave bounds out and name a row_norm."
        )
    matrix, names = real_matrix(X, source), [column.name for column in schema.features]
    if matrix.shape[1] != len(names):
        raise DataError(f"{source}: {matrix.shape[1]} feature columns, expected {len(names)}.")
    columns = {
        name: pa.chunked_array([pa.array(cells)])
        for name, cells in zip(names, matrix.T, strict=True)
    }
    if labelled:
        if y is None:
            raise InvalidInputError("Expected y, the labels of the rows of X.")
        columns[schema.label.name] = labels_of(y, source, matrix.shape[0])
    return RawTable(columns, matrix.shape[0], source, where)


def leave_to_schema(owner: str, **options: Any) -> None:
    """Raise InvalidInputError for an option that was given beside a schema, which has its own.

    A ``row_norm`` of 1 cannot be told from the default, and is passed over.
    """
    for name, value in options.items():
        if value is not None and not (name == "row_norm" and value == 1.0):
            raise InvalidInputError(f"Expected {name} to be left to {owner}.")
