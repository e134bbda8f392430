"""The curve of Gaussian noise between a lower and an upper bound, in float64, many points at once.

H(z) = phi(a) (R(a) - R(a + mu)), a = z / mu - mu / 2, R the Mills ratio (Balle & Wang 2018, Theorem
8), and it falls in ``a``. Rounding:

* ``a`` is moved to either side by 2^-48 (1 + z / mu + mu) and by what z is off over mu;
* of mu above 50 the lower bound is that of 50, as the curve grows with mu (more noise is
  post-processing), and the upper one is 1;
* R(x) = sqrt(pi / 2) erfcx(x / sqrt 2), by scipy (S. G. Johnson's Faddeeva package), is right to
  ``_R_ERROR``, relative, its argument's rounding included;
* where R(a) - R(a + mu) would cancel, for mu <= 1/4, it is the integral of  1 - t R(t)  over
  [a, a + mu] by eight points of Gauss and Legendre. Their error is at most 2e-23 mu^17 times the
  largest 16th derivative, an integral of s^17 e^(-ts - s^2/2) ds: over that of s e^(-ts - s^2/2),
  which the integrand is, at most 1e8 for t >= -1/8, so that it is below 1e-24, relative.
  1 - t R(t) itself is right to (1 + t^2) ``_R_ERROR``, as t^2 + 1 > 1 / (1 - t R(t)) - 1;
* phi(a) is right to 2^-52 (a^2 + 4), the rest to 2^-48.
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.plugin import ordered_dot
from dpcore_accounting.reproducible.array_functions import array_exp

__all__ = ["gaussian_bounds"]

_R_ERROR = 2.0**-46
"""Tests find a thirtieth of it, against mpmath."""
_NARROW = 0.25
_LARGEST_A, _LARGEST_MU = 37.0, 50.0
_FARTHEST = 2.0**60
"""In deviations; beyond ``_LARGEST_A`` there is one pair of bounds for all."""
_TINY = 1e-290
"""An upper bound of Phi(-37): what is granted where phi(a) is out of range."""
_POINTS, _WEIGHTS = np.array(
    [
        (-0.9602898564975363, 0.10122853629037626),
        (-0.7966664774136267, 0.22238103445337448),
        (-0.525532409916329, 0.31370664587788727),
        (-0.1834346424956498, 0.362683783378362),
        (0.1834346424956498, 0.362683783378362),
        (0.525532409916329, 0.31370664587788727),
        (0.7966664774136267, 0.22238103445337448),
        (0.9602898564975363, 0.10122853629037626),
    ]
).T
"""Of Gauss and Legendre on [-1, 1] (Abramowitz & Stegun 1964, Table 25.4)."""


def gaussian_bounds(mu: float, z: np.ndarray, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper bounds of H(z) at ``z`` >= 0, infinite ones too, which are right to
    ``off``, at most a quarter of them."""
    if mu > _LARGEST_MU:
        return gaussian_bounds(_LARGEST_MU, z, off)[0], np.ones_like(z)
    ratio = np.minimum(z / mu, _FARTHEST)
    a = ratio - mu / 2
    either = 2.0**-48 * (1 + ratio + mu) + np.minimum(off / mu, _FARTHEST / 2)
    low, high = _at(mu, a + either)[0], _at(mu, a - either)[1]
    far = a - either > _LARGEST_A
    low[a + either > _LARGEST_A], high[far] = 0.0, _TINY
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def _at(mu: float, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy.special import erfcx

    a = np.minimum(a, _LARGEST_A + 1)
    # phi(a) sqrt(pi / 2) is exp(-a^2 / 2) / 2, and phi(a) that over sqrt(pi / 2).
    half = 0.5 * array_exp(-a * a / 2)
    if mu > _NARROW:
        first, second = erfcx(a * math.sqrt(0.5)), erfcx((a + mu) * math.sqrt(0.5))
        gap, wrong = first - second, _R_ERROR * (first + second)
    else:
        t = a[:, None] + mu / 2 * (1 + _POINTS)
        inside = math.sqrt(2 / math.pi) - t * erfcx(t * math.sqrt(0.5))
        gap = mu / 2 * ordered_dot(inside, _WEIGHTS)
        wrong = 2 * _R_ERROR * (2 + (np.abs(a) + mu) ** 2) * gap
    rest = 2.0**-47 + 2.0**-51 * a * a
    return half * (gap - wrong) * (1 - rest), half * (gap + wrong) * (1 + rest)
