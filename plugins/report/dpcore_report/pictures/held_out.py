"""The pictures of a private evaluation: calibration, ROC curves, groups and errors, of released
metrics alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore_report.evaluation.intervals import share_of
from dpcore_report.pictures.panel import Panel, Picture, Series

if TYPE_CHECKING:
    from dpcore.plugin.parts import Model

__all__ = ["held_out_picture"]

_MOST_CURVES = 10
_TOLD = (
    "Of noisy counts of rows held out, released within the budget, with 95 % intervals for noise "
    "and sampling. What noise swallows is left out."
)
_NOT_PRIVATE = "Of counts of rows held out; NOT PRIVATE, as the model is not."


def held_out_picture(model: Model) -> Picture | None:
    """Return the picture of a model's private evaluation; ``None`` where it has none."""
    metrics = model.evaluation
    if not metrics:
        return None
    panels = (*_calibration(metrics), *_roc(model, metrics), *_groups(metrics), *_errors(metrics))
    if not panels:
        return None
    private = bool(model.privacy["private"])
    return Picture("On rows held out", panels, _TOLD if private else _NOT_PRIVATE)


def _calibration(metrics: Mapping[str, Any]) -> Iterator[Panel]:
    """Yield the shares of rows that came true, at the middle of each bin of probability."""
    known = [
        each for each in metrics.get("calibration", ()) if each["came_true"]["value"] is not None
    ]
    if not known:
        return
    middles = tuple((each["from"] + each["to"]) / 2 for each in known)
    series = _dots([each["came_true"] for each in known])
    yield Panel(
        "Calibration",
        middles,
        (series,),
        "probability that the model gives",
        "share that came true",
        is_share=True,
    )


def _dots(metrics: list[Mapping[str, Any]]) -> Series:
    values, lows, highs = (tuple(each[key] for each in metrics) for key in ("value", "low", "high"))
    return Series("", values, lows, highs, mark="dots")


def _roc(model: Model, metrics: Mapping[str, Any]) -> Iterator[Panel]:
    """Yield the ROC curve of two classes, or of each class against the others."""
    if "auc_of_bins" in metrics:
        counts = np.array(metrics["counts"])
        auc = metrics["auc_of_bins"]
        if auc["value"] is None:
            return
        units = model.privacy.get("units") or {}
        asked = metrics["noise_deviation"], int(units.get("rows_per_unit") or 1)
        places, _, _ = _rates(counts[0], asked)
        values, lows, highs = _rates(counts[1], asked)
        series = (Series("", values, lows, highs, places),)
        yield _roc_panel(f"ROC: AUC {_of(auc)}", series)
    elif "auc_of_class" in metrics:
        n_classes = len(metrics["auc_of_class"])
        bins = np.array(metrics["counts"])[:, n_classes:].reshape(n_classes, 2, -1)
        of_each = zip(metrics["auc_of_class"].items(), bins, strict=True)
        curves = tuple(
            Series(f"{name} {_of(auc)}", _cut(own), places=_cut(others))
            for (name, auc), (own, others) in of_each
            if auc["value"] is not None
        )
        if curves:
            yield _roc_panel("ROC of each class against the others: AUC", curves[:_MOST_CURVES])


def _roc_panel(title: str, series: tuple[Series, ...]) -> Panel:
    across, of_values = "share of the others that it says", "share of the class that it says"
    return Panel(title, series[0].places, series, across, of_values, is_share=True)


def _cut(bins: np.ndarray) -> tuple[float, ...]:
    """Return the noisy share of rows above each cut, from none of them to all, held to [0, 1] and
    ascending, as shares are."""
    above = np.cumsum(bins[::-1]) / max(float(bins.sum()), 1.0)
    shares = np.maximum.accumulate(np.clip(above, 0.0, 1.0))
    return (0.0, *shares[:-1].tolist(), 1.0)


def _rates(bins: np.ndarray, asked: tuple[float, int]) -> tuple[tuple[float, ...], ...]:
    """Return the shares above each cut with their intervals, from none of the rows to all."""
    n_bins, values = len(bins), _cut(bins)
    found = [share_of(bins, np.arange(n_bins) >= k, *asked) for k in range(n_bins - 1, 0, -1)]
    lows = (0.0, *(each.low for each in found), 1.0)
    highs = (0.0, *(each.high for each in found), 1.0)
    # A share that was held to its neighbours is within its interval no more than they are.
    lows = tuple(map(min, lows, values))
    return values, lows, tuple(map(max, highs, values))


def _of(metric: Mapping[str, Any]) -> str:
    return f"{metric['value']:.3f} [{metric['low']:.3f}, {metric['high']:.3f}]"


def _groups(metrics: Mapping[str, Any]) -> Iterator[Panel]:
    """Yield a panel for each metric that two groups or more have."""
    if "by" not in metrics:
        return
    by = metrics["by"]
    for gap in by["gaps"]:
        name = gap["figure"]
        known = {
            group: each["figures"][name]
            for group, each in by["groups"].items()
            if None not in each["figures"][name].values()
        }
        reach = f"{gap['value']:.3g} [{gap['low']:.3g}, {gap['high']:.3g}]"
        title = f"{name} by {by['column']}: gap {reach}"
        yield Panel(title, tuple(known), (_dots([*known.values()]),), of_values=name)


def _errors(metrics: Mapping[str, Any]) -> Iterator[Panel]:
    """Yield the errors of a model of a number beside that of always predicting the mean."""
    rows = {"RMSE of the model": "rmse", "RMSE of always the mean": "mean_rmse"}
    known = {
        told: metrics[name]
        for told, name in rows.items()
        if name in metrics and None not in metrics[name].values()
    }
    if known:
        yield Panel("Errors", tuple(known), (_dots([*known.values()]),), of_values="RMSE")
