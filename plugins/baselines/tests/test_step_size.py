"""The sizes of dp-gd's steps: they add up, grow, and give way to curvature."""

import math

import numpy as np
import pytest

from dpcore_baselines.descent.averaged import AveragedDescent
from dpcore_baselines.descent.step_size import StepSize

FLAT = np.zeros(2)


def step_size(**changes):
    given = dict(time=100.0, steps=10, safe=2.0, limit=4.0, longest=math.inf, most_steps=40)
    return StepSize(**(given | changes))


def sizes(of, gradient=lambda v: FLAT, deviation=0.0):
    """Return the sizes of the steps of plain descent from a point off 0."""
    v, taken = np.array([1.0, 1.0]), []
    while of.left:
        taken.append(of.next_step(v, gradient(v), deviation))
        v = v - taken[-1] * gradient(v) - 1e-3
    return np.array(taken)


@pytest.mark.parametrize("steps", [2, 10, 33])
def test_steps_grow_evenly_and_add_up_to_the_time(steps):
    taken = sizes(step_size(steps=steps))
    assert taken.size == steps and taken.sum() == pytest.approx(100)
    assert taken[0] == 2 and np.allclose(np.diff(taken, 2), 0)


def test_a_single_step_is_a_safe_one():
    assert sizes(step_size(steps=1, most_steps=1)).tolist() == [2.0]


def test_steps_that_need_not_be_long_are_even():
    assert np.allclose(sizes(step_size(time=10.0)), 1.0)
    assert np.allclose(sizes(step_size(safe=math.inf)), 10.0)


def test_a_bound_of_all_steps_takes_more_of_them():
    taken = sizes(step_size(longest=5.0))
    assert taken.max() <= 5 and taken.sum() == pytest.approx(100) and taken.size > 20
    short = sizes(step_size(longest=1.0))
    assert short.size == 40 and np.allclose(short, 1.0)
    fixed = sizes(step_size(longest=1.0, most_steps=10))
    assert fixed.size == 10 and np.allclose(fixed, 1.0)


def test_steps_give_way_to_a_curvature_that_is_seen():
    # Half of the limit of 4, over a curvature of 0.5.
    watched = step_size()
    taken = sizes(watched, gradient=lambda v: 0.5 * v)
    assert watched.longest == pytest.approx(4.0)
    assert taken[1:].max() <= watched.longest and taken.size == watched.taken > 20


def test_a_curvature_within_its_noise_changes_nothing():
    rng = np.random.default_rng(1)
    for _ in range(200):
        watched = step_size(steps=30, time=200.0)
        sizes(watched, lambda v: rng.normal(size=2), deviation=1.0)
        assert watched.steps == 30
    # The positive control: the same noise, stated as a twentieth of what it is, is taken as real.
    misled = step_size(steps=30, time=200.0)
    sizes(misled, lambda v: rng.normal(size=2), deviation=0.05)
    assert misled.steps > 30


def test_even_steps_look_at_no_curvature():
    assert np.allclose(sizes(step_size(safe=math.inf, limit=math.inf), lambda v: 9 * v), 10.0)


def test_descent_along_a_known_bowl():
    descent = AveragedDescent((2,), momentum=0.5, averaging=-1.0)
    for _ in range(200):
        descent.move(descent.v - np.array([1.0, -2.0]), 0.5)
    assert np.allclose(descent.v, [1, -2], atol=1e-9)
    assert np.array_equal(descent.average, descent.v)
