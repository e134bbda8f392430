"""What the two fits find, and what they refuse."""

import numpy as np
import pytest

from dpcore import fit
from dpcore.errors import DpcoreError, UnsupportedEventError
from dpcore_adassp.shrinkage import posterior_mean

PUBLIC = {"loss": "ridge", "target_bounds": (-1, 1), "delta": 1e-6, "row_norm": None, "seed": 1}
ALGOS = ("adassp", "gram-ridge")


def table(n=2000):
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (n, 4))
    return X, X @ [0.4, -0.3, 0.1, 0.0] + 0.1 + 0.05 * rng.normal(size=n)


@pytest.mark.parametrize("algo", ALGOS)
@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_a_large_budget_finds_the_rule(algo, relation):
    X, y = table()
    model = fit(X, y, bounds=(-1, 1), algo=algo, relation=relation, epsilon=300.0, **PUBLIC)
    assert np.mean((model.predict(X) - y) ** 2) < 0.004
    kinds = {
        "adassp": {"eigenvalue": 1, "products": 2},
        "gram-ridge": {"lengths": 1, "products": 1},
    }
    assert model.report["releases"] == kinds[algo]
    assert model.privacy["parts_not_from_dpcore"] == []


@pytest.mark.parametrize("algo", ALGOS)
def test_a_strong_l2_brings_the_coefficients_towards_0(algo):
    X, y = table(500)
    norms = [
        np.linalg.norm(fit(X, y, bounds=(-1, 1), algo=algo, epsilon=1e3, l2=l2, **PUBLIC).w)
        for l2 in (0.0, 1.0, 100.0)
    ]
    assert norms[0] > 2 * norms[1] > 10 * norms[2]


def test_a_drowned_fit_is_no_worse_than_the_mean():
    X, y = table(100)
    y = y - 0.1
    errors = [
        np.mean((fit(X, y, bounds=(-1, 1), algo="gram-ridge", epsilon=0.01,
                     **PUBLIC | {"seed": seed}).predict(X) - y) ** 2)
        for seed in range(10)
    ]  # fmt: skip
    assert np.mean(errors) < 1.1 * np.mean(y**2)


def test_the_posterior_is_least_squares_without_noise_and_0_in_noise():
    rng = np.random.default_rng(0)
    P = rng.normal(size=(300, 3)) / 2
    w = np.array([0.5, -1.0, 0.25])
    matrix = P.T @ P
    assert posterior_mean(matrix, matrix @ w, 1e-6, 1e-6) == pytest.approx(w, abs=1e-4)
    assert np.linalg.norm(posterior_mean(matrix, rng.normal(size=3), 1e4, 1e4)) < 0.1


@pytest.mark.parametrize("algo", ALGOS)
def test_it_is_refused_before_anything_is_spent(algo):
    X, y = table(50)
    with pytest.raises(UnsupportedEventError, match="two or more releases") as refused:
        fit(X, y, bounds=(-1, 1), algo=algo, accountant="single", **PUBLIC)
    assert "Nothing was charged" in refused.value.__notes__[0]
    with pytest.raises(DpcoreError, match="squared loss"):
        fit(X, y > 0, classes=(False, True), algo=algo)
    with pytest.raises(DpcoreError, match="grid"):
        fit(X, y, bounds=(-1, 1), algo=algo, **PUBLIC | {"epsilon": 1e-9, "delta": 1e-30})
