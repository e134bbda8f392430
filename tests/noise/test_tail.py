"""The normal tail between two integers, against mpmath."""

from fractions import Fraction

import mpmath
import pytest

from dpcore.noise.tail import tail_bounds

POINTS = [Fraction(0), Fraction(1, 10**9), Fraction(2, 3), Fraction(1), Fraction(7, 2)]
POINTS += [Fraction(541859, 10**5), Fraction(9), Fraction(83, 7), Fraction(1, 3) + 20]


def scaled_tail(x, bits):
    return mpmath.ldexp(
        mpmath.erfc(mpmath.mpf(x.numerator) / x.denominator / mpmath.sqrt(2)) / 2, bits
    )


@pytest.mark.parametrize("x", POINTS)
@pytest.mark.parametrize("bits", [64, 192, 1000])
def test_the_tail_lies_between_the_bounds(x, bits):
    with mpmath.workdps(500):
        exact = scaled_tail(x, bits)
        low, high = tail_bounds(x, bits)
        assert low <= exact <= high
        # What the series loses by cancelling: about x^2 / 2 in natural units.
        assert high - low <= 64 + 1000 * mpmath.exp(x * x / 2)


def test_more_bits_bring_the_bounds_together_at_any_point():
    low, high = tail_bounds(Fraction(30), 2000)
    assert high - low < low / 2**600
