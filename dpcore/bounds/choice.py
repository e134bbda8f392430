"""Bounds from noisy counts and public figures alone: post-processing of the release."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcore.bounds.bins import BRANCHES, LEAVES, edge
from dpcore.bounds.counts import SIZES

__all__ = ["TAIL", "bounds_of"]

TAIL = 0.01
"""The share of cells beyond each of the two bounds, as far as noise lets one tell."""
_SEEN = 4.0
"""Counts below so many deviations of the noise pass for none, and so do smaller tails: one of a
column's thirty bins without rows is above with a chance of 1 in 1,000."""


def bounds_of(
    counts: np.ndarray, deviation: float, lower: float | None, upper: float | None
) -> tuple[float, float]:
    """Return bounds of a column, edges of bins: the known one, and quantiles where it is ``None``.

    A bound that is not below the other is moved away from it by the larger of 1 and the known
    bound's size. Two quantiles that have crossed change places.

    ``counts`` : noisy, float64, of all levels of the column. ``deviation`` : of the noise on each.
    """
    levels = np.split(counts, np.cumsum(SIZES)[:-1])
    below = _leaf(levels, deviation)
    above = LEAVES - 1 - _leaf([level[::-1] for level in levels], deviation)
    if lower is None and upper is None:
        return edge(min(below, above)), edge(max(below, above) + 1)
    if lower is None:
        assert upper is not None
        found = edge(below)
        return (found if found < upper else upper - max(1.0, abs(upper))), upper
    found = edge(above + 1)
    return lower, (found if found > lower else lower + max(1.0, abs(lower)))


def _leaf(levels: Sequence[np.ndarray], deviation: float) -> int:
    """Return the leaf of the lower quantile: level by level, the bin in which the rank is passed.

    Noise on bins without rows would add up, so that at the coarser levels what is not well above it
    counts as nothing.
    """
    seen = _without_noise(levels[0], deviation)
    rank = max(TAIL * seen.sum(), _SEEN * deviation)
    place, rank = _passed(seen, rank)
    for size, level in zip(SIZES[1:], levels[1:], strict=True):
        parts = level[place * BRANCHES : (place + 1) * BRANCHES]
        if size < LEAVES:
            parts = _without_noise(parts, deviation)
        part, rank = _passed(parts, rank)
        place = place * BRANCHES + part
    return place


def _without_noise(counts: np.ndarray, deviation: float) -> np.ndarray:
    """Return the counts that are seen above the noise, the others 0; the largest is always seen."""
    least = min(_SEEN * deviation, counts.max())
    return np.where(counts >= least, np.maximum(counts, 0.0), 0.0)


def _passed(counts: np.ndarray, rank: float) -> tuple[int, float]:
    """Return the first place up to which there are so many, or the last that has any, and what is
    left of the rank there."""
    up_to, some = np.cumsum(counts), counts > 0
    reached = np.flatnonzero(some & (up_to >= rank))
    place = int(reached[0]) if reached.size else int(np.flatnonzero(some).max(initial=0))
    return place, rank - float(up_to[place] - counts[place])
