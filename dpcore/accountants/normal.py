"""The exact trade-off of Gaussian noise: certified bounds of its (epsilon, delta) curve.

For noise of standard deviation 1/mu times the sensitivity (Balle & Wang 2018, Theorem 8):

    delta(mu, epsilon) = Phi(-a) - e**epsilon Phi(-b),   a = epsilon/mu - mu/2,   b = a + mu.

Since b**2 = a**2 + 2 epsilon, the second term is phi(a) times the Mills ratio at b, so that

    delta = phi(a) (R(a) - R(b)),     R(x) = Phi(-x) / phi(x),

without overflow at any epsilon, and with mu and epsilon each a closed form in a and the other.
"""

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from dpcore.exact.plain import cached_by_number
from dpcore.exact.rounding import exp_up, float_up, sqrt_down, sqrt_up

__all__ = [
    "gaussian_delta_up",
    "gaussian_epsilon_up",
    "gaussian_mu_squared_down",
    "normal_tail_up",
]

_DIGITS = 60
_CONTEXT = decimal.Context(prec=_DIGITS, rounding=decimal.ROUND_HALF_EVEN)
_EPS = Decimal((0, (1,), 8 - _DIGITS))
"""Relative width granted to rounding: an operation errs by at most 10**(1 - _DIGITS) / 2, and a
bound below takes fewer than 10**6 of them, all on positive numbers."""

_SERIES_UNTIL = 6
_LARGEST_A = 40.0
_SMALLEST_DELTA = Fraction(math.ulp(0.0))
"""Above Phi(-40), which bounds the delta of a = 40: so the end of a search is right for this delta
and larger ones. Of a smaller delta no search can tell anything."""
_SMALLEST_A = -9.0  # Phi(9) is above the largest float below 1

_TWO_PI = 2 * Fraction(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534"
    "211706798214808651328230664709384460955058223172535940812"
)
_PI_ERROR = Fraction(1, 10**140)


