"""The Renyi order at which a schedule that is known beforehand comes to the smallest epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from dpcore.accountants.conversion import slack
from dpcore.plugin.parts import DpEvent

__all__ = ["best_order"]

_WHOLE_UNTIL = 32
_LARGEST = 2**40
"""That of a budget of an epsilon of about 1e-10."""
_FAR = 2**16
_GAIN = 1e-5
"""Relative: what a step of the search from ``_FAR`` on has to save. A release of pure epsilon gains
next to nothing by any order, for ever."""
_RATIO = 1.15
_ORDER_BITS = 20


def best_order(
    cost: Callable[[DpEvent, Fraction], Fraction],
    events: Mapping[DpEvent, int],
    delta: float,
    *,
    fractional: bool,
    last: Fraction | None = None,
) -> Fraction:
    """Return about the best order > 1, a whole number unless ``fractional``; at most ``last``,
    above which some event has no bound, and which is one to choose from.

    ``cost(event, order)`` : an upper bound of the event's Renyi divergence. (alpha - 1) epsilon is
    convex in alpha, the conversion of Canonne, Kamath & Steinke 2020, Proposition 12, included: so
    epsilon falls, then rises. What is claimed at the order is worked out in directed rounding.
    """

    def epsilon(order: Fraction) -> float:
        if order <= 1 or (last is not None and order > last):  # It was rounded.
            return math.inf
        total = sum(float(cost(event, order)) * count for event, count in events.items())
        return total - slack(float(order - 1), delta)

    orders = [Fraction(order) for order in _whole_orders()]
    if last is not None:
        orders = [*(order for order in orders if order < last), last]
    values: list[float] = []
    for order in orders:
        values.append(epsilon(order))
        saved = _GAIN * abs(values[-1]) if order > _FAR else 0.0
        if len(values) > 1 and values[-1] > values[-2] - saved:
            break
    best = min(range(len(values)), key=values.__getitem__)
    if not fractional:
        return orders[best]
    low = float(orders[best - 1]) if best else min(1 + 2.0**-10, (1 + float(orders[0])) / 2)
    high = float(orders[min(best + 1, len(orders) - 1)])
    return _narrowed(epsilon, low, high, orders[best])


def _whole_orders() -> list[int]:
    orders = list(range(2, _WHOLE_UNTIL + 1))
    while orders[-1] < _LARGEST:
        orders.append(math.ceil(orders[-1] * _RATIO))
    return orders


def _narrowed(
    epsilon: Callable[[Fraction], float], low: float, high: float, known: Fraction
) -> Fraction:
    """Return the best of ``known`` and the orders that a golden section search comes to."""
    golden, tried = (math.sqrt(5) - 1) / 2, {known: epsilon(known)}

    def at(order: float) -> float:
        rounded = Fraction(round(order * 2**_ORDER_BITS), 2**_ORDER_BITS)
        if rounded not in tried:
            tried[rounded] = epsilon(rounded)
        return tried[rounded]

    for _ in range(24):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if at(left) < at(right):
            high = right
        else:
            low = left
    return min(tried, key=tried.__getitem__)
