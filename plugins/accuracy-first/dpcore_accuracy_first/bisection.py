"""The least number at which something holds that holds from there on, by halving."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["least"]


def least(holds: Callable[[float], bool], low: float, high: float, gap: float) -> float:
    """Return a number at which it holds, less than ``gap`` times itself above one where it does not
    or ``low``. ``high`` : it holds there."""
    while high - low > gap * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
