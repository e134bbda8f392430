"""Metrics of a model from noisy counts of rows held out: post-processing of one release."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcore_report.evaluation.intervals import (
    Estimate,
    auc_of_bins,
    count_of,
    f1_of,
    mean_of,
    share_of,
)
from dpcore_report.evaluation.score_counts import CUTS

__all__ = ["metrics_of_cells", "metrics_of_classes", "metrics_of_counts"]

_RARE = 0.1
"""Of the rows."""


def metrics_of_counts(
    counts: np.ndarray,
    names: tuple[str, ...],
    deviation: float,
    rows_per_unit: int = 1,
    *,
    log_odds: bool,
    weighted: bool = False,
) -> dict[str, Any]:
    """Return what the counts of ``ScoreCounts`` say of a model of two classes, as JSON-able data.
    Each metric has its interval at 95 %; the ``verdict`` says if the model is below the constant
    one, and is ``None`` otherwise.

    ``counts`` : float64 of shape (n_classes, n_bins), as released. ``names`` : of the classes.
    ``deviation`` : of the noise of each count. ``log_odds`` : whether margins are log odds, so that
    bins are of probability and calibration has a meaning. ``weighted`` : whether classes had
    weights, so that the fit did not aim at accuracy and there is no verdict on it.
    """
    said = np.indices(counts.shape)[1] > len(CUTS) // 2
    asked = deviation, rows_per_unit
    metrics = metrics_of_cells(counts, said.astype(np.int64), names, asked, weighted)
    metrics["auc_of_bins"] = _told(auc_of_bins(counts[0], counts[1], *asked))
    return metrics | ({"calibration": _calibration(counts, asked)} if log_odds else {})


def metrics_of_classes(
    counts: np.ndarray,
    names: tuple[str, ...],
    deviation: float,
    rows_per_unit: int,
    scale_bits: int,
    *,
    weighted: bool,
) -> dict[str, Any]:
    """Return the same of the counts of ``ClassCounts``, float64 of shape (n_classes, n_classes + 2
    n_bins): with the AUC of each class against all others, and their mean.

    ``scale_bits`` : t, where a row counts 2^-t in each bin of scores.
    """
    n_classes, asked = len(names), (deviation, rows_per_unit)
    cells, bins = np.split(counts, [n_classes], axis=1)
    bins = np.ldexp(bins, scale_bits).reshape(n_classes, 2, -1)
    noise = deviation * 2.0**scale_bits
    said = np.indices(cells.shape)[1]
    metrics = metrics_of_cells(cells, said, names, asked, weighted)
    aucs = [auc_of_bins(others, own, noise, rows_per_unit) for own, others in bins]
    metrics["auc_of_class"] = {name: _told(auc) for name, auc in zip(names, aucs, strict=True)}
    return metrics | {"macro_auc": _told(mean_of(aucs)), "counts": counts.tolist()}


def metrics_of_cells(
    counts: np.ndarray,
    said: np.ndarray,
    names: tuple[str, ...],
    asked: tuple[float, int],
    weighted: bool,
) -> dict[str, Any]:
    """Return the metrics of counts by class of the rows (a line each) and by ``said``, the class
    that the model says of the rows of a cell."""
    of, deviation = np.indices(counts.shape)[0], asked[0]
    right = of == said
    places = range(len(names))
    shares = [share_of(counts, of == k, *asked) for k in places]
    commonest = max(places, key=lambda k: shares[k].value or 0.0)
    accuracy = share_of(counts, right, *asked)
    f1 = [f1_of(counts, of == k, said == k, *asked) for k in places]
    return {
        "held_out_rows": _told(count_of(counts, deviation)),
        "accuracy": _told(accuracy),
        "constant_class": names[commonest],
        "constant_accuracy": _told(shares[commonest]),
        "recall": _by_class(names, [(of == k) for k in places], counts, right, asked),
        "precision": _by_class(names, [(said == k) for k in places], counts, right, asked),
        "f1": {name: _told(each) for name, each in zip(names, f1, strict=True)},
        "macro_f1": _told(mean_of(f1)),
        "rare_class": _rare(names, shares),
        "confusion": _confusion(names, counts, of, said, deviation),
        "verdict": None if weighted else _verdict(accuracy, shares[commonest], names[commonest]),
        "noise_deviation": deviation,
        "counts": counts.tolist(),
    }


def _rare(names: tuple[str, ...], shares: list[Estimate]) -> str | None:
    """Return the class with the fewest rows where these are known to be few, so that its interval
    holds no even share: a model that never says it has a high accuracy."""
    told = zip(shares, names, strict=True)
    known = [(each.value, each.high, name) for each, name in told if each.value is not None]
    share, high, name = min(known, default=(1.0, 1.0, ""))
    return name if share < _RARE and high < 1.0 / len(names) else None


def _confusion(
    names: tuple[str, ...],
    counts: np.ndarray,
    of: np.ndarray,
    said: np.ndarray,
    deviation: float,
) -> dict[str, dict[str, Any]]:
    """Return of each class how many rows the model gives to each class."""
    return {
        name: {
            other: _told(count_of(counts[(of == k) & (said == j)], deviation))
            for j, other in enumerate(names)
        }
        for k, name in enumerate(names)
    }


def _by_class(
    names: tuple[str, ...],
    groups: list[np.ndarray],
    counts: np.ndarray,
    right: np.ndarray,
    asked: tuple[float, int],
) -> dict[str, Any]:
    return {
        name: _told(share_of(counts[group], right[group], *asked))
        for name, group in zip(names, groups, strict=True)
    }


def _calibration(counts: np.ndarray, asked: tuple[float, int]) -> list[dict[str, Any]]:
    """Return of each bin of probability the share of its rows that are of the second class."""
    bounds = [0.0, *CUTS, 1.0]
    second = np.array([False, True])
    return [
        {
            "from": low,
            "to": high,
            "rows": _told(count_of(pair, asked[0])),
            "came_true": _told(share_of(pair, second, *asked)),
        }
        for low, high, pair in zip(bounds[:-1], bounds[1:], counts.T, strict=True)
    ]


def _told(estimate: Estimate) -> dict[str, Any]:
    return estimate._asdict()


def _verdict(accuracy: Estimate, constant: Estimate, commonest: str) -> str | None:
    if accuracy.value is None or constant.value is None or accuracy.value >= constant.value:
        return None
    sure = "beyond" if accuracy.high < constant.low else "within"
    return (
        f"The model is below the constant model, {sure} what noise and sampling explain: it is "
        f"right on about {accuracy.value:.2%} of such rows, always {commonest!r} on about "
        f"{constant.value:.2%}."
    )
