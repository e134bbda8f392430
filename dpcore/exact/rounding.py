"""Bounds of real functions in a stated direction, as exact fractions.

``decimal`` gives exp, ln, sqrt and division correctly rounded at any number of digits; one step
outward from there is a proven bound. Nothing here touches binary floating point but the last
conversion, and that one rounds to the side its name says.
"""

import decimal
import math
from decimal import Decimal
from fractions import Fraction

__all__ = [
    "DIGITS",
    "exact",
    "exp_down",
    "exp_in_words",
    "exp_up",
    "float_down",
    "float_up",
    "log_down",
    "log_up",
    "sqrt_down",
    "sqrt_up",
]

DIGITS = 120
"""Significant decimal digits of every bound."""

_SMALLEST_EXPONENT = -2000


def exact(number: float) -> str:
    """Return all digits of a float: fewer could round a guarantee down.

    Examples
    --------
    >>> from dpcore.plugin.parts import exact
    >>> exact(0.1 + 0.2), exact(3.0)
    ('0.30000000000000004', '3')
    """
    return repr(float(number)).removesuffix(".0")


def exp_in_words(epsilon: float) -> str:
    """Return e^epsilon, up to epsilon = 20 with its value, rounded up.

    Three digits, and one more for every nought that the excess over 1 begins with: at a small
    epsilon that excess is what is guaranteed.
    """
    power = f"e^{exact(epsilon)}"
    if epsilon > 20:
        return power
    # Thirty digits to nearest, the next above them, then three rounded up: never below e^epsilon.
    above = decimal.Context(prec=30).next_plus(decimal.Context(prec=30).exp(Decimal(epsilon)))
    digits = 3 + min(24, max(0, -1 - Decimal(epsilon).adjusted()))
    return (
        f"{power} = {decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING).plus(above):,f}"
    )


def _context(rounding: str) -> decimal.Context:
    return decimal.Context(
        prec=DIGITS,
        rounding=rounding,
        Emin=decimal.MIN_EMIN,
        Emax=decimal.MAX_EMAX,
        traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
    )


# Division follows the direction of the context. exp, ln and sqrt are rounded half even whatever it
# says (General Decimal Arithmetic Specification 1.70), so the neighbour beyond is a bound.
_UP = _context(decimal.ROUND_CEILING)
_DOWN = _context(decimal.ROUND_FLOOR)


def _decimal_up(x: Fraction) -> Decimal:
    return _UP.divide(Decimal(x.numerator), Decimal(x.denominator))


def _decimal_down(x: Fraction) -> Decimal:
    return _DOWN.divide(Decimal(x.numerator), Decimal(x.denominator))


def _outward_up(x: Decimal) -> Fraction:
    # Zero is exact (ln 1, sqrt 0), and its neighbour has 10**18 digits as a fraction.
    return Fraction(_UP.next_plus(x)) if x else Fraction(0)


def _outward_down(x: Decimal) -> Fraction:
    return Fraction(_DOWN.next_minus(x)) if x else Fraction(0)


def float_up(x: Fraction) -> float:
    """Return the smallest float that is >= ``x`` (``inf`` above the largest finite one).

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpcore.plugin.parts import float_up
    >>> float_up(Fraction(1, 10)) >= Fraction(1, 10)
    True
    """
    try:
        nearest = x.numerator / x.denominator
    except OverflowError:
        return math.inf if x > 0 else -math.nextafter(math.inf, 0)
    return nearest if Fraction(nearest) >= x else math.nextafter(nearest, math.inf)


def float_down(x: Fraction) -> float:
    """Return the largest float that is <= ``x`` (``-inf`` below the smallest finite one).

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpcore.plugin.parts import float_down
    >>> float_down(Fraction(1, 10)) <= Fraction(1, 10)
    True
    """
    return -float_up(-x) + 0.0  # never -0.0


def exp_up(x: Fraction) -> Fraction:
    """Return an upper bound of ``e**x``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> exp_down(Fraction(1)) < exp_up(Fraction(1))
    True
    >>> float(exp_up(Fraction(1)))
    2.718281828459045
    """
    return _outward_up(_UP.exp(_decimal_up(max(x, Fraction(_SMALLEST_EXPONENT)))))


def exp_down(x: Fraction) -> Fraction:
    """Return a lower bound of ``e**x``, 0 below ``e**-2000``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> float(exp_down(Fraction(-1)))
    0.36787944117144233
    >>> exp_down(Fraction(-2001))
    Fraction(0, 1)
    """
    return Fraction(0) if x < _SMALLEST_EXPONENT else _outward_down(_DOWN.exp(_decimal_down(x)))


def log_up(x: Fraction) -> Fraction:
    """Return an upper bound of ``ln x`` for ``x > 0``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> log_down(Fraction(2)) < log_up(Fraction(2))
    True
    >>> float(log_up(Fraction(2)))
    0.6931471805599453
    """
    return _outward_up(_UP.ln(_decimal_up(x)))


def log_down(x: Fraction) -> Fraction:
    """Return a lower bound of ``ln x``, for ``x > 0``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpcore.plugin.parts import log_down
    >>> log_down(Fraction(1)) == 0
    True
    """
    return _outward_down(_DOWN.ln(_decimal_down(x)))


def sqrt_up(x: Fraction) -> Fraction:
    """Return an upper bound of the square root of ``x >= 0``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpcore.plugin.parts import sqrt_up
    >>> sqrt_up(Fraction(2)) ** 2 >= 2
    True
    """
    return _outward_up(_UP.sqrt(_decimal_up(x)))


def sqrt_down(x: Fraction) -> Fraction:
    """Return a lower bound of the square root of ``x >= 0``, never negative."""
    return _outward_down(_DOWN.sqrt(_decimal_down(x)))
