from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import InvalidInputError
from dpcore.exact.grid import BLOCK_ROWS, coefficient_bits, round_parameters

finite = st.floats(-1e3, 1e3)


@given(st.lists(finite, min_size=1, max_size=20), st.floats(0.01, 100.0))
def test_margins_on_the_grid_are_exact_in_any_order(values, bound):
    w = round_parameters(np.array(values), bound)
    rng = np.random.default_rng(len(values))
    x = rng.normal(size=w.size)
    x = np.trunc(x / np.linalg.norm(x) * bound * 2.0**16) * 2.0**-16
    exact = sum(Fraction(a) * Fraction(b) for a, b in zip(x.tolist(), w.tolist(), strict=True))
    for order in (np.arange(w.size), np.arange(w.size)[::-1], rng.permutation(w.size)):
        total = 0.0
        for j in order:
            total += x[j] * w[j]
        assert Fraction(total) == exact


def test_unrounded_parameters_are_the_positive_control():
    # The reason for the grid: with any float64 w the sum depends on its order.
    rng = np.random.default_rng(0)
    w = rng.normal(size=50)
    rows = np.trunc(rng.uniform(-1, 1, size=(200, 50)) * 2**16) / 2**16
    forward = np.array([sum(a * b for a, b in zip(x, w, strict=True)) for x in rows])
    backward = np.array([sum(a * b for a, b in zip(x[::-1], w[::-1], strict=True)) for x in rows])
    assert np.any(forward != backward)


def test_rounding_keeps_what_is_on_the_grid():
    w = np.array([1.0, -2.5, 3 * 2.0**-24])
    assert np.array_equal(round_parameters(w, 4.0), w)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_parameters_without_a_usable_norm_are_refused(value):
    with pytest.raises(InvalidInputError, match="parameters w"):
        round_parameters(np.array([value, 1.0]), 1.0)


@given(st.floats(2.0**-20, 2.0**4), st.integers(1, 2**40), st.floats(1e-3, 1e9))
def test_coefficients_fit_every_limit(clip, capacity, multiplier):
    k = coefficient_bits(clip, capacity, multiplier)
    steps = Fraction(clip) * 2 ** (16 + k)
    assert BLOCK_ROWS * steps <= 2**53
    assert capacity * steps < 2**62
    assert 2 * Fraction(multiplier) * steps < 2**58


def test_hopeless_noise_is_refused_with_advice():
    with pytest.raises(InvalidInputError, match="Raise epsilon or delta"):
        coefficient_bits(1.0, 2**27, 1e16)
