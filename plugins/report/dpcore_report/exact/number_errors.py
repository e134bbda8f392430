"""Errors of a model that predicts a number, in the number's own unit: exact metrics of rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcore.plugin.parts import Model

__all__ = ["number_errors"]

_Rows = tuple[np.ndarray, np.ndarray]
"""Margins, and the targets as rows hold them."""


def number_errors(model: Model, train: _Rows | None, test: _Rows) -> dict[str, float | None]:
    """Return root mean square errors, the mean absolute error and R2 of the test rows, and what
    always predicting the test rows' own mean has: ``None`` where there are no rows. Of rows trained
    on, where they are at hand, the first.

    Targets are held to their public bounds, as in training, and so are predictions. R2 is 1 - (RMSE
    over the mean's)^2; ``None`` for targets that are all alike, which scikit-learn gives 0 or 1.
    """
    label = model.schema.label
    errors = _errors(model, test)
    truth = label.number_of(test[1])
    apart = truth - truth.mean() if truth.size else truth
    rmse, mean_rmse = _rmse(errors), _rmse(apart)
    return {
        **({} if train is None else {"train_rmse": _rmse(_errors(model, train))}),
        "test_rmse": rmse,
        "test_mae": _mae(errors),
        "test_r2": 1.0 - (rmse / mean_rmse) ** 2 if rmse is not None and mean_rmse else None,
        "mean_rmse": mean_rmse,
        "mean_mae": _mae(apart),
    }


def _errors(model: Model, rows: _Rows) -> np.ndarray:
    margins, targets = rows
    return np.asarray(model.labels(margins) - model.schema.label.number_of(targets))


def _rmse(errors: np.ndarray) -> float | None:
    return math.sqrt(np.mean(errors**2)) if errors.size else None


def _mae(errors: np.ndarray) -> float | None:
    return float(np.abs(errors).mean()) if errors.size else None
