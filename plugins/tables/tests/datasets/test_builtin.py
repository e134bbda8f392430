"""The built-in data sets: sizes and class shares as published."""

import os

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dpcore_tables.datasets import a9a, adult, bank, census_sim, kddcup99, kddcup99_classes
from dpcore_tables.datasets.fetch import DATA_DIR_VARIABLE

needs_files = pytest.mark.skipif(
    not os.path.isdir(os.environ.get(DATA_DIR_VARIABLE, "")),
    reason=f"{DATA_DIR_VARIABLE} does not name a folder with the data sets' files",
)


def in_bounds(data):
    X = data.X if isinstance(data.X, np.ndarray) else data.X.tocsr()
    values = X if isinstance(X, np.ndarray) else X.data
    squares = X**2 if isinstance(X, np.ndarray) else X.multiply(X)
    norms = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    assert ((values >= 0) & (values <= 1)).all()
    assert (norms <= data.raw_norm_bound).all() and (norms <= data.row_norm).all()
    return True


def test_census_sim():
    data = census_sim.load()
    assert data.X.shape == (50_000, 109) and in_bounds(data)
    assert data.n0 == 50_000 and data.is_generated
    assert 0.75 < np.mean(data.y < 0) < 0.77
    again = census_sim.load()
    assert (data.X.tocsr() != again.X.tocsr()).nnz == 0 and np.array_equal(data.y, again.y)
    # The rows are the same on every machine: a checksum over exact integers.
    codes = (data.X.tocsr() @ np.arange(1.0, 110.0) * 2**20).astype(np.int64)
    assert int(codes.sum()) == CENSUS_SUM


CENSUS_SUM = 25_665_114_869_072


def test_the_best_predictor_of_census_sim_is_linear_and_right_in_85_percent():
    data = census_sim.load()
    model = LogisticRegression(C=100, max_iter=300, tol=1e-3).fit(
        data.X[:30_000].tocsr(), data.y[:30_000]
    )
    assert 0.84 < model.score(data.X[30_000:].tocsr(), data.y[30_000:]) < 0.86


@pytest.mark.slow
@pytest.mark.data
@needs_files
@pytest.mark.parametrize(
    ("load", "shape", "positive", "row_norm"),
    [
        # UCI: 37,155 of 48,842 earn 50,000 dollars or less.
        (adult.load, (48_842, 109), 11_687, np.sqrt(15)),
        # UCI: 5,289 of 45,211 subscribe.
        (bank.load, (45_211, 33), 5_289, 4.125),
        # 97,278 of the tenth's 494,021 connections are normal.
        (kddcup99.load, (494_021, 119), 97_278, np.sqrt(42)),
        (kddcup99.load_numeric, (494_021, 39), 97_278, np.sqrt(39)),
    ],
)
def test_sizes_and_class_shares(load, shape, positive, row_norm):
    data = load()
    assert data.X.shape == shape == (data.n0, data.n_features)
    assert (data.y > 0).sum() == positive
    assert np.isclose(data.row_norm, row_norm)
    assert in_bounds(data)


@pytest.mark.slow
@pytest.mark.data
@needs_files
def test_the_five_classes_of_kdd_cup():
    data = kddcup99_classes.load()
    assert data.schema.label.names == ("normal", "dos", "probe", "r2l", "u2r")
    # The published counts of the tenth: 391,458 of dos, 4,107 of probe, 1,126 of r2l, 52 of u2r.
    assert np.bincount(data.y.astype(int)).tolist() == [97_278, 391_458, 4_107, 1_126, 52]
    assert data.X.shape == (494_021, 119) and data.schema.w_shape == (5, 119)


@pytest.mark.data
@needs_files
def test_a9a():
    data = a9a.load()
    # LIBSVM's page: 32,561 + 16,281 rows; a copy without the row of feature 123 is accepted too.
    missing = int(data.X[:, 122].sum() == 0)
    assert data.X.shape == (48_842 - missing, 124) and data.n0 == 48_842
    assert (data.y > 0).sum() == 11_687
    assert set(data.X.data) == {1.0} and in_bounds(data)


@pytest.mark.data
@needs_files
def test_every_adult_cell_is_one_of_the_published_categories():
    data = adult.load()
    one_hot = [i for i, name in enumerate(data.feature_names) if "=" in name]
    assert (np.asarray(data.X.tocsr()[:, one_hot].sum(axis=1)) == 8).all()
