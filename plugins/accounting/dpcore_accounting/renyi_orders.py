"""Renyi orders: the one at which a schedule that is known beforehand comes to the smallest epsilon,
and bounds of a divergence between the orders at which a release states it.

(alpha - 1) D_alpha is convex in alpha and 0 at alpha = 1, where D is finite at some order above
(van Erven & Harremoes 2014, "Renyi divergence and Kullback-Leibler divergence", Corollary 2): so
the lower convex hull of the stated points and (1, 0) bounds it from above. Its first chord is the
monotony of D (their Theorem 3). Above the last order nothing is known.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from fractions import Fraction

from dpcore.errors import UnsupportedEventError
from dpcore.plugin.parts import DpEvent, RenyiDpEvent, cached_by_value

__all__ = ["best_order", "stated_renyi_up"]

Point = tuple[Fraction, Fraction]

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
        return total - RenyiDpEvent.slack(float(order - 1), delta)

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


def stated_renyi_up(event: RenyiDpEvent, order: Fraction) -> Fraction:
    """Return an upper bound of the Renyi divergence at ``order`` > 1; UnsupportedEventError above
    the last order that is stated."""
    if order > event.orders[-1]:
        raise UnsupportedEventError(
            f"The release states Renyi divergences up to order {event.orders[-1]:g} only, and the "
            f"accountant is at order {float(order):.6g}. State a schedule, from which the order is "
            "chosen, or higher orders."
        )
    hull = _hull(event)
    index = bisect_left(hull, order, key=lambda point: point[0])
    (low, at_low), (high, at_high) = hull[index - 1], hull[index]
    share = (order - low) / (high - low)
    return ((1 - share) * at_low + share * at_high) / (order - 1)


@cached_by_value(maxsize=256)
def _hull(event: RenyiDpEvent) -> tuple[Point, ...]:
    """Return the lower convex hull of (1, 0) and the points (order, (order - 1) epsilon)."""
    hull: list[Point] = [(Fraction(1), Fraction(0))]
    for order, epsilon in zip(event.orders, event.epsilons, strict=True):
        point = Fraction(order), (Fraction(order) - 1) * Fraction(epsilon)
        while len(hull) > 1 and not _is_below(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return tuple(hull)


def _is_below(left: Point, middle: Point, right: Point) -> bool:
    """Return whether the middle point is below the chord of the other two."""
    rise, run = right[1] - left[1], right[0] - left[0]
    return (middle[1] - left[1]) * run < rise * (middle[0] - left[0])
