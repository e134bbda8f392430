"""Weights of single rows in a fit: private numbers beside the labels, up to a public bound."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DataError, InvalidInputError, replacing
from dpcore.plugin.engines import FrameParts

if TYPE_CHECKING:
    from dpcore.plugin.parts import Dataset

__all__ = ["require_bound", "with_sample_weight"]


def require_bound(X: Any, sample_weight: Any, weight_bound: Any) -> None:
    """Raise InvalidInputError for weights of rows without their public bound, a bound without
    weights, or weights of rows that are not in memory."""
    if weight_bound is None:
        raise InvalidInputError(
            "sample_weight needs a public bound, to which weights are held: in dpcore.fit "
            "sample_weight=Weights(w, bound=5.0), of an estimator weight_bound=5.0. With any "
            "weight a row could count any number of times."
        )
    if sample_weight is None:
        raise InvalidInputError("Expected sample_weight beside weight_bound, which bounds it.")
    is_path = isinstance(X, (str, os.PathLike))
    if FrameParts.are(X) or is_path and not isinstance(sample_weight, str):
        raise InvalidInputError(
            "sample_weight is beside rows in memory, and those of X are not: of a file name the "
            "column that has it, sample_weight=Weights('weight', bound=5.0)."
        )


def with_sample_weight(dataset: Dataset, X: Any, sample_weight: Any, bound: float) -> Dataset:
    """Return the data set with the weights of its rows, held to their bound. ``X`` : the rows that
    it was made of; ``sample_weight`` may name the column of theirs that they were read with.

    Raises DataError for what are no weights, without a word of any row. InvalidInputError for a
    name of rows that have no column of it, and numbers beside rows of units, whose order is their
    units'.
    """
    if isinstance(sample_weight, str):
        if dataset.weights is None:
            raise InvalidInputError(
                "Weights by a column's name need named columns: a file, a store that was converted "
                "with them, a query or a frame."
            )
        sample_weight = dataset.weights
    elif dataset.schema.unit is not None:
        raise InvalidInputError(
            f"Rows of units (unit = {dataset.schema.unit!r}) have their weights in a column of "
            "their own: name it, as in sample_weight=Weights('weight', bound=5.0), or to an "
            "estimator with weight_bound=5.0 as sample_weight='weight'."
        )
    no_numbers = DataError("Expected sample_weight to be numbers, one for each row.")
    with replacing(TypeError, ValueError, OverflowError, by=lambda _: no_numbers):
        weights = np.array(sample_weight, dtype=np.float64, order="C")
    return dataset.with_weights(weights, bound)
