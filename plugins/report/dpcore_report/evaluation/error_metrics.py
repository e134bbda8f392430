"""Metrics of a model that predicts a number, from noisy sums over rows held out."""

from __future__ import annotations

from math import isinf, sqrt
from typing import Any

import numpy as np

from dpcore_report.evaluation.error_intervals import (
    Moments,
    absolute_error,
    mean_of_targets,
    r2_of,
    squared_error,
    variance_of_targets,
)
from dpcore_report.evaluation.intervals import Estimate, count_of

__all__ = ["metrics_of_errors"]


def metrics_of_errors(
    sums: np.ndarray, bounds: tuple[float, float], deviation: float, rows_per_unit: int = 1
) -> dict[str, Any]:
    """Return what the sums of ``PredictionMoments`` say of a model, as JSON-able data: each metric
    in the target's own unit with its interval at 95 %, and a ``verdict`` by that of R2.

    ``bounds`` : the public ones, to which targets and predictions are held.
    ``deviation`` : of the noise of each sum.
    """
    n, z, y, zz, zy, yy, absolute = sums.tolist()
    of = Moments(n, z, y, zz, zy, yy, deviation, rows_per_unit, absolute)
    half, middle = (bounds[1] - bounds[0]) / 2, bounds[0] / 2 + bounds[1] / 2
    r2 = r2_of(of)
    return {
        "held_out_rows": count_of(sums[:1], deviation)._asdict(),
        "bounds": list(bounds),
        "rmse": _told(_root(squared_error(of)), half),
        "mae": _told(absolute_error(of), half),
        "mean_rmse": _told(_root(variance_of_targets(of)), half),
        "mean": _told(mean_of_targets(of), half, middle),
        "r2": _told(r2),
        "verdict": _verdict(r2),
        "noise_deviation": deviation,
        "sums": sums.tolist(),
    }


def _root(of: Estimate) -> Estimate:
    return Estimate(None if of.value is None else sqrt(of.value), sqrt(of.low), sqrt(of.high))


def _told(of: Estimate, half: float = 1.0, middle: float = 0.0) -> dict[str, float | None]:
    """Return an estimate in the target's unit; ``None`` in place of what has no bound."""
    return {
        name: None if value is None or isinf(value) else middle + half * value
        for name, value in of._asdict().items()
    }


def _verdict(r2: Estimate) -> str:
    if isinf(r2.low):
        return (
            "Whether the model is better than always predicting the mean is unknown: there are too "
            "few rows for the noise."
        )
    sure = "beyond what noise and sampling explain."
    if r2.low > 0:
        return f"The model is better than always predicting the mean, {sure}"
    if r2.high < 0:
        return f"The model is worse than always predicting the mean, {sure}"
    return (
        "Noise and sampling leave open whether the model is better than always predicting the "
        f"mean: R2 is between {r2.low:.3g} and {r2.high:.3g}."
    )
