"""Figures of a model on rows, exact: without privacy, for the owner's eyes and in no file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.fitting.reporting import plain

if TYPE_CHECKING:
    from dpcore.data.dataset import Dataset
    from dpcore.model.model import Model
    from dpcore.protocols import Loss

__all__ = ["accuracy_figures", "diagnose"]

_RELEASE = "What is changed on reading this comes from the rows."


def diagnose(loss: Loss, model: Model, train: Dataset, test: Dataset) -> dict[str, Any]:
    """Return mean losses, how good the best constant model is on the test rows, and a ``verdict``:
    a sentence if the model is worse than that, else ``None``."""
    margins = model.margins(test.X)
    test_loss = _mean_loss(loss, margins, test.y)
    figures = {
        "train_loss": _mean_loss(loss, model.margins(train.X), train.y),
        "test_loss": test_loss,
    }
    if loss.classification:
        return figures | accuracy_figures(model, margins, test.y)
    constant = _mean_loss(loss, np.full(test.y.size, test.y.sum() / max(1, test.y.size)), test.y)
    verdict = None
    if test_loss is not None and constant is not None and test_loss > constant:
        verdict = (
            f"The model is worse than the constant model: its test loss is {test_loss:.4g}, that "
            f"of always predicting these rows' mean {constant:.4g}. {_RELEASE}"
        )
    return figures | {"constant_loss": constant, "verdict": verdict}


def accuracy_figures(model: Model, margins: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return the accuracy on labelled rows, that of their commoner class for all, which class that
    is, and a ``verdict`` as ``diagnose`` does; ``None`` each where there are no rows."""
    names = ("test_accuracy", "majority_accuracy", "majority_class", "verdict")
    if not y.size or model.classes is None:
        return dict.fromkeys(names)
    accuracy = float(((margins > 0) == (y > 0)).mean())
    positive = float((y > 0).mean())
    majority, commoner = max(positive, 1 - positive), plain(model.classes[positive > 0.5])
    verdict = None
    if accuracy < majority:
        verdict = (
            f"The model is below the constant model: it is right on {accuracy:.2%} of these rows, "
            f"always {commoner!r} on {majority:.2%}. {_RELEASE}"
        )
    return dict(zip(names, (accuracy, majority, commoner, verdict), strict=True))


def _mean_loss(loss: Loss, margins: np.ndarray, y: np.ndarray) -> float | None:
    if not margins.size:
        return None
    out = np.empty(margins.size)
    loss.value(np.ascontiguousarray(margins), np.ascontiguousarray(y, np.float64), out)
    return float(out.mean())
