"""Weights of rows by a column of a file, as the command line asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.errors import InvalidInputError
from dpcore_tables.weights.of_rows import with_sample_weight

if TYPE_CHECKING:
    from dpcore.plugin.commands import DataRequest
    from dpcore.plugin.parts import Dataset

__all__ = ["check_weight", "with_weight_asked"]


def check_weight(request: DataRequest, is_file: bool = True) -> None:
    """Raise InvalidInputError for a column of weights without their bound or a bound without the
    column, for rows that may be dropped, and where no file has one. ``is_file`` : whether the rows
    are read here, of a file."""
    column, bound = request.weight
    if column is None and bound is None:
        return
    if column is None or bound is None:
        raise InvalidInputError(
            "Expected --weight COLUMN and --weight-bound NUMBER, each with the other: without a "
            "public bound a row could count any number of times."
        )
    if request.bad_rows == "drop":
        raise InvalidInputError(
            "Expected bad-rows='refuse' beside --weight: the file is read a second time for the "
            "weights, and where a row is dropped they would be those of others."
        )
    if not is_file:
        raise InvalidInputError(
            "--weight names a column of a file that this process reads itself: not of a registered "
            "data set, nor with an engine that reads files."
        )


def with_weight_asked(dataset: Dataset, rows: str, request: DataRequest) -> Dataset:
    """Return the data set of a file with the weights that were asked for, if any. Raises as
    ``with_sample_weight``."""
    column, bound = request.weight
    if column is None or bound is None:
        return dataset
    return with_sample_weight(dataset, rows, column, bound)