def mills_ratio(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return a lower and an upper bound of ``R(x) = Phi(-x) / phi(x)``.

    Below 6 from the series sum x**(2n+1) / (2n+1)!! (Marsaglia 2004); above from two neighbouring
    convergents of the continued fraction 1/(x + 1/(x + 2/(x + ...))), which enclose it (Laplace).
    """
    z = _CONTEXT.divide(Decimal(x.numerator), Decimal(x.denominator))
    step = Fraction(_EPS) * abs(x)  # z is much nearer to x than that
    low, high = _mills_fraction(z) if z >= _SERIES_UNTIL else _mills_series(z)
    slope = 1 + (abs(x) + step) * high  # R decreases, and |R'| = |x R - 1|
    return max(Fraction(0), low - slope * step), high + 2 * slope * step


def _mills_fraction(z: Decimal) -> tuple[Fraction, Fraction]:
    depth = 10 + math.ceil((1.16 * _DIGITS / float(min(z, Decimal(10**6)))) ** 2 / 2)
    values = []
    for n in (depth, depth + 1):
        tail = z
        for k in range(n, 0, -1):
            tail = _CONTEXT.add(z, _CONTEXT.divide(Decimal(k), tail))
        values.append(Fraction(_CONTEXT.divide(Decimal(1), tail)))
    return min(values) * (1 - Fraction(_EPS)), max(values) * (1 + Fraction(_EPS))


def _mills_series(z: Decimal) -> tuple[Fraction, Fraction]:
    # Operators would round to the caller's context: every operation names its own.
    square, term, total, n = _CONTEXT.multiply(z, z), z.copy_abs(), z.copy_abs(), 0
    while (
        term > _CONTEXT.multiply(total, _EPS) or square > n
    ):  # then the rest is below the last term
        n += 1
        term = _CONTEXT.divide(_CONTEXT.multiply(term, square), Decimal(2 * n + 1))
        total = _CONTEXT.add(total, term)
    series = Fraction(total)
    half_up = exp_up(Fraction(z) ** 2 / 2) * sqrt_up(_TWO_PI + _PI_ERROR) / 2
    half_down = sqrt_down(_TWO_PI) / 2 / exp_up(-(Fraction(z) ** 2) / 2)
    low, high = series * (1 - Fraction(_EPS)), series * (1 + 2 * Fraction(_EPS))
    return (half_down + low, half_up + high) if z < 0 else (half_down - high, half_up - low)


def normal_tail_up(x: Fraction) -> Fraction:
    """Return an upper bound of ``Phi(-x)``, within 10^-40 of it, relative, for 0 < x < 60."""
    return exp_up(-x * x / 2) / sqrt_down(_TWO_PI) * mills_ratio(x)[1]


def _delta_up(a: Fraction, b_up: Fraction) -> Fraction:
    """Return an upper bound of ``phi(a) (R(a) - R(b))`` for any ``b <= b_up`` (R decreases)."""
    phi_up = exp_up(-a * a / 2) / sqrt_down(_TWO_PI)
    return phi_up * max(Fraction(0), mills_ratio(a)[1] - mills_ratio(b_up)[0])


def gaussian_delta_up(mu: Fraction, epsilon: Fraction) -> Fraction:
    """Return an upper bound of the delta of mu-GDP at ``epsilon``, for ``mu > 0``."""
    a = epsilon / mu - mu / 2
    return Fraction(1) if a < _SMALLEST_A else min(Fraction(1), _delta_up(a, a + mu))


def _smallest(ratio: Callable[[Fraction], Fraction], low: float, high: float) -> Fraction:
    """Return the first float above ``low`` at which ``ratio``, which falls, was seen at most 1 (it
    is at ``high``).

    Whichever points are tried, the search ends between two neighbouring floats. Where the secant of
    the logarithm says that the end is, a little beyond is tried, which leaves a narrow bracket: a
    third of a bisection's steps or less.
    """
    above = below = 0.0  # the logarithms at low and high, once they are known
    halved = True
    while low < (middle := (low + high) / 2) < high:
        width, x = high - low, middle
        if halved and width < 1 and above > 0 > below:
            guess = low + width * above / (above - below)
            reach = guess - low if guess < middle else guess - high
            guess += math.copysign(max(min(0.1, width) * abs(reach), math.ulp(guess)), reach)
            x = guess if low < guess < high else middle
        value = ratio(Fraction(x))
        if value <= 1:
            high, below = x, _logarithm(value)
        else:
            low, above = x, _logarithm(value)
        halved = high - low <= width / 2
    return Fraction(high)


def _share(part: Fraction, whole: Fraction) -> Fraction:
    """Return ``part / whole``, at most 1 just where ``part <= whole``; nothing is within 0."""
    return part / whole if whole > 0 else Fraction(2)


def _logarithm(ratio: Fraction) -> float:
    """Return about its natural logarithm, as precise near 1 as elsewhere: it proves nothing."""
    if ratio == 0:
        return -math.inf
    if abs(ratio - 1) < Fraction(1, 2):
        return math.log1p(float(ratio - 1))
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def gaussian_mu_squared_down(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a lower bound of the largest mu**2 for which mu-GDP is (epsilon, delta)-DP.

    Every ``a`` that passes gives a mu that is proved to be within delta; the search makes it large.
    0 for a delta that no float but 0 is below: no Gaussian is (epsilon, 0)-DP.
    """
    return Fraction(_mu_squared_down(epsilon, delta))


@cached_by_number(maxsize=1024)  # A user, an epsilon of a comparison and a replay ask for it again.
def _mu_squared_down(epsilon: Fraction, delta: Fraction) -> Fraction:
    if delta < _SMALLEST_DELTA:
        return Fraction(0)

    def root_up(a: Fraction) -> Fraction:
        return sqrt_up(a * a + 2 * epsilon)

    a = _smallest(lambda x: _share(_delta_up(x, root_up(x)), delta), _SMALLEST_A, _LARGEST_A)
    mu = 2 * epsilon / (root_up(a) + a) if a > 0 else sqrt_down(a * a + 2 * epsilon) - a
    return mu * mu


@cached_by_number(maxsize=1024)
def gaussian_epsilon_up(mu_squared: Fraction, delta: Fraction) -> float:
    """Return an epsilon, rounded up, at which mu-GDP is (epsilon, delta)-DP; ``inf`` for a delta
    that no float but 0 is below, unless mu is 0."""
    if delta < _SMALLEST_DELTA:
        return math.inf if mu_squared > 0 else 0.0
    mu = sqrt_up(mu_squared)
    low = max(-mu / 2, Fraction(_SMALLEST_A))
    if low == -mu / 2 and _delta_up(low, low + mu) <= delta:
        return 0.0
    a = _smallest(lambda x: _share(_delta_up(x, x + mu), delta), float(low), _LARGEST_A)
    return float_up(max(Fraction(0), mu * (a + mu / 2)))
