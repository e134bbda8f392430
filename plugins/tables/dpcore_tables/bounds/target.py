"""Bounds of a target from noisy counts, by what a wrong one costs: post-processing of the release.

A feature that is cut loses what its far cells would tell, and a wide bound brings noise to all of
its column: a quantile does. A target that is cut is missed by all that is cut off, squared, and a
skewed one has a hundredth of its rows far beyond the rest. So its bounds are those of the least
cost, of squares that are cut off and of noise, which grows with the square of the range.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import ordered_sum
from dpcore_tables.bounds.bins import BINS, BRANCHES, edge
from dpcore_tables.bounds.choice import bounds_of, rows_seen
from dpcore_tables.bounds.counts import SIZES

if TYPE_CHECKING:
    from dpcore_tables.bounds.choice import CountNoise

__all__ = ["share_beyond", "target_bounds_of"]

_FARTHER = 8
"""Bins beyond the last that is seen, four powers of two: their counts are looked at too."""
_SEEN = 2.5
"""Deviations by which the counts of two of them are above noise: they are looked at only as long as
the two before them have rows."""
_LAST = 2
"""Bins at each end of the bounds, a power of two, whose share of rows is reported as the last."""


def target_bounds_of(
    counts: np.ndarray, noise: CountNoise, lower: float | None, upper: float | None
) -> tuple[float, float]:
    """Return bounds of a target as ``bounds_of`` does of a column, a private one at the edge of a
    leaf that costs the least.

    The cost of an upper bound b, in means over rows, is the sum over bins beyond it of rows times
    (middle - b)^2, and (deviation / rows)^2 times the square of the range, about what noise costs a
    fit: that of m columns' counts takes a tenth of the budget, and so is 20 m / (n mu)^2, where a
    fit of as many columns has about as much. Of bins beyond all that are seen, pairs count as long
    as they are above noise. Where no bound costs less it is that of ``bounds_of``.
    """
    low, high = bounds_of(counts, noise, lower, upper)
    rows = _rows(counts[: SIZES[0]], noise)
    if rows.sum() <= 0:
        return low, high
    if upper is None:
        high = _cheapest(rows, noise, low, high)
    if lower is None:
        low = -_cheapest(rows[::-1], noise, -high, -low)
    return low, high


def share_beyond(
    counts: np.ndarray, noise: CountNoise, lower: float, upper: float
) -> tuple[float, float, float]:
    """Return noisy shares of rows, from 0 to 1, and the deviation of the noise of the latter. They
    are of the last power of two within either bound, and of four of them beyond each."""
    coarse = counts[: SIZES[0]]
    edges = np.array([edge(k * BRANCHES) for k in range(BINS + 1)])
    rows = max(float(_rows(coarse, noise).sum()), 1.0)
    inside = np.flatnonzero((edges[1:] > lower) & (edges[:-1] < upper))
    begin, end = int(inside[0]), int(inside[-1]) + 1
    ends = sorted({*inside[:_LAST].tolist(), *inside[-_LAST:].tolist()})
    beyond = [*range(max(0, begin - _FARTHER), begin), *range(end, min(BINS, end + _FARTHER))]
    last, cut = (min(1.0, max(0.0, float(coarse[k].sum()) / rows)) for k in (ends, beyond))
    return last, cut, noise.deviation * math.sqrt(len(beyond)) / rows


def _rows(coarse: np.ndarray, noise: CountNoise) -> np.ndarray:
    """Return the rows of each bin, at least 0: as counted, where they are seen, and of pairs of
    bins beyond, one after the other as long as they are above the noise."""
    rows = rows_seen(coarse, noise)
    if not rows.any():
        return rows
    for counted, own in ((rows, coarse), (rows[::-1], coarse[::-1])):
        last = int(np.flatnonzero(counted)[-1])
        for first in range(last + 1, min(last + _FARTHER, BINS - 1), 2):
            if own[first : first + 2].sum() <= _SEEN * math.sqrt(2) * noise.deviation:
                break
            counted[first : first + 2] = np.maximum(own[first : first + 2], 0.0)
    return rows


def _cheapest(rows: np.ndarray, noise: CountNoise, low: float, high: float) -> float:
    """Return the upper bound of the least cost, ``high`` or an edge beyond it; of rows turned round
    and bounds of the other sign it is the lower one."""
    edges = np.array([edge(k * BRANCHES) for k in range(BINS + 1)])
    last = int(np.flatnonzero(rows)[-1])
    middles = (edges[1:] + edges[:-1]) / 2
    inner = int(np.searchsorted(edges, high, side="right"))
    candidates: list[float] = [high, *edges[inner : last + 2].tolist()]
    total = float(rows.sum())
    price = (noise.deviation / total) ** 2

    def cost(bound: float) -> float:
        cut = np.maximum(middles - bound, 0.0)
        return float(ordered_sum(rows * np.square(cut))) / total + price * (bound - low) ** 2

    return min(candidates, key=cost)
