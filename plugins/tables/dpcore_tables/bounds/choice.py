"""Bounds from noisy counts and public values alone: post-processing of the release.

Where there are no rows, noise is all that is counted. A bin, or a run of bins side by side, is
taken to have rows only where its count is above what noise alone comes to, but for a chance of
``CHANCE`` for all bins of all columns together. Bounds lie at the ends of bins that have rows by
this rule, and so no farther out than rows are; rows too few for it are clamped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from dpcore_tables.bounds.bins import BINS, BRANCHES, LEAVES, edge
from dpcore_tables.bounds.counts import SIZES

__all__ = [
    "CHANCE",
    "NO_ROWS_SEEN",
    "TAIL",
    "CountNoise",
    "are_defaults",
    "bounds_of",
    "rows_seen",
]

TAIL = 0.01
"""The share of cells beyond each of the two bounds, as far as noise lets one tell."""
CHANCE = 1 / 2000
"""The chance that noise passes for rows somewhere, in all columns of a release together."""
NO_ROWS_SEEN = (-1.0, 1.0)
"""Bounds of a column in which no rows are seen above the noise."""

_RUNS = (1, 2, 4, 8)
"""How many bins side by side are looked at together; the shorter runs first."""
_NARROWEST = edge(LEAVES // 2 + 1)
"""The width of the leaves beside 0."""
_CLEAR = 2.0
"""Of how many deviations leaves are above noise: a leaf is not far from any other of its bin."""


@dataclass(frozen=True)
class CountNoise:
    """Noise on the counts of a release, independent and alike on each.

    Parameters
    ----------
    deviation : of one count. ``normal`` : or else geometric. ``n_columns`` : of the release.
    """

    deviation: float
    normal: bool
    n_columns: int

    def most(self, n_counts: int) -> float:
        """Return what the noise of so many counts comes to in sum, but for ``CHANCE``.

        One geometric deviate is beyond x with probability exp(-sqrt(2) x / deviation) / 2 at most.
        Sums are taken as normal ones of their deviation, and what one geometric deviate has beyond
        a normal one is added once.
        """
        chance = CHANCE / (BINS * len(_RUNS) * self.n_columns)
        normal = -NormalDist().inv_cdf(chance)
        one = normal if self.normal else -math.log(2 * chance) / math.sqrt(2)
        return self.deviation * (normal * math.sqrt(n_counts) + one - normal)


def bounds_of(
    counts: np.ndarray, noise: CountNoise, lower: float | None, upper: float | None
) -> tuple[float, float]:
    """Return bounds of a column, edges of bins: the known one, and quantiles where it is ``None``.

    Where no rows are seen, ``NO_ROWS_SEEN`` takes the place of the quantiles. A bound that is not
    beyond the known one (``_is_beyond``) is moved away from it by the larger of 1 and the known
    bound's size. Two quantiles that have crossed change places.

    ``counts`` : noisy, float64, of both levels of the column. ``noise`` : what was added.
    """
    below, above = _quantiles(counts, noise)
    if lower is None and upper is None:
        return below, above
    if lower is None:
        assert upper is not None
        return (below if _is_beyond(-below, -upper) else upper - max(1.0, abs(upper))), upper
    return lower, (above if _is_beyond(above, lower) else lower + max(1.0, abs(lower)))


def _is_beyond(bound: float, known: float) -> bool:
    """Return whether a bound is above a known one by more than a millionth of its size, and of the
    width of the narrowest bin: there are numbers enough between them for any knots."""
    return bound - known > max(abs(known), _NARROWEST) / 2**20


def are_defaults(
    counts: np.ndarray, noise: CountNoise, lower: float | None, upper: float | None
) -> bool:
    """Return whether the bounds that ``bounds_of`` makes of the same are a default: no rows are
    seen, or none on the inner side of the known bound."""
    below, above = _quantiles(counts, noise)
    seen = _with_rows(counts[: SIZES[0]], noise).any()
    is_low = lower is not None and not _is_beyond(above, lower)
    return not seen or is_low or (upper is not None and not _is_beyond(-below, -upper))


def rows_seen(coarse: np.ndarray, noise: CountNoise) -> np.ndarray:
    """Return the counts of bins that are taken to have rows, at least 0, and 0 of the others."""
    return np.where(_with_rows(coarse, noise), np.maximum(coarse, 0.0), 0.0)


def _quantiles(counts: np.ndarray, noise: CountNoise) -> tuple[float, float]:
    """Return the edges around the leaves of the two quantiles."""
    coarse, leaves = counts[: SIZES[0]], counts[SIZES[0] :]
    seen = _with_rows(coarse, noise)
    if not seen.any():
        return NO_ROWS_SEEN
    rows = np.where(seen, np.maximum(coarse, 0.0), 0.0)
    below = _leaf(rows, seen, leaves, noise)
    above = LEAVES - 1 - _leaf(rows[::-1], seen[::-1], leaves[::-1], noise)
    return edge(min(below, above)), edge(max(below, above) + 1)


def _with_rows(counts: np.ndarray, noise: CountNoise) -> np.ndarray:
    """Return which bins are taken to have rows, bool: those that are above noise by themselves, and
    of longer runs of others that are above it together the middle half."""
    seen = np.zeros(counts.size, dtype=bool)
    up_to = np.append(0.0, np.cumsum(counts))
    for length in _RUNS:
        seen_up_to = np.append(0, np.cumsum(seen))
        others = seen_up_to[length:] == seen_up_to[:-length]
        above = up_to[length:] - up_to[:-length] > noise.most(length)
        margin = length // 4
        for first in np.flatnonzero(others & above):
            seen[first + margin : first + length - margin] = True
    return seen


def _leaf(rows: np.ndarray, seen: np.ndarray, leaves: np.ndarray, noise: CountNoise) -> int:
    """Return the leaf of the lower quantile: in the bin in which the rank is passed, the leaf up to
    which there are so many, and more than noise is apt to make of them; the first if none is.

    The bin's own count is better than the sum of its leaves': their difference is shared evenly
    (least squares; Hay, Rastogi, Miklau & Suciu 2010, section 4.1).
    """
    up_to = np.cumsum(rows)
    rank = TAIL * up_to[-1]
    place = int(np.flatnonzero(seen & (up_to >= rank))[0])
    rank -= up_to[place] - rows[place]
    own = leaves[place * BRANCHES : (place + 1) * BRANCHES]
    n_leaves = np.arange(1, BRANCHES + 1)
    inside = np.cumsum(own) + n_leaves * (rows[place] - own.sum()) / (BRANCHES + 1)
    spread = noise.deviation * np.sqrt(n_leaves * (1 - n_leaves / (BRANCHES + 1)))
    reached = np.flatnonzero((inside >= rank) & (inside >= _CLEAR * spread))
    return place * BRANCHES + (int(reached[0]) if reached.size else 0)
