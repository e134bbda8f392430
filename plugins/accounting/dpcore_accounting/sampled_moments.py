"""Moments of ``dpcore_accounting.sampled_gaussian`` and ``skellam``, in float64 with stated
margins."""

from __future__ import annotations

import math

import numpy as np

from dpcore.plugin import ordered_dot, ordered_sum
from dpcore.plugin.parts import cached_by_value
from dpcore_accounting.reproducible.array_functions import (
    SUM_ERROR,
    array_exp,
    array_expm1,
    array_log,
)

__all__ = ["array_log1p", "log_moment_up", "log_moment_of_whole_order"]

_LARGEST_CHORD_ORDER = 32.0
_MOST_NOISE = 2.0**14  # beyond, f hardly differs between the ends of an interval
_INTERVALS = 2**13
_CHORD_MARGIN = 1e-6
"""Relative. An interval is at least 1e-3 standard deviations wide, so that its probability is right
to 1e-12, and its chord's slope multiplies that by at most 1 + alpha (1 + m)."""
_SERIES_WIDTH = 0.02
_SERIES_TERMS = 20
_REACH = 12.0
_LARGEST_EXPONENT = 600.0
_LEAST = 2.0**-1000
"""An upper bound of 2^20 e^-720, and of all that is lost where terms are below 2^-1022."""


def log_moment_up(m: float, p: float, t: float) -> float:
    """Return an upper bound of ln A at order 1 + ``t``, ``p`` < 1."""
    low = math.floor(t)
    part = t - low
    if part == 0.0:
        return _whole_order(m, p, low + 1)
    below = _whole_order(m, p, low + 1) if low else 0.0
    linear = (below * (1 - part) + _whole_order(m, p, low + 2) * part) * (1 + 2.0**-50)
    linear = max(linear, math.ulp(0.0))
    if t + 1 > _LARGEST_CHORD_ORDER or m > _MOST_NOISE or _exponent(m, t) > _LARGEST_EXPONENT:
        return linear
    return min(linear, _by_chords(m, p, t))


@cached_by_value(maxsize=4096)
def _whole_order(m: float, p: float, order: int) -> float:
    if order == 1:
        return 0.0
    k = np.arange(2, order + 1, dtype=np.float64)
    with np.errstate(over="ignore"):
        return log_moment_of_whole_order((k * k - k) / m / m / 2, p)


def log_moment_of_whole_order(grown: np.ndarray, p: float) -> float:
    """Return an upper bound of ln sum_k C(order, k) (1 - p)^(order - k) p^k exp(grown_k).

    ``grown_k`` is 0 of k = 0 and 1, and given, within 2^-48 of itself, from 2 to the order.
    """
    from scipy.special import gammaln

    order = grown.size + 1
    k = np.arange(2, order + 1, dtype=np.float64)
    choose = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
    less_one = array_log(-array_expm1(-grown))  # -inf of a divergence below the smallest float
    logs = choose + (order - k) * math.log1p(-p) + k * math.log(p) + grown + less_one
    top = float(logs.max())
    if not top < math.inf:
        return math.inf
    if top < -720.0:
        return _LEAST
    # A logarithm of a factorial is right to 2^-48 of itself; so is every other part of a term.
    sizes = float(gammaln(order + 1)) + float(grown[-1]) - order * (math.log(p) + math.log1p(-p))
    total = top + math.log(ordered_sum(array_exp(logs - top))) + 2 * SUM_ERROR + 2.0**-46 * sizes
    log_a = max(total, 0.0) + math.log1p(math.exp(-abs(total)))
    return max(log_a * (1 + 2.0**-40), _LEAST)


def _exponent(m: float, t: float) -> float:
    """Return the largest exponent that ``_by_chords`` meets."""
    return (1 + t) * (1 + t + _REACH * m) / m / m


def _by_chords(m: float, p: float, t: float) -> float:
    from scipy.special import ndtr

    begin, end = -_REACH * m, 1 + t + _REACH * m
    z = np.linspace(begin, end, _INTERVALS + 1)
    shift = np.concatenate(([0.0], array_exp((2 * z - 1) / (2 * m * m))))
    apart = np.concatenate(([-np.inf], z)) / m
    drawn = apart - 1 / m
    probability, mean = _between(apart), _between(drawn)
    heights = _above_tangent(p * (shift - 1), t)
    widths = np.diff(shift)
    right = np.clip((mean - shift[:-1] * probability) / widths, 0.0, None)
    left = np.clip((shift[1:] * probability - mean) / widths, 0.0, None)
    total = float(ordered_dot(left, heights[:-1]) + ordered_dot(right, heights[1:]))
    # Beyond the last point f <= (p + (1 - p) / shift) exp((2z - 1) / (2 m^2)), and h <= f^alpha.
    log_tail = (1 + t) * (math.log(p + (1 - p) / shift[-1]) + t / (2 * m * m))
    tail = math.exp(log_tail) * float(ndtr((1 + t - end) / m)) * (1 + 1e-9)
    return math.log1p((total + tail) * (1 + _CHORD_MARGIN) + _LEAST)


def _between(x: np.ndarray) -> np.ndarray:
    """Return the normal probability between neighbouring points, from the nearer tail."""
    from scipy.special import ndtr

    between: np.ndarray = np.where(x[:-1] > 0, -np.diff(ndtr(-x)), np.diff(ndtr(x)))
    return between


def _above_tangent(y: np.ndarray, t: float) -> np.ndarray:
    """Return (1 + y)^(1 + t) - 1 - (1 + t) y for ``y`` > -1, without cancellation."""
    out: np.ndarray = (1 + y) * array_expm1(t * array_log1p(y)) - t * y
    close = np.abs(y) < _SERIES_WIDTH
    near = y[close]
    # Terms C(1 + t, k) y^k from k = 2; from one to the next (t + 1 - k) / (k + 1) y.
    term, total = (1 + t) * t / 2 * near * near, np.zeros_like(near)
    for k in range(2, _SERIES_TERMS):
        total += term
        term = term * near * ((t + 1 - k) / (k + 1))
    out[close] = total
    return out


def array_log1p(x: np.ndarray) -> np.ndarray:
    """Return ln(1 + x) for x >= -1, -inf of -1, within ``FUNCTION_ERROR`` of it."""
    from scipy.special import log1p

    return np.asarray(log1p(x))
