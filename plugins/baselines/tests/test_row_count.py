"""The number of rows that a run goes by, where noise may have made it small."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import truncnorm

from dpcore_baselines.descent.row_count import expected_rows


@pytest.mark.parametrize("noisy", [-5000.0, -1000.0, -100.0, 5.0, 300.0, 1200.0, 1590.0])
def test_it_is_the_mean_of_a_normal_above_one(noisy):
    # SciPy's own mean of a truncated normal, which knows nothing of our sums.
    mean = truncnorm((1.0 - noisy) / 200.0, np.inf, loc=noisy, scale=200.0).mean()
    assert expected_rows(noisy, 200.0) == pytest.approx(mean, rel=1e-3)


def test_a_number_far_above_its_noise_stays_as_it_is():
    assert expected_rows(1601.0, 200.0) == 1601.0
    assert expected_rows(1601.1, 200.0) == 1601.1


def test_more_rows_are_expected_of_more_noise_and_of_a_larger_number():
    by_number = [expected_rows(float(noisy), 50.0) for noisy in range(-600, 600, 7)]
    assert np.all(np.diff(by_number) > 0) and by_number[0] > 1
    by_noise = [expected_rows(-20.0, deviation) for deviation in (1.0, 3.0, 50.0, 1e4, 1e9)]
    assert np.all(np.diff(by_noise) > 0) and np.all(np.isfinite(by_noise))
