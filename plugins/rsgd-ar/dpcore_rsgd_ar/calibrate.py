"""The noise of a pass: an estimate in floats, then a value that the accountant has accepted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import UnsupportedEventError
from dpcore.plugin import InvalidInputError, ordered_dot, ordered_sum
from dpcore.plugin.commands import Plan
from dpcore_accounting.reproducible.array_functions import array_exp, array_expm1, array_log

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import Accountant
    from dpcore.plugin.parts import DpEvent, Optimizer

__all__ = ["calibrated", "estimated_sigma"]

_QUANTILES = 2048
_TOLERANCE = 1e-4
_LARGEST = 2.0**200


def estimated_sigma(deltas: np.ndarray, weights: np.ndarray, epsilon: float, delta: float) -> float:
    """Return about the standard deviation at which the weighted mean of the normals' curves is
    ``delta``; for choosing a schedule, and as a start. Nothing rests on it."""
    from scipy.special import log_ndtr

    order = np.argsort(deltas)
    d, q = deltas[order], weights[order] / ordered_sum(weights)
    if d.size > _QUANTILES:
        groups = [part for part in np.array_split(np.arange(d.size), _QUANTILES) if part.size]
        d = np.array([ordered_sum(d[g]) / g.size for g in groups])
        q = np.array([ordered_sum(q[g]) for g in groups])

    def exceeds(log_sigma: float) -> bool:
        mu = d / (d[-1] * math.exp(log_sigma))
        a = epsilon / mu - mu / 2
        log_first, log_second = log_ndtr(-a), epsilon + log_ndtr(-a - mu)
        logs = log_first + array_log(-array_expm1(np.minimum(log_second - log_first, -1e-300)))
        top = float(logs.max())
        return top + math.log(ordered_dot(q, array_exp(logs - top))) > math.log(delta)

    low, high = -20.0, 20.0
    while exceeds(high) and high < 600:
        low, high = high, 2 * high
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return float(d[-1]) * math.exp(high)


def calibrated(
    optimizer: Optimizer,
    accountant: Accountant,
    cost_of: Callable[[float], DpEvent],
    guess: float,
) -> float:
    """Return a noise multiplier, near the smallest, whose event the accountant has room for.

    ``cost_of`` : the event of a noise multiplier. ``guess`` : where to begin; taken if it will do
    and is within 1 % of the smallest, else the result is within 1e-4.

    Raises InvalidInputError where no noise is enough, UnsupportedEventError, with what would do,
    for an accountant that cannot hold the event.
    """

    def holds(multiplier: float) -> bool:
        return accountant.cost(cost_of(multiplier)) <= accountant.remaining

    try:
        fits = holds(guess)
    except UnsupportedEventError as error:
        able = Plan.accountants_for(optimizer, cost_of(guess))
        raise UnsupportedEventError(f"{error}{f' Choose {able}.' if able else ''}") from None
    if fits and not holds(guess * 0.99):
        return guess
    low, high, width = guess, guess, _TOLERANCE / 3
    while fits and holds(low := high * 0.7):
        high = low
    while not fits:
        low, high, width = high, high * (1 + width), 4 * width
        if high > _LARGEST:
            raise InvalidInputError(
                f"epsilon={accountant.epsilon:g}, delta={accountant.delta:g} is too small for one "
                f"release under the {accountant.name} accountant."
            )
        fits = holds(high)
    while high > low * (1 + _TOLERANCE):
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
