"""The cost of a test that is right with a stated probability: epsilon_0, and its threshold.

With xi ~ Lap(2 D / epsilon_0) the noise of the threshold W < 0, F the distribution function of the
noise Lap(4 D / epsilon_0) of a test, T tests of numbers f_t = -excess_t, and success at the first
f_t + noise >= W + xi:

(i)  a model whose excess is above alpha is returned with probability at most
     1 - E[F(W + xi + alpha)^T], whatever the sequence: every such test fails with at least F(...);
(ii) if the last level's excess is at most beta, a model of excess at most alpha is returned with
     probability at least E[F(W + xi + alpha)^(T-1) (1 - F(W + xi + beta))]: no test of a model that
     is not good passes, and the last one does.

These replace Theorem 3.2's epsilon_0 = 16 D ln(2T/gamma) / alpha at W = -alpha/2, which is about
three times as much at beta = 0. Everything is in units of alpha and D: k = epsilon_0 alpha / D.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.plugin import InvalidInputError, ordered_dot
from dpcore.plugin.parts import cached_by_value
from dpcore_accounting.reproducible.array_functions import array_exp, array_log
from dpcore_accuracy_first.bisection import least

__all__ = ["TestPlan", "exact_test", "failure_rates", "paper_test", "success_of_last"]

_COARSE, _FINE = 400, 40_000
_SLACK = 1e-9
"""Far above the rounding of a sum of positive float64 terms."""


@dataclass(frozen=True, slots=True)
class TestPlan:
    """epsilon_0 alpha / D, and W / alpha."""

    __test__ = False

    cost: float
    threshold: float


@cached_by_value(maxsize=64)
def exact_test(tests: int, failure: float, beta: float) -> TestPlan:
    """Return about the cheapest test with both guarantees at a failure probability of ``failure``.

    ``tests`` : T. ``beta`` : in units of alpha, 0 <= beta < 1. The integrals are bounded from
    below, by sums over cells at whose ends each monotone factor is least, so that what is solved is
    on the safe side of the equations.

    Raises InvalidInputError for numbers out of range.
    """
    _check(tests, failure, beta)
    low, high = 1.0, 2.0
    while _best(high, tests, beta, _COARSE)[0] < 1 - failure:
        low, high = high, 2 * high
    high = least(lambda k: _best(k, tests, beta, _COARSE)[0] >= 1 - failure, low, high, 1e-4)
    # The coarse sums are too careful; the fine ones decide.
    threshold = _best(high, tests, beta, _COARSE)[1]
    cost = least(
        lambda k: _guaranteed(k, threshold, tests, beta, _FINE) >= 1 - failure,
        0.8 * high,
        high * (1 + 1e-9),
        1e-5,
    )
    return TestPlan(cost, threshold)


def paper_test(tests: int, failure: float, beta: float = 0.0) -> TestPlan:
    """Return the paper's test: k = 16 ln(2T/gamma), W = -alpha/2 (Theorem 3.2)."""
    _check(tests, failure, beta)
    return TestPlan(16 * math.log(2 * tests / failure), -0.5)


def failure_rates(plan: TestPlan, tests: int, beta: float) -> tuple[float, float]:
    """Return upper bounds of the failure probabilities (i) and (ii) of a test."""
    return tuple(  # type: ignore[return-value]
        1 - value for value in _bounds(plan.cost, plan.threshold, tests, beta, _FINE)
    )


def success_of_last(plan: TestPlan, tests: int, beta: float) -> float:
    """Return a lower bound of the probability in (ii)."""
    return 1 - failure_rates(plan, tests, beta)[1]


def _check(tests: int, failure: float, beta: float) -> None:
    if not 1 <= tests <= 10**6:
        raise InvalidInputError(f"Expected 1 <= levels={tests!r} <= 10^6.")
    if not 0 < failure < 0.5:
        raise InvalidInputError(f"Expected 0 < failure-probability={failure!r} < 0.5.")
    if failure < 1e-6:
        raise InvalidInputError(f"Expected failure-probability={failure!r} >= 1e-6.")
    if not 0 <= beta < 1:
        raise InvalidInputError(f"Expected 0 <= beta={beta!r} < 1, a share of the slack.")


def _best(k: float, tests: int, beta: float, cells: int) -> tuple[float, float]:
    """Return the largest guaranteed probability over thresholds, and that threshold, by golden
    section: each factor is log-concave in W, and so is their expectation."""
    low, high = -1.0, -beta
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(22):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        values = (_guaranteed(k, at, tests, beta, cells) for at in (left, right))
        low, high = (low, right) if next(values) > next(values) else (left, high)
    at = (low + high) / 2
    return _guaranteed(k, at, tests, beta, cells), at


def _guaranteed(k: float, threshold: float, tests: int, beta: float, cells: int) -> float:
    return min(_bounds(k, threshold, tests, beta, cells))


def _bounds(k: float, threshold: float, tests: int, beta: float, cells: int) -> tuple[float, float]:
    """Return lower bounds of the expectations in (i) and (ii)."""
    ends = _quantiles(cells) * (2 / k)
    # Cells of equal probability; F(...) is least at the left end, 1 - F(...) at the right one.
    below = _cdf((threshold + 1 + ends[:-1]) * (k / 4))
    above = 1 - _cdf((threshold + beta + ends[1:]) * (k / 4))
    powers = below ** (tests - 1)
    first, second = (float(ordered_dot(powers, each)) / cells for each in (below, above))
    return first - _SLACK, second - _SLACK


def _cdf(x: np.ndarray) -> np.ndarray:
    """Return the distribution function of the Laplace distribution of scale 1."""
    tail = 0.5 * array_exp(-np.abs(x))
    below: np.ndarray = np.where(x < 0, tail, 1 - tail)
    return below


@cached_by_value(maxsize=4)
def _quantiles(cells: int) -> np.ndarray:
    """Return the ends of ``cells`` cells of equal probability under the Laplace distribution of
    scale 1."""
    share = np.arange(cells + 1) / cells
    return np.where(share < 0.5, array_log(2 * share), -array_log(2 * (1 - share)))
