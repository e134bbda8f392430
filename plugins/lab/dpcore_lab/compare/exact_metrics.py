"""Metrics of the rows that a fit is tested on, computed without privacy: columns of its row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin.parts import LossFacts, Table
from dpcore_baselines.without_privacy.auc import auc
from dpcore_baselines.without_privacy.macro_f1 import macro_f1

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin import Loss
    from dpcore_lab.compare.data_rows import Fold
    from dpcore_lab.compare.settings import Comparison

__all__ = ["class_metrics", "metrics_of_constant", "metrics_of_w", "number_metrics"]

Metrics = dict[str, float | None]


def metrics_of_w(fold: Fold, w: np.ndarray, loss: Loss, comparison: Comparison) -> Metrics:
    """Return the metrics of a model's parameters on the rows that a fold is tested on."""
    schema, blocks = fold.test.schema, fold.test_table.blocks
    if not fold.test_table.n_rows:
        return {}
    margins = np.concatenate([block.margins(w) for block in blocks], axis=-1)
    y = np.concatenate([Table.plain_labels(block.y) for block in blocks])
    if loss.classification:
        said = schema.label.places_said(margins)
        return class_metrics(schema, y, said, _scores_of(margins, comparison))
    # As Model.predict has it: a mean by a log link is beyond the upper bound from a margin of 1 on.
    scaled = np.expm1(np.minimum(margins, 1.0)) if LossFacts.of(loss).log_link else margins
    middle, half = schema.label.scale
    return number_metrics(schema, y, middle + half * scaled)


def metrics_of_constant(fold: Fold, found: float) -> Metrics:
    """Return the metrics of the model that gives every row one label, as rows hold it."""
    label, y = fold.test.schema.label, fold.test.y
    said = np.full(y.size, label.places_of(np.array([found]))[0])
    same = np.zeros(y.size if label.n_margins == 1 else (label.n_classes, y.size))
    return class_metrics(fold.test.schema, y, said, same)


def class_metrics(schema: Schema, y: np.ndarray, said: np.ndarray, scores: np.ndarray) -> Metrics:
    """Return accuracy and AUC, and of several classes the macro F1; nothing of no rows.

    ``said`` : the place of each row's class. ``scores`` : of the positive class, of shape
    (n_rows,), or of each class, (n_classes, n_rows).
    """
    if not y.size:
        return {}
    k, places = schema.label.n_classes, schema.label.places_of(y)
    square = np.bincount(k * places + said, minlength=k * k).reshape(k, k)
    return {
        "exact_accuracy": int(np.trace(square)) / y.size,
        "exact_macro_f1": macro_f1(square) if k > 2 else None,
        "exact_auc": auc(scores, places),
    }


def number_metrics(schema: Schema, y: np.ndarray, said: np.ndarray) -> Metrics:
    """Return RMSE, mean absolute error and R2, in the target's own unit, targets and predictions
    held to its bounds; no R2 of targets that are all alike, and nothing of no rows.

    ``y`` : targets as rows hold them. ``said`` : predictions in the target's unit.
    """
    if not y.size:
        return {}
    middle, half = schema.label.scale
    true = middle + half * y
    errors = np.clip(said, *schema.label.bounds) - true
    mse, variance = float(np.mean(errors**2)), float(true.var())
    return {
        "exact_rmse": mse**0.5,
        "exact_mae": float(np.abs(errors).mean()),
        "exact_r2": 1.0 - mse / variance if variance > 0 else None,
    }


def _scores_of(margins: np.ndarray, comparison: Comparison) -> np.ndarray:
    """Return by what rows are put in order for each class: of several classes the logarithm of its
    probability, where the loss has one, else its margin, as the metrics of ``dpcore train`` do."""
    from scipy.special import log_expit, log_softmax

    against_rest = comparison.multiclass is not None
    if margins.ndim == 1 or comparison.loss != ("logistic" if against_rest else "softmax"):
        return margins
    return np.asarray(log_softmax(log_expit(margins) if against_rest else margins, axis=0))
