import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import InvalidInputError
from dpcore.noise.scale import GridScale
from dpcore.plugin.parts import float_down, float_up

multipliers = st.floats(1e-6, 1e6)
bounds = st.floats(1e-4, 1e4)
grids = st.integers(0, 20)


def target_in_steps(multiplier, bound, grid_bits):
    return Fraction(multiplier) * Fraction(bound) * 2**grid_bits


@given(multipliers, bounds, grids)
def test_is_the_smallest_scale_that_is_large_enough(multiplier, bound, grid_bits):
    scale = GridScale.at_least(multiplier, bound, grid_bits)
    target = target_in_steps(multiplier, bound, grid_bits)
    assert scale.steps >= target
    # One unit less in the 53rd bit (or one step, for whole scales) would be too small.
    length = scale.significand.bit_length()
    unit = Fraction(2) ** min(0, length - 53 - scale.shift)
    assert scale.steps - unit < target


@given(multipliers, bounds, grids)
def test_the_event_never_claims_more_noise_than_is_drawn(multiplier, bound, grid_bits):
    drawn = GridScale.at_least(multiplier, bound, grid_bits).over(bound, grid_bits)
    assert multiplier <= float_down(drawn) <= drawn
    assert Fraction(float_up(1 / drawn)) >= 1 / drawn
    assert float_up(1 / drawn) <= float_up(1 / Fraction(multiplier))


def test_a_scale_that_can_be_represented_is_kept():
    assert GridScale.at_least(1.5, 0.25, 3) == GridScale(3)
    assert GridScale.at_least(1.25, 0.5, 0) == GridScale(5, 3)
    assert GridScale.at_least(0.1, 1.0, 0).steps == Fraction(0.1)
    assert GridScale.at_least(2.0**-1000, 1.0, 0) == GridScale(1, 1000)
    assert GridScale.at_least(1.0, 1.0, -2) == GridScale(1, 2)


def test_a_scale_between_two_is_rounded_up():
    thirds = GridScale.at_least(1 / 3, 0.1, 0)
    assert thirds.steps > Fraction(1 / 3) * Fraction(0.1)
    whole = GridScale.at_least(1 + 2.0**-52, 1.0, 54)
    assert whole == GridScale(2**54 + 4)
    assert GridScale.at_least(1 + 2.0**-52, 1 + 2.0**-52, 54) == GridScale(2**54 + 9)
    # A significand that rounds up to 2^53 is the next power of two.
    assert GridScale.at_least(1 - 2.0**-53, 1 + 2.0**-52, 0).steps > 1


def test_noise_beyond_the_grid_is_refused():
    assert GridScale.at_least(1.0 - 2.0**-53, 1.0, 58).significand < 2**58
    for multiplier in (1.0, 1e300, 1.0 - 2.0**-53):
        with pytest.raises(InvalidInputError, match="does not fit the 64-bit grid"):
            GridScale.at_least(multiplier, 1.0, 58 if multiplier == 1.0 else 60)


@pytest.mark.parametrize("significand, shift", [(0, 0), (1, -1), (2**53, 1), (2**58, 0)])
def test_limits_of_a_scale(significand, shift):
    with pytest.raises(InvalidInputError, match="scale"):
        GridScale(significand, shift)


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30))
def test_directed_rounding_is_tight(value):
    low, high = float_down(value), float_up(value)
    assert Fraction(low) <= value <= Fraction(high)
    assert high in (low, math.nextafter(low, math.inf))


def test_directed_rounding_at_the_ends_of_the_floats():
    huge, tiny = Fraction(10) ** 400, Fraction(1, 10**400)
    assert float_up(huge) == math.inf and float_down(huge) < math.inf
    assert float_down(tiny) == 0.0 and float_up(tiny) > 0.0


def test_a_number_that_poses_as_another_is_kept_apart():
    class Posing(float):
        def __eq__(self, other):
            return other == 5.0

        def __hash__(self):
            return hash(5.0)

    # What was worked out for it is not found again for the number that it equals.
    assert GridScale.at_least(Posing(2.0**-9), 1.0, 20).steps == 2**11
    assert GridScale.at_least(5.0, 1.0, 20).steps == 5 * 2**20
    GridScale.at_least(4.0, 1.0, 0).over(Posing(2.0**-9), 0)
    assert GridScale.at_least(4.0, 1.0, 0).over(5.0, 0) == Fraction(4, 5)

    class PosingWhole(int):
        pass

    with pytest.raises(InvalidInputError, match="significand"):
        GridScale(PosingWhole(4))
