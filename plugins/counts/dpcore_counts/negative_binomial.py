"""Negative binomial loss (NB2) with a log link."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpcore.plugin import check_ranges, option
from dpcore.plugin.parts import float_up, sealed
from dpcore_baselines.losses.row_loss import RowLoss
from dpcore_counts.exponential import USUAL, target

__all__ = ["NegativeBinomial"]

_ABOVE = 1 + Fraction(1, 2**40)
"""A factor above all that rounding adds to a computed slope."""


def deviance(z: float, y: float, parameters: np.ndarray) -> float:
    """Return f times half the deviance of a row, f = 1 + a/4. It is the difference of ``t log(t (1
    + a m) / (m (1 + a t)))`` and ``log((1 + a t) / (1 + a m)) / a``; both are taken from t - m
    where they would be differences of large terms."""
    a = parameters[0]
    t = target(y)
    m = math.exp(z)
    e = math.exp(-z)
    more = 0.0
    if t > 0.0:
        more = math.log(t) - z - math.log1p(a * t) + math.log1p(a * m)
        if z > -30.0:
            more = math.log1p((t * e - 1.0) / (1.0 + a * t))
    rise = math.log1p(a * t) - z - math.log(a + e)
    if a * m < 4.0:
        rise = math.log1p(a * (t - m) / (1.0 + a * m))
    return (1.0 + USUAL * a) * max(0.0, t * more - rise / a)


def residual(z: float, y: float, parameters: np.ndarray) -> float:
    """Return its slope, ``f (m - t) / (1 + a m)``."""
    a = parameters[0]
    t = target(y)
    e = math.exp(-abs(z))
    slope = (1.0 - t * e) / (a + e) if z > 0.0 else (e - t) / (1.0 + a * e)
    return (1.0 + USUAL * a) * slope


@sealed
@dataclass(frozen=True, slots=True)
class NegativeBinomial(RowLoss, value=deviance, slope=residual):
    """Half the unit deviance of a count t with the mean m = exp(z) and the variance m + a m^2,
    times f = 1 + a/4. The overdispersion a is fixed beforehand (NB2: Lawless 1987); the factor
    makes its slope that of a Poisson loss, m - t, at m = 1/4.

    t and m are in half widths of the target's bounds, the lower one 0. In counts, with the variance
    mean + alpha mean^2, a is alpha times the half width: the variance over the mean, less 1, of a
    mean in the middle of the bounds.

    Unlike that of a Poisson loss the slope f (m - t) / (1 + a m) is bounded: it grows from -f t, at
    least -2 f, to f/a. Its derivative in z, f m (1 + a t) / (1 + a m)^2, is at most
    f (1 + 2 a) / (4 a), since x / (1 + x)^2 <= 1/4.

    With ``exposure`` a row's weight e is its exposure, up to a public bound B, and its label the
    rate r: the loss is that of the count e r at the margin z + log(e). Counts are up to 2 B then,
    so that neither constant grows by more than max(1, B) (``dpcore_tables.weights``). Without
    weights every exposure is 1.
    """

    overdispersion: float = option(
        1.0,
        "variance over mean, less 1, at the middle of the target's bounds: alpha times their half "
        "width",
        range=(2.0**-6, 2.0**10),
    )
    exposure: bool = option(
        False,
        "weights of rows are exposures e: of a rate r the loss is that of the count e r, mean e m",
    )

    name: ClassVar[str] = "negative-binomial"
    classification: ClassVar[bool] = False
    convex: ClassVar[bool] = True
    log_link: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def lipschitz(self) -> float:
        a = Fraction(self.overdispersion)
        return float_up(self._factor * max(Fraction(2), 1 / a) * _ABOVE)

    @property
    def smoothness(self) -> float:
        a = Fraction(self.overdispersion)
        return float_up(self._factor * (1 + 2 * a) / (4 * a) * _ABOVE)

    @property
    def _factor(self) -> Fraction:
        return 1 + Fraction(USUAL) * Fraction(self.overdispersion)
