"""Metrics of a model on rows, computed without privacy, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["calibration_of", "confusion_of", "exact_in_words", "metrics_of"]

_MOST_CLASSES = 20
_TABLES = ("test_recall", "test_precision", "test_confusion", "test_calibration")
_WEIGHTS = "weights_left_out"
_BESIDE = ("majority_accuracy", "majority_class", "verdict", _WEIGHTS, *_TABLES)
_NO_ROWS = "no row to test on: metrics of the test are undefined"
_WHY = {"test_auc": " (a class has no test row)", "test_r2": " (all targets are alike)"}
_OF_UNIT = ("rmse", "mae")
_SHORT = {"auc": "AUC", "rmse": "RMSE", "mae": "MAE", "r2": "R2", "brier": "Brier score"}


def exact_in_words(metrics: Mapping[str, Any]) -> list[str]:
    """Return the lines of metrics that are in no file, with the sentence about a model that is
    worse than a constant one, if it is."""
    shown = ", ".join(metrics_of(metrics))
    lines = [f"Exact metrics, computed WITHOUT privacy and kept in no file: {shown}."]
    if metrics.get(_WEIGHTS):
        lines += ["Each row counts once in these metrics: weights are left out."]
    lines += [metrics["verdict"]] if metrics["verdict"] else []
    return [*lines, *confusion_of(metrics), *calibration_of(metrics)]


def metrics_of(diagnostics: Mapping[str, Any]) -> list[str]:
    """Return the metrics computed without privacy, as words."""
    metrics = {name: value for name, value in diagnostics.items() if name not in _BESIDE}
    tested = {name: value for name, value in metrics.items() if name.startswith("test_")}
    if tested and all(value is None for value in tested.values()):
        trained = metrics.keys() - tested.keys() - {"mean_rmse", "mean_mae"}
        return [*(_metric(name, metrics[name]) for name in sorted(trained)), _NO_ROWS]
    texts = [_metric(name, value) for name, value in metrics.items()]
    if diagnostics.get("majority_accuracy") is not None:
        share = f"{diagnostics['majority_accuracy']:.2%}"
        texts.append(f"always predicting {diagnostics['majority_class']!r}: {share}")
    return texts


def confusion_of(metrics: Mapping[str, Any]) -> list[str]:
    """Return a line for each class of the test rows, with the classes that the model says of them,
    its recall and its precision; little for a great many."""
    counts = metrics.get("test_confusion") or {}
    if not counts:
        return []
    if len(counts) > _MOST_CLASSES:
        return [f"Which of {len(counts)} classes was taken for which: --json prints it."]
    lines = ["Test rows of each class, and the classes predicted for them, exact, WITHOUT privacy:"]
    for name, of_class in counts.items():
        counts_told = ", ".join(f"{n} as {label}" for label, n in of_class.items())
        predicted = f"predicted {counts_told}" if counts_told else "no row"
        recall = _share(metrics["test_recall"][name])
        precision = _share(metrics["test_precision"][name])
        lines.append(f"  class {name}: {predicted} (recall {recall}, precision {precision})")
    return lines


def calibration_of(metrics: Mapping[str, Any]) -> list[str]:
    """Return a line for each bin of probabilities that has test rows."""
    bins = metrics.get("test_calibration") or []
    if not bins:
        return []
    several = len(metrics["test_recall"]) > 2
    what = "the likeliest class" if several else f"{[*metrics['test_recall']][-1]!r}"
    return [
        f"Test rows by the probability predicted of {what}, and the share for which it came "
        "true, WITHOUT privacy:",
        *(
            f"  {bin['from']:.1f} to {bin['to']:.1f}: {bin['rows']} rows, of which "
            f"{bin['share']:.2%} came true; predicted on average {bin['mean_probability']:.2%}"
            for bin in bins
        ),
    ]


def _share(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2%}"


def _metric(name: str, value: float | None) -> str:
    where, _, what = name.partition("_")
    label = f"{where} {_SHORT.get(what, what.replace('_', ' '))}"
    if where == "mean":
        label = f"{_SHORT[what]} of always predicting their mean"
    if value is None:
        return f"{label} undefined{_WHY.get(name, '')}"
    if name.endswith("accuracy"):
        return f"{label} {value:.2%}"
    if what not in _OF_UNIT:
        return f"{label} {value:.4f}"
    return f"{label} {value:.4g}" if value < 1e4 else f"{label} {value:,.0f}"
