"""Figures of a model that predicts a number, from noisy sums over rows held out."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from dpcore.evaluation.intervals import Estimate, count_of, mean_of

__all__ = ["figures_of_errors"]

_Z_OF_TWO = 2.241403
"""The quantile of .9875 of the normal law: two intervals hold together with 95 %."""


def figures_of_errors(
    sums: np.ndarray, half: float, deviation: float, rows_per_unit: int = 1
) -> dict[str, Any]:
    """Return what the sums of ``ErrorSums`` say of a model, as JSON-able data in the target's own
    unit: each figure with its interval at 95 %, and a ``verdict`` if the model is worse than the
    mean of these rows, else ``None``.

    ``half`` : half of the public range of the target, at which errors are clipped.
    ``deviation`` : of the noise of each sum.
    """
    errors, squares, placed, squared, count = map(float, sums)
    mean_square = mean_of(errors, count, deviation, rows_per_unit, squares)
    model = _root(mean_square, half)
    constant = _root(_variance(placed, squared, count, deviation, rows_per_unit), half)
    return {
        "held_out_rows": count_of(sums[-1:], deviation)._asdict(),
        "clip": half,
        "rmse_clipped": model._asdict(),
        "mean_rmse": constant._asdict(),
        "verdict": _verdict(model, constant, half),
        "noise_deviation": deviation,
        "sums": sums.tolist(),
    }


def _variance(
    placed: float, squared: float, count: float, deviation: float, rows_per_unit: int
) -> Estimate:
    """Return the variance of the scaled target: the mean of squares less the squared mean, between
    what both intervals leave of it, each at 97.5 %."""
    asked: dict[str, Any] = {"rows_per_unit": rows_per_unit, "z": _Z_OF_TWO}
    share = mean_of(placed, count, deviation, **asked)
    square = mean_of(squared, count, deviation, **asked)
    ends = 2 * share.low - 1, 2 * share.high - 1
    most = max(abs(end) for end in ends)
    least = 0.0 if ends[0] <= 0 <= ends[1] else min(abs(end) for end in ends)
    low, high = max(square.low - most**2, 0.0), max(square.high - least**2, 0.0)
    if share.value is None or square.value is None:
        return Estimate(None, low, high)
    return Estimate(min(max(square.value - (2 * share.value - 1) ** 2, low), high), low, high)


def _root(of: Estimate, half: float) -> Estimate:
    value = None if of.value is None else half * sqrt(of.value)
    return Estimate(value, half * sqrt(of.low), half * sqrt(of.high))


def _verdict(model: Estimate, constant: Estimate, clip: float) -> str | None:
    if model.value is None or constant.value is None or model.value <= constant.value:
        return None
    sure = "beyond" if model.low > constant.high else "within"
    return (
        f"The model is worse than the constant model, {sure} what noise and sampling explain: its "
        f"RMSE, of errors clipped at {clip:.6g}, is about {model.value:.4g}, that of always the "
        f"mean about {constant.value:.4g}."
    )
