"""Directed rounding against mpmath at more digits, and against plain floats as a broken twin."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.exact.rounding import (
    DIGITS,
    exp_down,
    exp_up,
    float_down,
    float_up,
    log_down,
    log_up,
    sqrt_down,
    sqrt_up,
)

fractions = st.fractions(min_value=-1000, max_value=1000)
positive = st.fractions(min_value=Fraction(1, 10**30), max_value=10**30)


def reference(function, x):
    with mpmath.workdps(2 * DIGITS):
        value = function(mpmath.mpf(x.numerator) / x.denominator)
        sign, mantissa, exponent, _ = value._mpf_
        return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent


@given(st.fractions())
def test_float_bounds_are_neighbours(x):
    low, high = float_down(x), float_up(x)
    assert Fraction(low) <= x <= Fraction(high)
    assert high in (low, math.nextafter(low, math.inf))
    assert (low == high) == (Fraction(low) == x)


def test_float_bounds_at_the_edges():
    beyond, tiny = Fraction(10) ** 400, Fraction(1, 10**400)
    largest = math.nextafter(math.inf, 0)
    assert (float_up(beyond), float_down(beyond)) == (math.inf, largest)
    assert (float_up(-beyond), float_down(-beyond)) == (-largest, -math.inf)
    assert (float_up(tiny), float_down(tiny)) == (5e-324, 0.0)
    assert math.copysign(1, float_down(tiny)) == 1


@given(fractions)
def test_exp_bounds_enclose(x):
    exact = reference(mpmath.exp, x)
    assert exp_down(x) < exact < exp_up(x) or x == 0
    assert exp_up(x) - exp_down(x) < exact / 10 ** (DIGITS - 10)


@given(positive)
def test_log_bounds_enclose(x):
    exact = reference(mpmath.log, x)
    assert log_down(x) < exact < log_up(x) or x == 1
    assert log_up(x) - log_down(x) < Fraction(1, 10 ** (DIGITS - 10))


@given(positive)
def test_sqrt_bounds_enclose(x):
    assert sqrt_down(x) ** 2 < x < sqrt_up(x) ** 2
    assert sqrt_up(x) ** 2 - sqrt_down(x) ** 2 < x / 10 ** (DIGITS - 10)


def test_far_below_zero_exp_keeps_its_side():
    deep = -(Fraction(10) ** 300)
    assert exp_down(deep) == 0 < exp_up(deep) < Fraction(1, 10**800)


def test_exact_zeros_stay_zero():
    # The neighbour of zero in decimal has an exponent of -10**18: as a fraction it never ends.
    one, nothing = Fraction(1), Fraction(0)
    assert log_down(one) == log_up(one) == sqrt_down(nothing) == sqrt_up(nothing) == 0
    just_above = one + Fraction(1, 10**200)
    assert log_down(just_above) == 0 < log_up(just_above)


@pytest.mark.parametrize("x", [Fraction(1, 3), Fraction(7, 5)])
def test_plain_floats_fail_the_enclosure(x):
    # The broken twin: math.exp rounds to nearest, so it cannot be on both sides.
    exact = reference(mpmath.exp, x)
    nearest = Fraction(math.exp(x))
    assert not nearest <= exact or not nearest >= exact
