"""Weights of rows by a column of a file, as the command line asks for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpcore.errors import InvalidInputError
from dpcore.plugin.columns import Drop
from dpcore_tables.weights.of_rows import with_sample_weight

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin.commands import DataRequest
    from dpcore.plugin.parts import Dataset

__all__ = ["check_weight", "with_weight_asked", "with_weight_column"]


def check_weight(request: DataRequest, is_file: bool = True) -> None:
    """Raise InvalidInputError for a column of weights without their bound or a bound without the
    column, and where no rows have one. ``is_file`` : whether the rows are read here, of a file, a
    store or a query."""
    column, bound = request.weight, request.weight_bound
    if column is None and bound is None:
        return
    if column is None or bound is None:
        raise InvalidInputError(
            "Expected --weight COLUMN and --weight-bound NUMBER, each with the other: without a "
            "public bound a row could count any number of times."
        )
    if not is_file:
        raise InvalidInputError(
            "--weight names a column of rows that this process reads itself: not of a registered "
            "data set, nor with an engine that reads files."
        )


def with_weight_column(schema: Schema | None, column: str | None) -> Schema | None:
    """Return the schema with the column of weights, which is no feature, where it lists none of
    that name: as a column of units need not be listed."""
    if schema is None or column is None or column in [each.name for each in schema.columns]:
        return schema
    return replace(schema, columns=(*schema.columns, Drop(column)))


def with_weight_asked(dataset: Dataset, rows: str, request: DataRequest) -> Dataset:
    """Return the data set of a file with the weights that were asked for, if any, held to their
    bound."""
    column, bound = request.weight, request.weight_bound
    if column is None or bound is None:
        return dataset
    return with_sample_weight(dataset, rows, column, bound)
