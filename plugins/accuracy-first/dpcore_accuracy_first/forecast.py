"""The cost that a run for a target is expected to have, from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

__all__ = ["forecast", "precision_for"]

_SHARE = 0.5
"""Of the target: a test accepts somewhere between ``beta`` of it and all of it."""


def precision_for(base: Any, excess: float) -> float:
    """Return the epsilon, or for normal noise the mu, at which noise on the minimiser is expected
    to add at most that excess risk.

    At the minimum the gradient is 0, and a row's curvature is at most s R^2, s the loss's
    smoothness and R the norm of a row, in each of K margins. So noise b of variance v in each of
    the d coordinates adds v (s R^2 K + l2 d) / 2 at most on average: a bound for every table where
    b stays inside the ball, and a forecast where the ball cuts it off.
    """
    problem = base.problem
    curvature = problem.loss.smoothness * problem.row_norm**2 * problem.n_margins
    curvature += problem.l2 * math.prod(problem.w_shape)
    needed: float = base.bound * math.sqrt(base.variance * curvature / (2 * excess))
    return needed


def forecast(
    costs: Sequence[float], precisions: Sequence[float], base: Any, excess: float | None
) -> str:
    """Return a sentence on what the run costs, ex post.

    Parameters
    ----------
    costs, precisions : of each level with its test, epsilon; and its epsilon or mu alone.
    base : the answer that gets noise. ``excess`` : the excess risk asked for, where it is that of
        the minimiser with noise on it; ``None`` for any other target.
    """
    told = (
        f"the ex-post epsilon will be between {costs[0]:.3g} and {costs[-1]:.3g}, by which of "
        f"{len(costs)} noise levels meets the target first"
    )
    if excess is None:
        return f"{told}. That depends on the rows, so no public value tells it."
    needed = precision_for(base, _SHARE * excess)
    level = next((k for k, each in enumerate(precisions) if each >= needed), None)
    if level is None:
        return f"{told}; expect that no level meets the target: its noise alone is too much."
    return (
        f"{told}; expect at most about {costs[level]:.3g} (level {level + 1}), where by public "
        "facts the noise adds half of the excess risk."
    )
