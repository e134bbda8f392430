"""Rows as a caller in Python hands them over: arrays, frames and paths, with what is public."""

import os
from typing import Any

from dpcore.data.arrays import dataset_from_arrays
from dpcore.data.dataset import Dataset
from dpcore.data.schema.schema import Schema
from dpcore.data.units import Coins
from dpcore.errors import InvalidInputError, advised_on_bad_rows

__all__ = ["dataset_of", "leave_to_file"]

_ADVICE = (
    "Where the number of rows is private (add-or-remove-one), such rows may be left out before the "
    "fit"
)
_OF_FRAMES, _OF_FILES = f"{_ADVICE}.", f"{_ADVICE}, or by dpcore convert --bad-rows drop."
_CLASSES = "The classes are -1 and 1 unless you name them: classes=(negative, positive)."


def dataset_of(
    X: Any,
    y: Any,
    schema: Schema | None,
    intercept: bool,
    *,
    coins: Coins = os.urandom,
    weight: str | None = None,
    **public: Any,
) -> Dataset:
    """Return the rows of ``X``, arrays, a frame or a path.

    ``public`` : classes, target_bounds, bounds, row_norm, n0 and capacity, which a schema replaces;
    ``private_bounds``, which it has taken up already. ``coins`` : as ``Dataset.from_rows`` takes
    them. ``weight`` : the column of the rows' weights, if they have one.
    Raises InvalidInputError and DataError as ``Dataset.from_file`` and ``dataset_from_arrays`` do.
    """
    is_path = isinstance(X, (str, os.PathLike))
    named = schema is not None or is_path
    advice = _OF_FRAMES if named or public["classes"] is not None else _CLASSES
    with advised_on_bad_rows(_OF_FILES if is_path else advice):
        if is_path:
            leave_to_file(schema, y=y, **public)
            return Dataset.from_file(
                X, schema, coins=coins, **({} if weight is None else {"weight": weight})
            )
        return dataset_from_arrays(
            X, y, schema=schema, intercept=intercept, coins=coins, weight=weight, **public
        )


def leave_to_file(
    schema: Schema | None, private_bounds: bool = False, of: str = "the file", **public: Any
) -> None:
    """Raise InvalidInputError for what was given beside a file, whose schema has it; ``of`` : what
    has a schema in a file's place."""
    if private_bounds and schema is None:
        raise InvalidInputError("Expected a schema, without bounds, beside private_bounds.")
    Schema.refuse_beside(f"the schema of {of}", **public)
