"""The curve of Gaussian noise in float64, many points at a time: upper bounds with a margin.

``dpcore.accountants.normal`` gives the same curve in certified arithmetic, a thousandth as fast.
Here delta(mu, epsilon) = phi(a) (R(a) - R(a + mu)), a = epsilon / mu - mu / 2, R the Mills ratio
(Balle & Wang 2018, Theorem 8), is evaluated so that every rounding is covered:

* R(x) = sqrt(pi / 2) erfcx(x / sqrt 2); scipy's erfcx (S. G. Johnson's Faddeeva package) is within
  1e-13 of it, relative, which ``_R_ERROR`` allows ten times over, its argument's rounding included;
* ``a`` is off by at most 2^-50 (1 + |epsilon / mu| + mu), and is lowered by 2^-46 of that: delta
  decreases in ``a`` for a fixed mu;
* phi(a) then is off by at most 2^-52 (a^2 + 4), relative, below 2^-40 for the ``a`` in use.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

__all__ = ["MARGIN", "gaussian_deltas_up"]

MARGIN = 2.0**-30
"""Relative; granted once to a value that positive terms, each right to 2^-40, were added up to."""

_R_ERROR = 1e-12
_SMALLEST_A, _LARGEST_A = -9.0, 37.0
_TINY = 1e-290
"""An upper bound of Phi(-37): what is granted where phi(a) is out of range."""


def gaussian_deltas_up(mu: np.ndarray, epsilon: float) -> np.ndarray:
    """Return an upper bound of the delta of Gaussian noise at ``epsilon`` >= 0 for each ``mu`` >= 0
    (the distance over the standard deviation): float64 of its shape, at most 1."""
    import numpy as np
    from scipy.special import erfcx

    from dpcore_accounting.reproducible.array_functions import array_exp

    safe = np.where(mu > 0, mu, 1.0)
    with np.errstate(over="ignore"):  # to inf, which is cut off
        ratio = np.minimum(epsilon / safe, 1e150)
    a = ratio - safe / 2
    a = a - 2.0**-46 * (1 + ratio + safe)
    inside = np.clip(a, _SMALLEST_A, _LARGEST_A)
    root = math.sqrt(0.5)
    upper = erfcx(inside * root) * (1 + _R_ERROR)
    lower = erfcx((inside + safe) * root) * (1 - _R_ERROR)
    # phi(a) sqrt(pi / 2) is exp(-a^2 / 2) / 2.
    delta = 0.5 * array_exp(-inside * inside / 2) * (upper - lower) * (1 + MARGIN) + _TINY
    delta = np.where(a > _LARGEST_A, _TINY, np.where(a < _SMALLEST_A, 1.0, delta))
    return np.where(mu > 0, np.minimum(delta, 1.0), 0.0)
