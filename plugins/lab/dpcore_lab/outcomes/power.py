"""The power of a test of frequencies: faults that it finds, from the number of its draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore_lab.outcomes.frequencies import intervals, largest_probability

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin.parts import DpEvent

__all__ = ["PROBABILITY", "detectable_factor"]

PROBABILITY = 0.99

_MOST = 1e6
_SHARES = np.array([1e-6, 1e-3, 0.01, 0.05, 0.15, 0.3, 0.5])


def detectable_factor(event_of: Callable[[float], DpEvent], draws: int, level: float) -> float:
    """Return the smallest factor c, to 2 %, at which a cost of c times the claim is found with
    probability .99, ``inf`` if it is more than a million.

    ``event_of(c)`` : the event of noise that is c times smaller than what is claimed, which is
    ``event_of(1)``. Then some outcomes have probabilities on two neighbours that this event allows
    and the claim does not. In so many ``draws`` of each, hits are at least and at most their .995
    quantiles, both with probability .99, and the intervals at ``level`` contradict the claim.
    """
    claim = event_of(1.0)
    if not _is_found(claim, event_of(_MOST), draws, level):
        return float("inf")
    low, high = 1.0, _MOST
    while high > 1.02 * low:
        middle = float(np.sqrt(low * high))
        found = _is_found(claim, event_of(middle), draws, level)
        low, high = (low, middle) if found else (middle, high)
    return high


def _is_found(claim: DpEvent, true: DpEvent, draws: int, level: float) -> bool:
    from scipy.stats import binom

    tail = (1 - PROBABILITY) / 2
    for p in _SHARES:
        q = min(1.0, largest_probability(true, float(p)))
        hits = np.array([binom.isf(tail, draws, p), binom.ppf(tail, draws, q)])
        low, high = intervals(hits, draws, level)
        for least, most in ((low[1], high[0]), (1 - high[0], 1 - low[1])):
            if least > largest_probability(claim, float(most)) + 1e-12:
                return True
    return False
