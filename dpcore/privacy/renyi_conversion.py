"""From Renyi differential privacy to (epsilon, delta), and back.

"tight" is Canonne, Kamath & Steinke 2020 (arXiv:2004.00010v4), Proposition 12: a release whose
Renyi divergence of order alpha is at most tau is (epsilon, delta)-DP for

    epsilon = tau + (ln(1/delta) + (alpha - 1) ln(1 - 1/alpha) - ln alpha) / (alpha - 1).

It holds at every order, so the order may be sought in floats; what is then claimed at that order is
evaluated in directed rounding. Orders are handled as ``t = alpha - 1``.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from dpcore.exact.rounding import log_down, log_up

__all__ = [
    "best_order_for_budget",
    "best_order_for_report",
    "epsilon_up",
    "best_order",
    "budget_down",
    "slack",
]

_LOG_RANGE = 92.0  # t from 1e-40 to 1e40


def slack(t: float, delta: float) -> float:
    """Return about ``(ln delta + (1 + t) ln(1 + t) - t ln t) / t``: epsilon - tau, negated."""
    if t < 1:
        entropy = (1 + t) * math.log1p(t) - t * math.log(t)
    else:
        entropy = math.log(t) + (1 + t) * math.log1p(1 / t)
    return (math.log(delta) + entropy) / t


def _slack_down(t: Fraction, delta: float) -> Fraction:
    return (log_down(Fraction(delta)) + (1 + t) * log_down(1 + t) - t * log_up(t)) / t


def best_order(objective: Callable[[float], float]) -> Fraction:
    """Return a ``t = alpha - 1`` near the maximum of an objective in t: a grid in ``ln t``, then
    golden section around its best."""
    grid = [-_LOG_RANGE + i for i in range(int(2 * _LOG_RANGE) + 1)]
    best = max(grid, key=lambda u: objective(math.exp(u)))
    low, high, golden = best - 1, best + 1, (math.sqrt(5) - 1) / 2
    for _ in range(45):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if objective(math.exp(left)) < objective(math.exp(right)):
            low = left
        else:
            high = right
    return Fraction(math.exp((low + high) / 2))


def best_order_for_budget(epsilon: float, delta: float) -> Fraction:
    """Return ``t = alpha - 1`` at which zCDP gets the largest rho out of (epsilon, delta)."""
    return best_order(lambda t: (epsilon + slack(t, delta)) / (1 + t))


def best_order_for_report(rho: Fraction, delta: float) -> Fraction:
    """Return ``t = alpha - 1`` at which rho-zCDP gives the smallest epsilon."""
    approximate = float(rho)
    return best_order(lambda t: slack(t, delta) - approximate * (1 + t))


def budget_down(epsilon: float, delta: float, t: Fraction) -> Fraction:
    """Return the largest tau, rounded down, whose conversion at order 1 + t is within the budget.

    At least 0: an order at which the conversion alone costs more than epsilon buys nothing.
    """
    return max(Fraction(0), Fraction(epsilon) + _slack_down(t, delta))


def epsilon_up(tau: Fraction, delta: float, t: Fraction) -> Fraction:
    """Return the epsilon, rounded up, of Renyi divergence ``tau`` at order 1 + t; at least 0."""
    return max(Fraction(0), tau - _slack_down(t, delta))
