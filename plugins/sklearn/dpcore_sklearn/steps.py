"""The steps beside a fit that an estimator's parameters ask for, and its loss, as ``fit`` takes
them."""

from __future__ import annotations

from typing import Any

import dpcore
from dpcore import OneVsRest
from dpcore.errors import InvalidInputError
from dpcore.plugin import Settings
from dpcore_tables.weights.values import BALANCED, LARGEST

__all__ = ["balanced_of", "is_balanced", "loss_of_each", "steps_of"]


def steps_of(estimator: Any) -> list[Any]:
    """Return an evaluation and intervals, as far as they were asked for."""
    shares = {"share": estimator.evaluate_share, "epsilon": estimator.evaluate_epsilon}
    asked = {name: value for name, value in shares.items() if value is not None}
    steps: list[Any] = []
    if asked:
        steps.append(dpcore.Evaluation(**asked, test_fraction=estimator.test_fraction))
    elif estimator.test_fraction is not None:
        raise InvalidInputError(
            "Expected evaluate_share or evaluate_epsilon beside test_fraction: rows are held out "
            "for a private evaluation. For exact metrics of a model, hold rows out beforehand."
        )
    if estimator.intervals_share is not None:
        steps.append(dpcore.Intervals(estimator.intervals_share))
    return steps


def is_balanced(class_weight: Any) -> bool:
    """Return whether weights of classes are to be released."""
    return isinstance(class_weight, str) and class_weight == BALANCED


def balanced_of(class_weight: Any, largest: Any) -> list[Any]:
    """Return the step behind balanced weights, if they were asked for."""
    if is_balanced(class_weight):
        return [dpcore.BalancedWeights(largest)]
    if largest != LARGEST:
        raise InvalidInputError(
            f"Expected largest_weight={largest!r} beside class_weight='balanced' alone, whose "
            "weights it caps."
        )
    return []


def loss_of_each(loss: str, multiclass: str | None) -> str | OneVsRest:
    """Return a loss as ``dpcore.fit`` takes it: one-vs-rest, where that was asked for."""
    if multiclass is None:
        return loss
    if multiclass != Settings.OVR:
        raise InvalidInputError(
            f"Expected multiclass={multiclass!r} to be {Settings.OVR}, or left out."
        )
    return OneVsRest(loss)
