"""The plugin's own kernels against their naive twins."""

import importlib.util
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpcore_rsgd_ar.kernels import bound_coefficients, recurrence, walk
from dpcore_rsgd_ar.schedule import Schedule

_spec = importlib.util.spec_from_file_location("rsgd_naive", Path(__file__).with_name("naive.py"))
naive = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(naive)


def test_every_slope_is_as_short_as_the_proof_says():
    # A sensitivity claimed from an unbounded slope is a known bug elsewhere: rows and weights that
    # are far out, the clip, and a loss that gives no number.
    rng = np.random.default_rng(0)
    slopes = np.concatenate([[0.3, -7.0, np.inf, -np.inf, np.nan, 1.0], rng.normal(size=200) * 2])
    factor = rng.uniform(0.1, 1.0, size=slopes.size)
    c = slopes.copy()
    bound_coefficients(c, factor, 1.0)
    expected = [naive.bounded_coefficient(s, f, 1.0) for s, f in zip(slopes, factor, strict=True)]
    assert c.tolist() == expected
    assert np.abs(c).max() <= 1.0


@pytest.mark.parametrize("ball", [0.25, 2.0**30])
def test_the_bound_of_the_iterates_is_never_below_its_formula_and_near_it(ball):
    rng = np.random.default_rng(1)
    steps = rng.uniform(0.01, 1.5, size=(6, 40))
    parameters = [float(f) for f in (2.0**-34, 2.0**-44, 0.75, 0.125)]
    slack = np.zeros(6)
    found = walk(steps, *parameters, ball, 2.0**-45, slack)
    exact, errors = naive.reach(steps, *map(Fraction, parameters), Fraction(ball), Fraction(2**-45))
    assert exact <= Fraction(found) <= exact * (1 + Fraction(1, 2**25))
    for got, error in zip(slack.tolist(), errors, strict=True):
        assert error <= Fraction(got) <= error * (1 + Fraction(1, 2**25))


@pytest.mark.parametrize("average_every", [0, 1, 2])
def test_what_rounding_adds_to_a_step_is_in_every_bound(average_every):
    # Whole multiples of 2^-12 throughout, so that the formula is of the kernel's own arguments.
    steps, mu, curvature, added = np.array([[0.5], [1.0], [2.0], [9.0]]), 2.0**-6, 0.5, 2.0**-8
    schedule = Schedule(16, 4, steps, average_every)
    of_steps = np.broadcast_to(steps, (4, 4))
    rho = np.maximum(abs(1 - of_steps * mu), abs(1 - of_steps * curvature))
    share, deltas = 2 / schedule.sizes, np.zeros(4)
    slack = np.full(4, added)
    recurrence(of_steps, rho, slack, share, average_every, 0.0, np.zeros((3, 4)), deltas)
    exact = naive.sensitivities(schedule, mu, curvature, 1.0, Fraction(added))
    for found, real in zip(deltas.tolist(), exact, strict=True):
        assert real <= Fraction(found) <= real * (1 + Fraction(1, 2**40))
