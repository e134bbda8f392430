"""Figures of a model on rows, exact: without privacy, for the owner's eyes and in no file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.fitting.reporting import plain
from dpcore.losses.facts import loss_facts
from dpcore.model.scoring import places_said

if TYPE_CHECKING:
    from dpcore.data.dataset import Dataset
    from dpcore.model.model import Model
    from dpcore.protocols import Loss

__all__ = ["accuracy_figures", "class_figures", "confusion", "diagnose", "macro_f1"]

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
    """Return the accuracy on labelled rows, that of their commonest class for all, which class that
    is, and a ``verdict`` as ``diagnose`` does; of three classes and more, or under weights,
    ``class_figures`` too.
    ``None`` each where there are no rows."""
    names = ("test_accuracy", "majority_accuracy", "majority_class", "verdict")
    if not y.size or model.classes is None:
        return dict.fromkeys(names)
    counts = confusion(model, margins, y)
    accuracy = float(np.trace(counts) / y.size)
    commonest = int(counts.sum(axis=1).argmax())
    majority, commoner = float(counts[commonest].sum() / y.size), plain(model.classes[commonest])
    verdict = None
    if accuracy < majority:
        verdict = (
            f"The model is below the constant model: it is right on {accuracy:.2%} of these rows, "
            f"always {commoner!r} on {majority:.2%}. {_RELEASE}"
        )
    figures = dict(zip(names, (accuracy, majority, commoner, verdict), strict=True))
    # Weights lower the accuracy on purpose: each class is looked at then.
    by_class = len(counts) > 2 or model.class_weights or model.weight_bound is not None
    return figures | class_figures(model.classes, counts) if by_class else figures


def confusion(model: Model, margins: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the number of rows of each class (a row of the answer) by the class that the model
    says (a column), int64 of shape (n_classes, n_classes)."""
    k = model.schema.label.n_classes
    pairs = k * model.schema.label.places_of(y) + places_said(margins)
    return np.bincount(pairs, minlength=k * k).reshape(k, k)


def class_figures(classes: tuple[Any, ...], counts: np.ndarray) -> dict[str, Any]:
    """Return the macro F1, and the confusion counts by name: of each class how many rows the model
    says to be of each."""
    names = [str(name) for name in classes]
    by_name = {
        name: {names[place]: int(row[place]) for place in np.flatnonzero(row)}
        for name, row in zip(names, counts, strict=True)
    }
    return {"test_macro_f1": macro_f1(counts), "test_confusion": by_name}


def macro_f1(counts: np.ndarray) -> float:
    """Return the mean F1 of the classes that a row is of, or is said to be of, by the counts of
    ``confusion``."""
    right, seen = np.diagonal(counts), counts.sum(axis=0) + counts.sum(axis=1)
    return float((2 * right[seen > 0] / seen[seen > 0]).mean())


def _mean_of_fits(loss: Loss, margins: np.ndarray, y: np.ndarray) -> float | None:
    """Return the mean loss of each class against the rest, summed: what one-vs-rest fits lower."""
    losses = [_mean_loss(loss, z, np.where(y == k, 1.0, -1.0)) for k, z in enumerate(margins)]
    return sum(each for each in losses if each is not None)


def _mean_loss(loss: Loss, margins: np.ndarray, y: np.ndarray) -> float | None:
    if not margins.size:
        return None
    if margins.ndim > 1 and not loss_facts(loss).multiclass:
        return _mean_of_fits(loss, margins, y)
    out = np.empty(y.size)
    loss.value(np.ascontiguousarray(margins), np.ascontiguousarray(y, np.float64), out)
    return float(out.mean())
