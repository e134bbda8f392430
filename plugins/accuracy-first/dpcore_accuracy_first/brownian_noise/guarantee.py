"""The cost of reduced above-threshold tests that are right with a stated probability.

In units of alpha and D, x is the rate 1 / scale of the threshold's noise X and z that of the tests'
(both exponential, >= 0) at a level with r_t = 1; r_t x and r_t z at level t, r_t never falling. The
tests' epsilon at level t is r_t k D / alpha, k = x + 2 z. A test of excess e passes where
e <= w_t + Z_t - X_t, w_t = 1 - L / (r_t z): Z_t has to be L / (r_t z) or more for a model that is
not good, e > 1, with X_t on top. As X_t >= X_T,

(i)  a model whose excess is above alpha is returned with probability at most
     1 - E prod_t F_t(X_T), F_t(v) = 1 - exp(-L - r_t z v), whatever the sequence;
(ii) if the last level's excess is at most beta, a model within alpha is returned with probability
     at least E[prod_(t < T) F_t(X_T) exp(-z max(0, X_T + beta - w_T))], z with r_T.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore.plugin import InvalidInputError, ordered_dot, ordered_sum
from dpcore.plugin.parts import cached_by_value
from dpcore_accounting.reproducible.array_functions import array_exp, array_expm1, array_log
from dpcore_accuracy_first.bisection import least
from dpcore_baselines.geometric_progression import geometric_progression

__all__ = ["ReducedPlan", "reduced_failure_rates", "reduced_test"]

_CELLS, _COARSE = 20_000, 400
_SLACK = 1e-9
"""Far above the rounding of a sum of positive float64 terms."""
SHARE = 0.34
"""Of the tests' epsilon, for the threshold: about the best from 5 levels to 100."""


@dataclass(frozen=True, slots=True)
class ReducedPlan:
    """k at each level, and each level's w, over alpha."""

    costs: tuple[float, ...]
    passes: tuple[float, ...]
    share: float = SHARE


@cached_by_value(maxsize=64)
def reduced_test(
    tests: int,
    failure: float,
    beta: float,
    first: float = 1.0,
    rising: int = 1,
    growth: tuple[float, ...] = (),
) -> ReducedPlan:
    """Return about the cheapest tests with both guarantees at a failure probability of ``failure``.

    ``first`` : r_1. ``rising`` : the tests over which r_t rises to 1, in geometric progression.
    ``growth`` : r_t of the last levels, each >= 1, where levels cost so much that tests are cheap
    beside them; L is then as small as both guarantees allow. The expectations are bounded from
    below, by sums over cells at whose ends each monotone factor is least.

    Raises InvalidInputError for numbers out of range.
    """
    _check(tests, failure, beta, first)
    rates = np.ones(tests)
    if tests > rising > 1:
        rates[:rising] = geometric_progression(first, 1.0, rising)
    low, high = 1.0, 2.0
    while _best(high, rates, beta, _COARSE)[0] < 1 - failure:
        low, high = high, 2 * high
    high = least(lambda k: _best(k, rates, beta, _COARSE)[0] >= 1 - failure, low, high, 1e-4)
    # The coarse sums are too careful; the fine ones decide.
    chance = _best(high, rates, beta, _COARSE)[1]
    high = least(
        lambda k: min(_bounds(k, chance, rates, beta, _CELLS)) >= 1 - failure,
        0.8 * high,
        high * (1 + 1e-9),
        1e-4,
    )
    if growth:
        rates[tests - len(growth) :] *= growth
        chance = _least_chance(high, rates, failure, beta)
    passes = 1 - chance / (rates * _tests_rate(high))
    return ReducedPlan(tuple((high * rates).tolist()), tuple(passes.tolist()))


def reduced_failure_rates(plan: ReducedPlan, beta: float) -> tuple[float, float]:
    """Return upper bounds of the failure probabilities (i) and (ii)."""
    rates = np.array(plan.costs)
    chance = (1 - plan.passes[-1]) * _tests_rate(plan.costs[-1])
    first, second = _bounds(1.0, chance, rates, beta, _CELLS)
    return 1 - first, 1 - second


def _tests_rate(k: float) -> float:
    return (1 - SHARE) * k / 2


def _least_chance(k: float, rates: np.ndarray, failure: float, beta: float) -> float:
    """Return about the smallest L at which both guarantees hold; k suffices for one."""
    low, high = 0.0, math.log(len(rates) / failure)
    while min(_bounds(k, high, rates, beta, _CELLS)) < 1 - failure:
        low, high = high, high + 0.25
    while high - low > 1e-3:
        middle = (low + high) / 2
        holds = min(_bounds(k, middle, rates, beta, _CELLS)) >= 1 - failure
        low, high = (low, middle) if holds else (middle, high)
    return high


def _check(tests: int, failure: float, beta: float, first: float) -> None:
    if not 1 <= tests <= 10**4:
        raise InvalidInputError(f"Expected 1 <= levels={tests!r} <= 10^4.")
    if not 1e-6 <= failure < 0.5:
        raise InvalidInputError(f"Expected 1e-6 <= failure-probability={failure!r} < 0.5.")
    if not 0 <= beta < 1:
        raise InvalidInputError(f"Expected 0 <= beta={beta!r} < 1, a share of the slack.")
    if not 0 < first <= 1:
        raise InvalidInputError(f"Expected 0 < first-test={first!r} <= 1.")


def _best(k: float, rates: np.ndarray, beta: float, cells: int) -> tuple[float, float]:
    """Return the largest guaranteed probability over L, and that L, by golden section: (i) grows
    with L and (ii) is log-concave in it."""
    low, high = 0.0, (1 - beta) * _tests_rate(k)
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(24):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        values = [min(_bounds(k, at, rates, beta, cells)) for at in (left, right)]
        low, high = (low, right) if values[0] > values[1] else (left, high)
    at = (low + high) / 2
    return min(_bounds(k, at, rates, beta, cells)), at


def _bounds(
    k: float, chance: float, rates: np.ndarray, beta: float, cells: int
) -> tuple[float, float]:
    """Return lower bounds of the expectations in (i) and (ii)."""
    z = _tests_rate(k)
    ends = _quantiles(cells) / (SHARE * k * rates[-1])
    # Cells of equal probability: F is least at the left end, what the last test takes at the right.
    product = np.ones(cells)
    for rate in rates[:-1]:
        product *= -array_expm1(-chance - rate * z * ends[:-1])
    z *= rates[-1]
    last = array_exp(-z * np.maximum(0.0, ends[1:] + beta - (1 - chance / z)))
    first = product * -array_expm1(-chance - z * ends[:-1])
    means = ordered_sum(first) / cells, ordered_dot(product, last) / cells
    return float(means[0]) - _SLACK, float(means[1]) - _SLACK


@cached_by_value(maxsize=4)
def _quantiles(cells: int) -> np.ndarray:
    """Return the ends of cells of equal probability under the exponential distribution of scale
    1."""
    share = np.arange(cells + 1) / cells
    return -array_log(1 - share)
