"""The search for the epsilon at which a condition was seen to hold."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["smallest_epsilon"]


def smallest_epsilon(
    holds: Callable[[float], bool], first: float, precision: float, most: float = 1e300
) -> float:
    """Return the smallest epsilon >= 0, to the relative precision, at which ``holds`` was seen
    true; it is expected to hold from some epsilon on. ``inf`` if that is beyond ``most``.

    ``first`` : where the search begins.

    Examples
    --------
    >>> from dpcore_accounting.smallest_epsilon import smallest_epsilon
    >>> round(smallest_epsilon(lambda e: e >= 0.3, first=1.0, precision=1e-9), 6)
    0.3
    """
    if holds(0.0):  # to which no relative precision comes near
        return 0.0
    low, high = 0.0, first
    while not holds(high):
        low, high = high, 2 * high
        if high > most:
            return math.inf
    while high - low > precision * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
