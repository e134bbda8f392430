"""Scores of a model's order of rows and of its probabilities: exact metrics of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore_baselines.without_privacy.auc import auc

if TYPE_CHECKING:
    from dpcore.plugin.parts import Model

__all__ = ["calibration", "probability_scores"]

_BINS = 10


def probability_scores(model: Model, margins: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return the AUC, and, of a model with probabilities, log loss, Brier score and calibration.

    The AUC is of the margin of the positive class; of three classes and more the mean over classes
    of that of the class's probability (else margin) against the rest; ``None`` where a class has no
    row, or no other has. The log loss is the mean of -log p of the row's class. The Brier score is
    the mean of (p - 1)^2 or p^2 of the positive class; of three classes and more such squares are
    summed over the classes.
    """
    places = model.schema.label.places_of(y)
    if not model.has_probabilities:
        return {"test_auc": auc(margins, places)}
    names = "test_auc", "test_log_loss", "test_brier", "test_calibration"
    if not y.size:
        return dict.fromkeys(names)
    chances = model.probabilities(margins)
    logs = _log_probabilities(margins, one_vs_rest=model.multiclass is not None)
    is_it = places[:, None] == np.arange(chances.shape[1])
    squares = ((chances - is_it) ** 2).sum(axis=1)
    metrics = (
        auc(margins if margins.ndim == 1 else chances.T, places),
        -float(logs[is_it].mean()),
        float(squares.mean()) / (2 if margins.ndim == 1 else 1),
        calibration(chances, places),
    )
    return dict(zip(names, metrics, strict=True))


def calibration(chances: np.ndarray, places: np.ndarray) -> list[dict[str, float]]:
    """Return the count of rows, their mean probability, and the share for which it came true, for
    those of ten equal bins of probabilities that have rows. Of two classes the probability is that
    of the positive one, of more that of the likeliest."""
    if chances.shape[1] == 2:
        given, came_true = chances[:, 1], places == 1
    else:
        given, came_true = chances.max(axis=1), places == chances.argmax(axis=1)
    at = np.minimum((given * _BINS).astype(np.int64), _BINS - 1)
    rows, sums, hits = (
        np.bincount(at, weights, _BINS).tolist() for weights in (None, given, came_true)
    )
    return [
        {
            "from": k / _BINS,
            "to": (k + 1) / _BINS,
            "rows": n,
            "mean_probability": sums[k] / n,
            "share": hits[k] / n,
        }
        for k, n in enumerate(rows)
        if n
    ]


def _log_probabilities(margins: np.ndarray, *, one_vs_rest: bool = False) -> np.ndarray:
    """Return the natural logarithms of the probabilities of the classes, finite where one is next
    to nothing."""
    from scipy.special import log_expit, log_softmax

    if margins.ndim == 1:
        return np.column_stack([log_expit(-margins), log_expit(margins)])
    return np.asarray(log_softmax(log_expit(margins) if one_vs_rest else margins, axis=0).T)
