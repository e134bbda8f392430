"""Intervals of shares and AUC from noisy sums: for the noise, and the rows as a sample.

All are functions of released sums and of public values, the noise's standard deviation among
them, so they cost nothing. Each is the set of values that a test of level 5 % does not reject, the
variance taken at the value that is tested (Wilson 1927, with the noise's variance added): no
estimate of a share goes into its own variance. They hold by the normal approximation, of the rows
and of the noise; a sum of Laplace-like deviates has heavier tails, and leaves 6.3 % outside at
worst, where one cell is all (exp(-1.96 sqrt 2)).

Of units with up to k rows the variance of the sampling is k times that of independent rows, which
bounds it: the sum of m <= k variables has at most m times the sum of their variances.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

__all__ = [
    "CLEAR",
    "Z",
    "Estimate",
    "auc_of_bins",
    "count_of",
    "f1_of",
    "kept",
    "mean_of",
    "share_of",
]

Z = 1.959964
"""The quantile of .975 of the normal distribution."""
_STEPS = 2000
CLEAR = 4.0
"""How many deviations of its noise a count has to be, for a quotient by it to be told."""


class Estimate(NamedTuple):
    """A metric between its bounds at 95 %; ``value`` is ``None`` where the noise leaves none."""

    value: float | None
    low: float
    high: float


_UNKNOWN = Estimate(None, 0.0, 1.0)
"""A share of so few rows that noise may be all of it."""


def count_of(cells: np.ndarray, deviation: float) -> Estimate:
    """Return the number of rows in some cells, float64 as released; its interval is for the noise,
    since the rows that were held out are counted, and are no sample of themselves."""
    reach, total = Z * deviation * sqrt(cells.size), float(cells.sum())
    return Estimate(max(total, 0.0), max(total - reach, 0.0), max(total + reach, 0.0))


def share_of(
    cells: np.ndarray, chosen: np.ndarray, deviation: float, rows_per_unit: int = 1
) -> Estimate:
    """Return the share of the rows of these cells that are in the chosen ones.

    For a share p of a population, part - p total has the mean 0 and the variance deviation^2
    (m (1 - p)^2 + (M - m) p^2) + n p (1 - p), for m chosen cells of M. The number n of rows is
    taken at the top of its own interval, so that the interval is too wide, if anything.

    ``chosen`` : bool, of the shape of ``cells``.
    """
    total = float(cells.sum())
    part = _within(float(cells[chosen].sum()), total)
    m, rest = int(chosen.sum()), int((~chosen).sum())
    rows = max(1.0, count_of(cells, deviation).high) * rows_per_unit
    p = np.linspace(0.0, 1.0, _STEPS + 1)
    noise = deviation**2 * (m * (1 - p) ** 2 + rest * p**2)
    low, high = kept(p, (part - p * total) ** 2, noise + rows * p * (1 - p))
    return _share(part / total, low, high) if total > 0 else _UNKNOWN


def f1_of(
    cells: np.ndarray, of: np.ndarray, said: np.ndarray, deviation: float, rows_per_unit: int = 1
) -> Estimate:
    """Return the F1 of a class: twice the rows that are of it and said to be, over the rows that
    are of it and the rows that are said to be.

    For the F1 f of a population, 2 (1 - f) right - f wrong has the mean 0, right and wrong the rows
    that are of the class or said to be and that the model is right or wrong about. Its variance is
    deviation^2 (4 (1 - f)^2 m + f^2 M) for m cells of the first and M of the second; and of n such
    rows, each right with the probability f / (2 - f), 2 n f (1 - f). As in ``share_of``, n is taken
    at the top of its interval.

    ``of``, ``said`` : bool, of the shape of ``cells``: those of the class, and those said to be.
    """
    right, wrong = cells[of & said], cells[of ^ said]
    doubled, total = 2.0 * float(right.sum()), 2.0 * float(right.sum()) + float(wrong.sum())
    doubled = _within(doubled, total)
    rows = max(1.0, count_of(cells[of | said], deviation).high) * rows_per_unit
    f = np.linspace(0.0, 1.0, _STEPS + 1)
    noise = deviation**2 * (4 * right.size * (1 - f) ** 2 + wrong.size * f**2)
    low, high = kept(f, (doubled - f * total) ** 2, noise + 2 * rows * f * (1 - f))
    return _share(doubled / total, low, high) if total > 0 else _UNKNOWN


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of several metrics, none where one is unknown. The deviation of a mean is at
    most the mean of the deviations, whatever the metrics have to do with each other: so its
    interval, of the means of their ends, is wide enough."""
    count = len(estimates)
    low, high = sum(e.low for e in estimates) / count, sum(e.high for e in estimates) / count
    values = [each.value for each in estimates if each.value is not None]
    return Estimate(sum(values) / count if len(values) == count else None, low, high)


def auc_of_bins(
    negative: np.ndarray, positive: np.ndarray, deviation: float, rows_per_unit: int = 1
) -> Estimate:
    """Return the share of pairs of both classes whose positive row is in the higher bin, a pair in
    one bin counting a half.

    The noise's variance is that of the two sums of first order, each over its class's number of
    rows, and a bound on their product. The sampling's is at most A (1 - A) over the smaller class
    (Birnbaum & Klose 1957), whose number of rows is taken at the bottom of its interval. Where a
    class counts less than four deviations of its noise there is no metric, and the interval is
    all from 0 to 1.
    """
    n, p = float(negative.sum()), float(positive.sum())
    reach = deviation * sqrt(negative.size)
    if min(n, p) < max(CLEAR * reach, 1.0):
        return _UNKNOWN
    below = (np.cumsum(negative) - negative / 2) / n
    above = (p - np.cumsum(positive) + positive / 2) / p
    auc = float(positive @ below / p)
    first = ((below - auc) ** 2).sum() / p**2 + ((above - auc) ** 2).sum() / n**2
    noise = deviation**2 * first + reach**4 / (2 * (n * p) ** 2)
    fewest = max(1.0, min(n, p) - Z * reach)
    a = np.linspace(0.0, 1.0, _STEPS + 1)
    low, high = kept(a, (auc - a) ** 2, noise + rows_per_unit * a * (1 - a) / fewest)
    return _share(auc, low, high)


def _share(value: float, low: float, high: float) -> Estimate:
    """Return a share, held to its interval; none where that is all from 0 to 1."""
    is_known = low > 0.0 or high < 1.0
    return Estimate(min(max(value, low), high), low, high) if is_known else _UNKNOWN


def _within(part: float, whole: float) -> float:
    """Return a noisy part of a noisy whole above 0, held to be from 0 to the whole: every share of
    it is as near or nearer then, so that no interval loses a value, and none is too narrow to
    believe. Of a whole below 0 the part stays as it is."""
    return min(max(part, 0.0), whole) if whole > 0 else part


def kept(values: np.ndarray, gaps: np.ndarray, variances: np.ndarray) -> tuple[float, float]:
    """Return the least and the largest value that is not rejected, a step wider on either side;
    where all are, the one nearest to it."""
    ratios = gaps / np.maximum(variances, 1e-12)
    places = np.flatnonzero(ratios <= max(Z**2, float(ratios.min())))
    last = len(values) - 1
    low, high = values[max(places[0] - 1, 0)], values[min(places[-1] + 1, last)]
    return float(low), float(high)
