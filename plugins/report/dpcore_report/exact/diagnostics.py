"""Metrics of a model on rows, exact: without privacy, for the owner's eyes and in no file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin.parts import LossFacts
from dpcore_baselines.without_privacy.macro_f1 import macro_f1
from dpcore_report.exact.number_errors import number_errors
from dpcore_report.exact.probability_scores import probability_scores

if TYPE_CHECKING:
    from dpcore.plugin import Loss
    from dpcore.plugin.parts import Dataset, Model

__all__ = ["accuracy_metrics", "class_metrics", "confusion", "diagnose"]

_RELEASE = "Whatever you change after reading this depends on the rows."


def diagnose(loss: Loss, model: Model, train: Dataset | None, test: Dataset) -> dict[str, Any]:
    """Return metrics of the test rows beside those of the best constant model, and a ``verdict``: a
    sentence if the model is worse than that, else ``None``.

    Of classes these are mean losses, ``accuracy_metrics``, ``class_metrics`` and
    ``probability_scores``; of a number ``number_errors``, in its own unit. ``train`` : ``None``
    where those rows are elsewhere, which then have no metric. Each row counts once: of a fit of
    weighted rows or classes ``weights_left_out`` says so.
    """
    metrics = _metrics(loss, model, train, test)
    return metrics | ({"weights_left_out": True} if _is_weighted(model) else {})


def _metrics(loss: Loss, model: Model, train: Dataset | None, test: Dataset) -> dict[str, Any]:
    margins = model.margins(test.X)
    fitted = None if train is None else (model.margins(train.X), train.y)
    if not loss.classification:
        metrics = number_errors(model, fitted, (margins, test.y))
        return metrics | {"verdict": _verdict_on_numbers(loss, margins, test.y)}
    metrics = {} if fitted is None else {"train_loss": _mean_loss(loss, *fitted)}
    metrics["test_loss"] = _mean_loss(loss, margins, test.y)
    metrics |= accuracy_metrics(model, margins, test.y) | probability_scores(model, margins, test.y)
    return metrics | class_metrics(model.classes or (), confusion(model, margins, test.y))


def accuracy_metrics(model: Model, margins: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return the accuracy on labelled rows, that of always their commonest class, which class that
    is, and a ``verdict`` as ``diagnose`` does. Each is ``None`` where there are no rows, and there
    is no verdict on a model of weighted classes or rows."""
    names = ("test_accuracy", "majority_accuracy", "majority_class", "verdict")
    if not y.size or model.classes is None:
        return dict.fromkeys(names)
    counts = confusion(model, margins, y)
    accuracy = float(np.trace(counts) / y.size)
    commonest = int(counts.sum(axis=1).argmax())
    majority = float(counts[commonest].sum() / y.size)
    commoner = np.asarray(model.classes[commonest]).tolist()
    verdict = None
    # A fit whose rows or classes have weights does not aim at the share of rows that is right.
    if accuracy < majority and not _is_weighted(model):
        verdict = (
            f"The model is below the constant model: it is right on {accuracy:.2%} of these rows, "
            f"always {commoner!r} on {majority:.2%}. {_RELEASE}"
        )
    return dict(zip(names, (accuracy, majority, commoner, verdict), strict=True))


def _is_weighted(model: Model) -> bool:
    return bool(model.class_weights) or model.weight_bound is not None


def confusion(model: Model, margins: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the number of rows of each class (a row of the answer) by the class that the model
    says (a column), int64 of shape (n_classes, n_classes)."""
    label = model.schema.label
    k = label.n_classes
    pairs = k * label.places_of(y) + label.places_said(margins)
    return np.bincount(pairs, minlength=k * k).reshape(k, k)


def class_metrics(classes: tuple[Any, ...], counts: np.ndarray) -> dict[str, Any]:
    """Return the macro F1, the recall and the precision of each class, and the confusion counts by
    name. These are, for each class, how many of its rows the model predicts to be of each. A metric
    is ``None`` where no row is of the class or predicted to be."""
    keys = ("test_macro_f1", "test_recall", "test_precision", "test_confusion")
    if not counts.any():
        return dict.fromkeys(keys)
    names = [str(name) for name in classes]
    by_name = {
        name: {names[place]: int(row[place]) for place in np.flatnonzero(row)}
        for name, row in zip(names, counts, strict=True)
    }
    right, of, said = (a.tolist() for a in (np.diagonal(counts), counts.sum(1), counts.sum(0)))
    recall, precision = (
        {name: n / m if m else None for name, n, m in zip(names, right, total, strict=True)}
        for total in (of, said)
    )
    return dict(zip(keys, (macro_f1(counts), recall, precision, by_name), strict=True))


def _verdict_on_numbers(loss: Loss, margins: np.ndarray, y: np.ndarray) -> str | None:
    """Return the sentence on a model whose mean loss is above that of the rows' mean, if it is: a
    ratio, which has no unit. Predictions are held to the target's range."""
    if not y.size:
        return None
    own, constant = (
        _mean_loss(loss, np.clip(margins, -1.0, 1.0), y),
        _mean_loss(loss, np.full(y.size, y.mean()), y),
    )
    if own is None or constant is None or own <= constant:
        return None
    times = f"{own / constant:.4g} times" if constant else "above"
    return (
        f"The model is worse than the constant model: its test loss is {times} that of always "
        f"predicting these rows' mean. {_RELEASE}"
    )


def _mean_of_fits(loss: Loss, margins: np.ndarray, y: np.ndarray) -> float | None:
    """Return the mean loss of each class against the rest, summed: what one-vs-rest fits lower."""
    losses = [_mean_loss(loss, z, np.where(y == k, 1.0, -1.0)) for k, z in enumerate(margins)]
    return sum(each for each in losses if each is not None)


def _mean_loss(loss: Loss, margins: np.ndarray, y: np.ndarray) -> float | None:
    if not margins.size:
        return None
    if margins.ndim > 1 and not LossFacts.of(loss).multiclass:
        return _mean_of_fits(loss, margins, y)
    out = np.empty(y.size)
    loss.value(np.ascontiguousarray(margins), np.ascontiguousarray(y, np.float64), out)
    return float(out.mean())
