"""The non-private fit against scikit-learn's and the closed form; the majority by hand."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dpcore.losses.squared import Squared
from dpcore.plugin.parts import Logistic, Table
from dpcore_baselines.without_privacy.references import fit_nonprivate, majority_label, objective_of

L2 = 0.01


@pytest.fixture
def rows():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (400, 5))
    X = np.trunc(np.ldexp(X, 16)) * 2.0**-16  # the feature grid, so that both see the same rows
    return X, X @ rng.normal(size=5) + 0.5 * rng.normal(size=400)


def table_of(X, y, row_norm=4.0):
    return Table.from_matrix(X, y, row_norm=row_norm, raw_norm_bound=4.0)


def test_logistic_regression(rows):
    X, score = rows
    y = np.sign(score)
    w, message = fit_nonprivate(table_of(X, y), Logistic(), L2)
    other = LogisticRegression(C=1 / (400 * L2), fit_intercept=False, tol=1e-10).fit(X, y)
    assert w == pytest.approx(other.coef_[0], abs=1e-4)
    assert message.startswith("SciPy's L-BFGS-B: CONVERGENCE")


def test_ridge_and_rows_that_are_scaled_down(rows):
    X, score = rows
    y = np.clip(score / 4, -1, 1)
    norms = np.linalg.norm(X, axis=1)
    scaled = X * np.minimum(1, 1 / norms)[:, None]
    assert (norms > 1).any()
    w, _ = fit_nonprivate(table_of(X, y, row_norm=1.0), Squared(), L2)
    exact = np.linalg.solve(scaled.T @ scaled / 400 + L2 * np.eye(5), scaled.T @ y / 400)
    assert w == pytest.approx(exact, abs=1e-4)
    expected = 0.5 * np.mean((scaled @ w - y) ** 2) + 0.5 * L2 * w @ w
    assert objective_of(table_of(X, y, row_norm=1.0), Squared(), L2, w) == pytest.approx(expected)


def test_the_commoner_label():
    X = np.ones((3, 1))
    assert majority_label(table_of(X, np.array([1.0, 1.0, -1.0]))) == 1.0
    assert majority_label(table_of(X[:2], np.array([1.0, -1.0]))) == -1.0


def test_no_rows_have_no_objective():
    empty = table_of(np.zeros((0, 2)), np.zeros(0))
    assert objective_of(empty, Logistic(), 0.0, np.zeros(2)) is None
    assert fit_nonprivate(empty, Logistic(), 0.0)[0].tolist() == [0.0, 0.0]
