"""Probabilities and scores of a model on rows: exact figures of these rows, for their owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpcore.data.cells.readings import convert_column
from dpcore.data.cells.typed import to_numbers
from dpcore.data.readers.in_memory import labels_of
from dpcore.errors import DataError, advised_on_bad_rows
from dpcore.model.margins import margins_of

if TYPE_CHECKING:
    from dpcore.data.cells.typed import Cells
    from dpcore.data.schema.schema import Schema
    from dpcore.model.model import Model

__all__ = ["log_probabilities_of", "places_said", "probabilities_of", "score_of"]

_SOURCE = "the labels"
_ADVICE = "Such a row has no score: leave it, and its label, out."


def probabilities_of(margins: np.ndarray, *, one_vs_rest: bool = False) -> np.ndarray:
    """Return the probabilities of the classes, of shape (n_rows, n_classes), each to full relative
    precision: of log odds, of shape (n_rows,), those of the negative and the positive class; else
    the softmax of margins of shape (n_classes, n_rows).

    ``one_vs_rest`` : such margins are the log odds of each class against the rest; the
    probabilities that follow are divided by their sum, as scikit-learn does it: in logarithms, so
    that they have a sum where all of them are next to nothing.
    """
    from scipy.special import expit, log_expit, softmax

    if margins.ndim == 1:
        return np.column_stack([expit(-margins), expit(margins)])
    return np.asarray(softmax(log_expit(margins) if one_vs_rest else margins, axis=0).T)


def log_probabilities_of(margins: np.ndarray, *, one_vs_rest: bool = False) -> np.ndarray:
    """Return the natural logarithms of ``probabilities_of``, finite where a probability is next to
    nothing."""
    from scipy.special import log_expit, log_softmax

    if margins.ndim == 1:
        return np.column_stack([log_expit(-margins), log_expit(margins)])
    return np.asarray(log_softmax(log_expit(margins) if one_vs_rest else margins, axis=0).T)


def places_said(margins: np.ndarray, least: float = 0.0) -> np.ndarray:
    """Return the place of each row's class: of two the positive one above ``least``, of several the
    first with the largest margin."""
    return np.asarray((margins > least).astype(np.intp) if margins.ndim == 1 else margins.argmax(0))


def score_of(model: Model, X: Any, y: Any, sample_weight: Any) -> float:
    """Return the accuracy of a model on labelled rows, or the R2 of a regression.

    Labels are read as training reads them, but for a target's bounds: the R2 is that of the target
    as given. It is NaN for no rows, an R2 for fewer than two.
    """
    label = model.schema.label
    with advised_on_bad_rows(_ADVICE):
        margins = margins_of(model, X, "refuse")
    labels = labels_of(y, _SOURCE, margins.shape[-1])
    weights = _weights(sample_weight, margins.shape[-1])
    if label.is_real:
        return _r2(_targets(labels, model.schema), model.labels(margins), weights)
    truth, fault, reason = convert_column(labels, label, model.schema.notation, _SOURCE)
    if fault is not None and fault.any():
        raise DataError(f"{_SOURCE}: {reason}.")
    return _mean(places_said(margins) == label.places_of(truth), weights)


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
