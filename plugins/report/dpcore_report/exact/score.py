"""The score of a model on labelled rows: an exact metric of these rows, for their owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpcore.errors import DataError, advised_on_bad_rows
from dpcore_tables.cells.cell_values import convert_column
from dpcore_tables.cells.typed import to_numbers
from dpcore_tables.memory.columns import labels_of

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin.parts import Model
    from dpcore_tables.cells.typed import Cells

__all__ = ["score_of"]

_SOURCE = "the labels"
_ADVICE = "Such a row has no score: leave it, and its label, out."


def score_of(model: Model, X: Any, y: Any, sample_weight: Any) -> float:
    """Return the accuracy of a model on labelled rows, or the R2 of a regression.

    Labels are read as training reads them, but for a target's bounds: the R2 is that of the target
    as given. It is NaN for no rows, an R2 for fewer than two.
    """
    label = model.schema.label
    with advised_on_bad_rows(_ADVICE):
        margins = model.margins_of(X, "refuse")
    labels = labels_of(y, _SOURCE, margins.shape[-1])
    weights = _weights(sample_weight, margins.shape[-1])
    if label.is_real:
        return _r2(_targets(labels, model.schema), model.labels(margins), weights)
    truth, fault, reason = convert_column(labels, label, model.schema.notation, _SOURCE)
    if fault is not None and fault.any():
        raise DataError(f"{_SOURCE}: {reason}.")
    return _mean(label.places_said(margins) == label.places_of(truth), weights)


def _weights(given: Any, n_rows: int) -> np.ndarray:
    """Return a weight of each row, 1 where none is given."""
    try:
        weights = np.ones(n_rows) if given is None else np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        weights = np.full(n_rows, np.nan)
    if weights.shape != (n_rows,) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise DataError("Expected sample_weight to be a number >= 0 for each row.")
    return weights


def _mean(values: np.ndarray, weights: np.ndarray) -> float:
    return float(np.average(values, weights=weights)) if weights.any() else float("nan")


def _targets(labels: Cells, schema: Schema) -> np.ndarray:
    try:
        numbers = to_numbers(labels, schema.notation.with_words(schema.label.missing))
    except pa.ArrowException:
        numbers = np.full(1, np.nan)
    if not np.isfinite(numbers).all():
        raise DataError(f"{_SOURCE}: a label is not a finite number.")
    return numbers


def _r2(truth: np.ndarray, predicted: np.ndarray, weights: np.ndarray) -> float:
    """Return 1 - residual / total sum of squares; of a constant target 1 if it is predicted exactly
    and 0 if not, as scikit-learn has it."""
    if truth.size < 2:
        return float("nan")
    residual = _mean((truth - predicted) ** 2, weights)
    total = _mean((truth - _mean(truth, weights)) ** 2, weights)
    return float(residual == 0.0) if total == 0.0 else 1.0 - residual / total
