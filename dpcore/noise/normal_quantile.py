"""A certified table of the normal quantile, by which a uniform number becomes a normal deviate.

m(v) = -Phi^-1(v), 0 < v < 1/2, is the size of a normal deviate. Its octaves 2^-(e+1) <= v < 2^-e,
e = 1 to 24, are cut into 64 rows each; a row of centre c and half-width h holds the first eight
terms of the Taylor series of m in s = (v - c) / h, -1 <= s <= 1. With x = Phi^-1 and f the normal
density,

    x' = 1 / f(x),    the n-th derivative is x'^n P_n(x),    P_1 = 1,  P_(n+1) = P_n' + n x P_n:

polynomials with coefficients >= 0, so every derivative is largest, in size, at a row's left end,
where m is at most ``m_up``: it passes c with slope at most 1 / f(m_up) as long as m <= m_up, so it
cannot reach m_up within h if h / f(m_up) <= m_up - m(c), which is checked. Lagrange's remainder
after n terms is then at most (h / f(m_up))^n P_n(m_up) / n!.

Rounding (``SLACK``, of m, for sums in float64): m < 5.7, so the constant term and the last addition
of Horner's rule err by at most 2^-50 each; each other term is below 2^-6 and errs, with its
coefficients (2^-48 relative) and s, by less than 2^-53; v rounded to 53 bits moves m by less than
v x' 2^-53 < 2^-52; the product with the scale and the two bounds around it err by less than 2^-49
of the scale. All that is below 2^-47.

Rounding (``WIDE_SLACK``), where the constant term is exact and v - c too: the other terms together
are below 2^-7.3. The first of them, s, the last product and addition of Horner's rule, the product
with the scale, the sum and the two bounds around it each lose 2^-53 of these 2^-7.3. The
coefficients from s^2 on err by less than 2^-60 in all, since m(c) is known to 2^-46 where they are
computed, and the constant term by 2^-90. All that is below 2^-57; what does not grow with the
scale, 2^-49, is below 2^-71 of a scale of 2^22 or more.
"""

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import factorial
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from dpcore.noise.tail import tail_bounds

__all__ = [
    "FIRST_TERMS",
    "OCTAVES",
    "ROW_BITS",
    "SLACK",
    "WIDE_SLACK",
    "QuantileTable",
    "quantile_table",
]

OCTAVES = 24
ROW_BITS = 6
"""Rows of an octave, as a power of two."""
TERMS = 8
FIRST_TERMS = 4
"""So many of the eight terms are used where 32 bits of v are known and no more."""
SLACK = 2.0**-47
WIDE_SLACK = 2.0**-56

_TAIL_BITS = 160
# Far above what rounding does to a bound computed in float64.
_WIDENED = 1 + 2.0**-20
_CONTEXT = Context(prec=30, rounding=ROUND_HALF_EVEN)
_ROOT_TWO_PI = Decimal("2.50662827463100050241576528481")


class QuantileTable(NamedTuple):
    """Rows from the smallest v up.

    ``coefficients`` : float64 of shape (n_rows, 8), of s^0 to s^7. The others have shape (n_rows,):
    ``rest``, what the first of them lacks of m(c), up to 2^-90; ``slopes``, at least the size of m'
    within the row; ``short`` and ``full``, at least what Taylor's series errs by after four and
    after all eight terms.
    """

    coefficients: np.ndarray
    rest: np.ndarray
    slopes: np.ndarray
    short: np.ndarray
    full: np.ndarray


@lru_cache(maxsize=1)
def quantile_table() -> QuantileTable:
    """Return the table; it is computed once in a process, in a few tenths of a second."""
    rows = 1 << ROW_BITS
    polynomials = _derivatives()
    made = []
    for octave in range(OCTAVES, 0, -1):
        width = Fraction(1, rows << (octave + 1))
        made += [
            _row((rows + i + Fraction(1, 2)) * width, width / 2, polynomials) for i in range(rows)
        ]
    columns = [np.array(column) for column in zip(*made, strict=True)]
    for column in columns:
        column.flags.writeable = False
    return QuantileTable(*columns)


def _row(
    centre: Fraction, half: Fraction, polynomials: list[np.ndarray]
) -> tuple[list[float], float, float, float, float]:
    near, h = -NormalDist().inv_cdf(float(centre)), float(half)
    slope = _slope(near)
    low, high = tail_bounds(Fraction(near), _TAIL_BITS)
    # m(c) = near - (c - Q(near)) m'(near) up to 2^-90.
    missing = slope * float(Fraction(low + high, 2 << _TAIL_BITS) - centre)
    at = near + missing
    slope = _slope(_CONTEXT.add(Decimal(near), Decimal(missing)))
    m_up = at + 2 * h * slope
    steep = _slope(m_up) * _WIDENED
    if abs(missing) > 1e-14 or high - low > 2**40 or h * steep > m_up - at:
        raise AssertionError("The table of the normal quantile is not certified.")
    sizes = [
        (h * slope) ** n * _value(polynomials[n], -near) / factorial(n) for n in range(1, TERMS)
    ]
    errors = [
        (h * steep) ** n * _value(polynomials[n], m_up) / factorial(n) * _WIDENED
        for n in (FIRST_TERMS, TERMS)
    ]
    rest = float(Fraction(near) + Fraction(missing) - Fraction(at))
    return [at, *(-size for size in sizes)], rest, steep, errors[0], errors[1]


def _slope(m: float | Decimal) -> float:
    """Return 1 / f(m), correctly rounded or nearly so."""
    exact = Decimal(m)
    power = _CONTEXT.exp(_CONTEXT.divide(_CONTEXT.multiply(exact, exact), Decimal(2)))
    return float(_CONTEXT.multiply(_ROOT_TWO_PI, power))


def _derivatives() -> list[np.ndarray]:
    """Return P_0 (unused) to P_8, by ascending powers."""
    polynomials = [np.zeros(1), np.ones(1)]
    for n in range(1, TERMS):
        last = polynomials[-1]
        grown = np.concatenate(([0.0], n * last))
        grown[: last.size - 1] += np.arange(1, last.size) * last[1:]
        polynomials.append(grown)
    return polynomials


def _value(polynomial: np.ndarray, x: float) -> float:
    return float(sum(c * x**i for i, c in enumerate(polynomial)))
