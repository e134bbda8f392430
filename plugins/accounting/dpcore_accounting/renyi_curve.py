"""Bounds of a Renyi divergence between the orders at which it is stated.

(alpha - 1) D_alpha is convex in alpha and 0 at alpha = 1, where D is finite at some order above
(van Erven & Harremoes 2014, "Renyi divergence and Kullback-Leibler divergence", Corollary 2): so
the lower convex hull of the stated points and (1, 0) bounds it from above. Its first chord is the
monotony of D (their Theorem 3). Above the last order nothing is known.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache

from dpcore.errors import UnsupportedEventError
from dpcore.plugin.parts import RenyiDpEvent

__all__ = ["stated_renyi_up"]

Point = tuple[Fraction, Fraction]


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


@lru_cache(maxsize=256)
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
