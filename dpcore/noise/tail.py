"""The normal tail Q(x) = P(N > x) between two integers, to any number of bits.

With the integral of the exponential's series (Abramowitz & Stegun 1964, 7.1.5),

    Q(x) = 1/2 - (1 / sqrt(2 pi)) sum over n >= 0 of (-1)^n x^(2n+1) / (2^n n! (2n + 1)).

Every operation is done twice in integers, rounded down and rounded up, so the bounds need no error
analysis: where the series cancels (at large x) they are far apart, and the caller asks for more
bits.
"""

from fractions import Fraction
from math import isqrt

from dpcore.exact.plain import cached_by_number

__all__ = ["tail_bounds"]


def tail_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Return integers around ``2**bits * Q(x)``, for ``x >= 0``."""
    squared, divisor = x.numerator**2, x.denominator**2
    low = (x.numerator << bits) // x.denominator
    high = low + 1
    sum_low = sum_high = n = 0
    # The terms fall once 2n > x^2; the rest then is between 0 and the next term, signed.
    while high > 2 * n + 1 or 2 * n * divisor <= squared:
        term = low // (2 * n + 1), high // (2 * n + 1) + 1
        sum_low, sum_high = (
            (sum_low - term[1], sum_high - term[0])
            if n % 2
            else (sum_low + term[0], sum_high + term[1])
        )
        n += 1
        low, high = low * squared // (2 * n * divisor), -(-high * squared // (2 * n * divisor))
    rest = high // (2 * n + 1) + 1
    sum_low, sum_high = max(0, sum_low - rest), sum_high + rest
    factor_low, factor_high = _inverse_root(bits)
    half = 1 << (bits - 1)
    return max(0, half - (sum_high * factor_high >> bits) - 1), half - (
        sum_low * factor_low >> bits
    )


@cached_by_number(maxsize=16)
def _inverse_root(bits: int) -> tuple[int, int]:
    """Return integers around ``2**bits / sqrt(2 pi)``."""
    pi_low, pi_high = _pi(bits)
    return (
        isqrt((1 << (3 * bits)) // (2 * pi_high)),
        isqrt((1 << (3 * bits)) // (2 * pi_low) + 1) + 1,
    )


def _pi(bits: int) -> tuple[int, int]:
    """Return integers around ``2**bits * pi`` = 16 atan(1/5) - 4 atan(1/239) (Machin 1706)."""
    fifth, small = _atan_inverse(5, bits), _atan_inverse(239, bits)
    return 16 * fifth[0] - 4 * small[1], 16 * fifth[1] - 4 * small[0]


def _atan_inverse(k: int, bits: int) -> tuple[int, int]:
    """Return integers around ``2**bits * atan(1/k)``: an alternating series of falling terms."""
    power, total, n = (1 << bits) // k, 0, 0
    while power:
        total += -(power // (2 * n + 1)) if n % 2 else power // (2 * n + 1)
        power //= k * k
        n += 1
    # Each of n powers and quotients is below its value by less than 2; the rest is below 1.
    return total - 2 * n - 1, total + 2 * n + 1
