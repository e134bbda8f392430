"""The Skellam mechanism: its event, its noise, its limits."""

from fractions import Fraction

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import SeededNoise, Sensitivity, SkellamDpEvent
from dpcore_a_ddp.skellam_noise.distribution import draw_skellam
from dpcore_a_ddp.skellam_noise.mechanism import Skellam, skellam_event
from dpcore_lab.checks import check_mechanism


def sensitivity(bound=3.0, grid_bits=8, norm="l2"):
    return Sensitivity(norm, bound, NeighboringRelation.REPLACE_ONE, grid_bits)


def test_the_event_counts_in_grid_steps_and_rounds_against_the_user():
    made = Skellam(2.0).event(sensitivity())
    assert made == SkellamDpEvent(variance=1536.0**2, l1_bound=768.0**2, l2_bound=768.0)
    for multiplier in (1 / 3, 1.7):
        mechanism, change = Skellam(multiplier), sensitivity(0.1, 15)
        steps = mechanism.scale(change).steps
        event = mechanism.event(change)
        assert event.variance <= steps**2 and steps >= Fraction(multiplier) * Fraction(0.1) * 2**15
        assert event.l2_bound >= Fraction(0.1) * 2**15


def test_the_l1_norm_of_a_few_coordinates_is_known_better():
    event = skellam_event(Fraction(10**6), Fraction(100), 124)
    assert 100 * 124**0.5 <= event.l1_bound < 1113.6
    assert skellam_event(Fraction(1), Fraction(2), 124).l1_bound == 4.0


def test_released_noise_has_the_variance_of_the_event():
    mechanism, change = Skellam(2.0), sensitivity(0.5, 9)
    hidden = np.full(40_000, 5 << 9, dtype=np.int64)
    released = mechanism.release(hidden, change, SeededNoise(3))
    steps = np.ldexp(released - 5.0, 9)
    assert (steps == np.rint(steps)).all()
    # The relative error of a variance of 40,000 is 0.7 %.
    assert steps.var() == pytest.approx(mechanism.event(change).variance, rel=0.035)


def test_a_sum_that_leaves_64_bits_wraps():
    edge = np.array([2**63 - 1, -(2**63), 0], dtype=np.int64)
    released = Skellam(1.0).release(edge, sensitivity(64.0, 0), SeededNoise(3))
    drawn = draw_skellam(SeededNoise(3), Fraction(64**2), 3)
    wrapped = [(int(x) + int(z) + 2**63) % 2**64 - 2**63 for x, z in zip(edge, drawn, strict=True)]
    assert released.tolist() == [float(v) for v in wrapped]


def test_too_much_noise_for_the_grid_is_refused_before_it_is_charged():
    with pytest.raises(InvalidInputError, match="coarser grid"):
        Skellam(1.0).event(sensitivity(1.0, 15))
    with pytest.raises(InvalidInputError, match="l2"):
        Skellam(1.0).event(sensitivity(norm="l1"))


@pytest.mark.slow
def test_it_is_as_private_as_its_event_says():
    check_mechanism(Skellam)
