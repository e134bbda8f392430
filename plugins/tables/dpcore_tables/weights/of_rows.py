"""Weights of single rows in a fit: private numbers beside the labels, up to a public bound."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.data.blocks.frozen import freeze
from dpcore.data.files import is_elsewhere
from dpcore.data.weighted_labels import paired
from dpcore.errors import DataError, InvalidInputError, replacing

if TYPE_CHECKING:
    from dpcore.plugin.parts import Dataset

__all__ = ["require_bound", "with_sample_weight"]


def require_bound(X: Any, sample_weight: Any, weight_bound: Any) -> None:
    """Raise InvalidInputError for weights of rows without their public bound, a bound without
    weights, or weights of rows that are not in memory."""
    if weight_bound is None:
        raise InvalidInputError(
            "sample_weight needs weight_bound, a public number such as 5.0, to which weights are "
            "held: with any weight a row could count any number of times."
        )
    if sample_weight is None:
        raise InvalidInputError("Expected sample_weight beside weight_bound, which bounds it.")
    if isinstance(X, (str, os.PathLike)) or is_elsewhere(X):
        raise InvalidInputError("sample_weight is beside rows in memory, and those of X are not.")


def with_sample_weight(dataset: Dataset, sample_weight: Any, bound: float) -> Dataset:
    """Return the data set with the weights of its rows, held to their bound;
    DataError, without a word of any row, for what are none."""
    if dataset.schema.unit is not None:
        raise InvalidInputError("sample_weight is not known to fit units of several rows.")
    no_numbers = DataError("Expected sample_weight to be numbers, one for each row.")
    with replacing(TypeError, ValueError, OverflowError, by=lambda _: no_numbers):
        weights = np.array(sample_weight, dtype=np.float64, order="C")
    paired(dataset.y, weights)
    return replace(dataset, weights=freeze(np.minimum(weights, bound)))
