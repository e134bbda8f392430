"""The generated popularity data: the same rows every time, within the public schema."""

import hashlib

import numpy as np
import pytest

from dpcore_tables.datasets import buzz_sim


@pytest.fixture(scope="module")
def data():
    return buzz_sim.load()


@pytest.mark.slow
def test_the_rows_are_the_same_ones_every_time(data):
    first, again = data, buzz_sim.load()
    assert first.X.shape == (100_000, 77) and first.is_generated
    assert first.X.tobytes() == again.X.tobytes() and first.y.tobytes() == again.y.tobytes()
    steps = np.rint(first.X[::50] * 4096).astype("<i4")
    digest = hashlib.sha256(steps.tobytes()).hexdigest()
    assert digest.startswith("ca9ebec13534d831"), digest


def test_counts_are_heavy_tailed_and_the_target_is_a_logarithm(data):
    largest = data.X.max(axis=1)
    assert np.median(largest) < 0.02 and (largest == 1.0).mean() > 0.001
    assert 0 < data.y.min() and data.y.max() <= 1.0
    # The target follows from the counts, which a linear model sees a part of.
    assert np.corrcoef(np.log1p(4096 * data.X.mean(axis=1)), data.y)[0, 1] > 0.9


def test_the_schema_is_public_and_bounds_every_row():
    schema = buzz_sim.schema()
    assert schema.n_features == 77 and not schema.intercept and schema.rows == 100_000
    assert schema.label.is_real and schema.row_norm == 1.0
