"""What the fits find, and what they refuse."""

import numpy as np
import pytest

from dpcore import fit
from dpcore.errors import DpcoreError, InvalidInputError, UnsupportedEventError
from dpcore_adassp.shrinkage import Posterior, scales_between, wiener

PUBLIC = {"loss": "ridge", "target_bounds": (-1, 1), "delta": 1e-6, "row_norm": None, "seed": 1}
ALGOS = ("adassp", "boosted-adassp", "gram-ridge")


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
        "boosted-adassp": {"eigenvalue": 1, "products": 5},
        "gram-ridge": {"level": 1, "spreads": 1, "sizes": 1, "products": 14},
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


def errors_over_the_means(X, y, repeats, **words):
    """Return the mean squared errors of fits over those of the mean."""
    words = PUBLIC | {"bounds": (-1, 1), "algo": "gram-ridge"} | words
    models = [fit(X, y, **words | {"seed": seed}) for seed in range(repeats)]
    return [np.mean((model.predict(X) - y) ** 2) / np.var(y) for model in models]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "epsilon", "scale"), [(100, 0.01, 1.0), (300, 1.0, 0.05), (1000, 0.1, 0.1)]
)
def test_a_drowned_fit_is_no_worse_than_the_mean(n, epsilon, scale):
    X, y = table(n)
    y = scale * (y - y.mean())
    # A level or a scale that is taken for sure too soon has errors of tens here.
    assert np.mean(errors_over_the_means(X, y, 10, epsilon=epsilon)) < 1.2


def test_targets_about_another_level_than_0_are_fitted_as_well():
    X, y = table()
    centred, moved = (errors_over_the_means(X, 0.3 * y + by, 3, epsilon=2.0) for by in (0.0, -0.7))
    assert max(moved) < 0.15 and np.mean(moved) < 2 * np.mean(centred) + 0.05


def test_columns_that_crowd_at_one_end_of_their_bounds_are_fitted_as_well():
    rng = np.random.default_rng(2)
    X = np.exp(0.5 * rng.normal(size=(4000, 4)))
    y = np.log(X) @ [0.2, -0.2, 0.1, 0.1]
    X = 2 * X / X.max(axis=0) - 1
    # With 1/2 taken off, whatever the columns' means: 0.28 and more.
    assert np.mean(errors_over_the_means(X, y, 3, epsilon=1.0)) < 0.2


def test_the_posterior_is_least_squares_without_noise_and_its_start_in_noise():
    rng = np.random.default_rng(0)
    P = rng.normal(size=(300, 3)) / 2
    w, start, scales = (
        np.array([0.5, -1.0, 0.25]),
        np.array([0.0, 0.0, 2.0]),
        scales_between(0.01, 4),
    )
    matrix = P.T @ P
    for deviation, expected, within in ((1e-6, w, 1e-4), (1e5, start, 0.1)):
        posterior = Posterior(matrix, deviation, scales, start)
        posterior.see(start, matrix @ (w - start), deviation)
        assert posterior.mean() == pytest.approx(expected, abs=within)


def test_residuals_at_a_near_point_tell_more_than_targets():
    rng = np.random.default_rng(0)
    P = rng.normal(size=(300, 3)) / 2
    w, matrix = np.array([0.5, -1.0, 0.25]), P.T @ P
    noise = 5 * rng.normal(size=(3, 3))
    found = []
    for at in (np.zeros(3), w + 0.01):
        posterior = Posterior(
            matrix + (noise + noise.T) / 2, 5.0, scales_between(0.1, 4), np.zeros(3)
        )
        posterior.see(at, matrix @ (w - at), 0.1)
        found.append(np.linalg.norm(posterior.mean() - w))
    assert found[1] < 0.5 * found[0]


def test_the_noise_of_a_matrix_is_taken_off_as_far_as_it_is_noise():
    rng = np.random.default_rng(1)
    P = rng.normal(size=(500, 6)) * [4, 1, 1, 1, 1, 0.1]
    matrix = P.T @ P
    same, left = wiener(matrix, 1e-3)
    assert same == pytest.approx(matrix) and left < 2e-3
    E = rng.normal(size=(6, 6)) * 3e4
    noisy = matrix + (E + E.T) / 2
    found, left = wiener(noisy, 3e4)
    assert np.linalg.norm(found - matrix) < 0.5 * np.linalg.norm(noisy - matrix) and left < 3e4
    assert wiener(np.array([[5.0]]), 1.0)[0] == 5.0


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


@pytest.mark.parametrize("algo", [*ALGOS, "dp-gd"])
def test_an_l2_is_refused_that_no_run_can_hold_and_taken_up_to_there(algo):
    X, y = table(50)
    words = PUBLIC | {"bounds": (-1, 1), "algo": algo, "epsilon": 1.0}
    with pytest.raises(InvalidInputError, match="2\\^100"):
        fit(X, y, l2=2.0**101, **words)
    assert np.isfinite(fit(X, y, l2=2.0**100, **words).w).all()


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
@pytest.mark.parametrize("epsilon", [3e-5, 1e-4, 2.5e-4, 4e-4, 4.5e-4, 5e-4, 1e-3, 3e-3])
def test_units_whose_noise_fits_no_grid_are_refused_before_the_looks(relation, epsilon):
    pandas = pytest.importorskip("pandas")
    X, y = table(60)
    frame = pandas.DataFrame({"a": X[:, 0], "y": y, "id": [f"u{i % 20}" for i in range(60)]})
    columns = {"a": {"kind": "numeric", "lower": -1, "upper": 1}}
    columns["y"] = {"kind": "label", "lower": -1, "upper": 1}
    schema = {"unit": "id", "rows_per_unit": 500, "columns": columns}
    words = {"loss": "ridge", "delta": 1e-6, "algo": "gram-ridge", "relation": relation}
    words["params"] = {"steps": 1, "squares_share": 1e-3}
    try:
        fit(frame, schema=schema, epsilon=epsilon, **words)
    except InvalidInputError as error:
        assert "Nothing was charged" in "".join(error.__notes__)


def skewed(n=5000):
    """Targets at one end of their bounds, and nothing to learn but where."""
    rng = np.random.default_rng(8)
    return rng.uniform(-1, 1, (n, 6)), np.clip(rng.exponential(size=n) / 10 - 1, -1, 1)


@pytest.mark.slow
def test_where_no_signal_is_sure_the_level_is_asked_again(monkeypatch):
    again = errors_over_the_means(*skewed(), 8, epsilon=0.03)
    monkeypatch.setattr("dpcore_adassp.pilot_releases._CLEAR", -np.inf)
    once = errors_over_the_means(*skewed(), 8, epsilon=0.03)
    assert 3 * np.mean(again) < np.mean(once)


def test_a_level_that_is_asked_again_is_charged():
    X, y = skewed(100)
    report = fit(X, y, bounds=(-1, 1), algo="gram-ridge", epsilon=0.1, **PUBLIC).report
    assert report["releases"] == {"level": 2, "sizes": 1, "products": 13}
    assert report["budget"] * (1 - 1e-6) <= report["spent"] <= report["budget"] * (1 + 1e-12)
