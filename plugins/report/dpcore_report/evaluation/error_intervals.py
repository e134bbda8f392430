"""Intervals of squared errors from noisy sums of products of predictions and targets.

Targets y and predictions z are in [-1, 1]; the sums are those of ``PredictionMoments``, each with
normal noise of one deviation, s. Each interval is the set of values that a test of level 5 % does
not reject (Fieller 1954), as in ``dpcore_report.evaluation.intervals``: a linear combination of the
sums whose mean is 0 at the value is held against its noise's variance, s^2 times the squares of its
coefficients, and its sampling's, rows times a bound on the variance of a row's part:

* of e = (z - y)^2 in [0, 4] with the mean a: a (4 - a) (Bhatia & Davis 2000); of |z - y| / 2 in
  [0, 1] with the mean a: a (1 - a), likewise;
* of w = (y - m)^2 in [0, (1 + |m|)^2] with the mean v: v ((1 + |m|)^2 - v), likewise;
* of e - b w, whose deviation is at most that of e and b times that of w together, and, since e - w
  = (z - m) (z + m - 2 y), at most (3 + |m|) sqrt(E (z - m)^2) and |1 - b| times that of w: the
  smaller of the two. The second is small where predictions hardly differ from the mean.

The mean m of y is taken from the sums too, where the sum of w is least: (Y - m n)^2 / n too small,
by the noise of Y - m n. Tests let the sum of w be larger by its bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from dpcore_report.evaluation.intervals import CLEAR, Estimate, Z, kept

__all__ = [
    "Moments",
    "absolute_error",
    "mean_of_targets",
    "r2_of",
    "squared_error",
    "variance_of_targets",
]

_STEPS = 4000
_ROOTS = np.linspace(0.0, 1.0, _STEPS + 1)
_SQUARES = _ROOTS**2
"""From 0 to 1, finer near 0, where roots of means are told."""
_RATIOS = _ROOTS[:-1] / (1.0 - _ROOTS[:-1])
"""From 0 to nearly ``_STEPS``: of the squared errors of a model over those of a constant."""


_NOTHING = Estimate(None, -inf, inf)


@dataclass(frozen=True, slots=True)
class Moments:
    """Released sums over rows of 1, z, y, z^2, z y and y^2, the deviation of their noise, and the
    sum of |z - y| / 2.

    ``rows_per_unit`` : at most so many rows are of one unit, and the sampling's variance so many
    times that of independent rows.
    """

    count: float
    said: float
    true: float
    said_squared: float
    product: float
    true_squared: float
    deviation: float
    rows_per_unit: int
    absolute: float = 0.0

    @property
    def are_clear(self) -> bool:
        """Whether the noisy count is one to divide by."""
        return self.count >= max(CLEAR * self.deviation, 1.0)

    @property
    def rows(self) -> float:
        """The number of rows at the top of its interval, times ``rows_per_unit``."""
        return max(1.0, self.count + Z * self.deviation) * self.rows_per_unit

    @property
    def fewest(self) -> float:
        """The number of rows at the bottom of its interval."""
        return max(1.0, self.count - Z * self.deviation)

    @property
    def mean(self) -> float:
        """The mean of targets."""
        return min(max(self.true / self.count, -1.0), 1.0)

    @property
    def of_model(self) -> float:
        """The sum of squared errors of the model."""
        total = self.said_squared - 2 * self.product + self.true_squared
        return min(max(total, 0.0), 4 * self.count)

    @property
    def of_mean(self) -> float:
        """The sum of squared errors of the mean of targets."""
        return min(max(self.true_squared - self.true**2 / self.count, 0.0), self.count)

    @property
    def most_missing(self) -> float:
        """By how much ``of_mean`` is too small at most, for the noise of the mean."""
        return Z**2 * self.deviation**2 * (1 + self.mean**2) / self.fewest


def mean_of_targets(of: Moments) -> Estimate:
    """Return the mean of targets, in [-1, 1]."""
    if not of.are_clear:
        return _NOTHING
    m = 2 * _ROOTS - 1
    square = min(max(of.true_squared + Z * of.deviation, 0.0) / of.fewest, 1.0)
    sampling = of.rows * np.maximum(square - m**2, 0.0)
    noise = of.deviation**2 * (1 + m**2)
    low, high = kept(m, (of.true - m * of.count) ** 2, noise + sampling)
    return Estimate(min(max(of.mean, low), high), low, high)


def squared_error(of: Moments) -> Estimate:
    """Return the mean squared error of the model, in [0, 4]: no value where noise alone explains
    that it is above 0."""
    if not of.are_clear:
        return Estimate(None, 0.0, 4.0)
    a = 4 * _SQUARES
    noise = of.deviation**2 * (6 + a**2)
    gaps = of.of_model - a * of.count
    low, high = kept(a, gaps**2, noise + of.rows * a * (4 - a))
    return _above_0(of.of_model / of.count, low, high)


def absolute_error(of: Moments) -> Estimate:
    """Return the mean absolute error of the model, in [0, 2]: no value where noise alone explains
    that it is above 0."""
    if not of.are_clear:
        return Estimate(None, 0.0, 2.0)
    a, total = _SQUARES, min(max(of.absolute, 0.0), of.count)
    noise = of.deviation**2 * (1 + a**2)
    low, high = kept(a, (total - a * of.count) ** 2, noise + of.rows * a * (1 - a))
    value, low, high = _above_0(total / of.count, low, high)
    return Estimate(None if value is None else 2 * value, 2 * low, 2 * high)


def variance_of_targets(of: Moments) -> Estimate:
    """Return the variance of targets, in [0, 1], which is the mean squared error of always their
    mean: no value where noise alone explains that it is above 0."""
    if not of.are_clear:
        return Estimate(None, 0.0, 1.0)
    v = _SQUARES
    noise = of.deviation**2 * (1 + 4 * of.mean**2 + (of.mean**2 - v) ** 2)
    gaps = of.of_mean - v * of.count
    gaps = np.where(gaps < 0, np.minimum(gaps + of.most_missing, 0.0), gaps)
    low, high = kept(v, gaps**2, noise + of.rows * _of_deviations(of, v))
    return _above_0(of.of_mean / of.count, low, high)


def r2_of(of: Moments) -> Estimate:
    """Return R2: 1 less the squared error of the model over that of always the mean. It has no
    value where the former has none, and no bounds where noise leaves every ratio of the two."""
    variance = variance_of_targets(of)
    if variance.value is None:
        return _NOTHING
    b = _RATIOS
    gaps = of.of_model - b * of.of_mean
    gaps = np.where(gaps > 0, np.maximum(gaps - b * of.most_missing, 0.0), gaps)
    of_sums = 5 + (1 - b) ** 2 + b**2 * (4 * of.mean**2 + of.mean**4)
    sampling = of.rows * _deviation_of_difference(of, b, variance.value) ** 2
    low, high = kept(b, gaps**2, of.deviation**2 * of_sums + sampling)
    if high == b[-1]:
        return _NOTHING
    if squared_error(of).value is None:
        return Estimate(None, 1 - high, 1 - low)
    ratio = min(max(of.of_model / of.of_mean, low), high)
    return Estimate(1 - ratio, 1 - high, 1 - low)


def _above_0(value: float, low: float, high: float) -> Estimate:
    return Estimate(min(max(value, low), high) if low > 0 else None, low, high)


def _of_deviations(of: Moments, v: np.ndarray) -> np.ndarray:
    """Return the bound on the variance of (y - m)^2 where its mean is v."""
    return np.maximum(v * ((1 + abs(of.mean)) ** 2 - v), 0.0)


def _deviation_of_difference(of: Moments, b: np.ndarray, variance: float) -> np.ndarray:
    """Return the bound on the deviation of (z - y)^2 - b (y - m)^2, for each b."""
    m, error = of.mean, min(of.of_model / of.count, 4.0)
    of_constant = float(np.sqrt(_of_deviations(of, np.array(variance))))
    apart = of.said_squared - 2 * m * of.said + m**2 * of.count
    top = apart + Z * of.deviation * sqrt(1 + 4 * m**2 + m**4)
    near = (3 + abs(m)) * sqrt(max(top, 0.0) / of.fewest)
    each = sqrt(error * (4 - error)) + b * of_constant
    return np.asarray(np.minimum(each, near + np.abs(1 - b) * of_constant))
