"""Weights of rows in a column of theirs: a function of each row's own cell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import InvalidInputError, near_names
from dpcore.plugin.columns import Drop, Label, Numeric
from dpcore.plugin.parts import Table

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin.parts import Dataset

__all__ = ["NO_WEIGHT", "as_number", "beside", "no_weights", "read_by", "weights_apart"]

NO_WEIGHT = "expected a weight, a finite number >= 0"
_PAIRS = np.dtype([("label", np.float64), ("weight", np.float64)])
"""Labels and weights on their way from cells to a data set, which has them apart."""


def as_number(name: str) -> Numeric:
    """Return the column that the cells of weights are read as: numbers as they are."""
    return Numeric(name, 0.0, 1.0)


def no_weights(weights: np.ndarray) -> np.ndarray:
    """Return which numbers are no weights, bool."""
    is_weight: np.ndarray = np.isfinite(weights) & (weights >= 0)
    return ~is_weight


def read_by(schema: Schema, weight: str | None) -> Schema:
    """Return the schema that a source is read by: its column of weights, if there is one, is read
    too where it is no feature.

    Raises InvalidInputError for a column that the schema does not name, or not as ``drop`` or as a
    number, and for the label and the ids of units.
    """
    if weight is None:
        return schema
    listed = {each.name: each for each in schema.columns if not isinstance(each, Label)}
    if schema.width is not None or weight not in listed:
        raise InvalidInputError(
            f"The schema has no column {weight!r} of weights, beside the label: list it with "
            f'kind = "drop".{near_names(weight, listed)}'
        )
    kind = listed[weight].kind
    if kind not in ("drop", "numeric") or weight == schema.unit:
        what = "the unit" if weight == schema.unit else f'of kind "{kind}"'
        raise InvalidInputError(
            f"The column {weight!r} of weights is {what}: expected a column of numbers of its own, "
            'of kind "drop" or "numeric".'
        )
    if not isinstance(listed[weight], Drop):
        return schema
    columns = tuple(as_number(weight) if each.name == weight else each for each in schema.columns)
    return replace(schema, columns=columns)


def beside(y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return labels with the weights of their rows, where these have some."""
    if weights is None:
        return y
    pairs = np.empty(y.shape, dtype=_PAIRS)
    pairs["label"], pairs["weight"] = y, weights
    return pairs


def weights_apart(dataset: Dataset) -> Dataset:
    """Return the data set with the weights that came beside its labels, if any did."""
    if dataset.y.dtype != _PAIRS:
        return dataset
    weights, y = dataset.y["weight"].copy(), dataset.y["label"].copy()
    return replace(dataset, y=Table.freeze(y), weights=Table.freeze(weights))
