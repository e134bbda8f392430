"""Metrics of a model that predicts a number: what their intervals hold, and which model is called
better than the mean.

Coverage is of 1,500 repeats with a fixed seed, whose deviation is .0056 where 95 % cover: .93 is
3.6 of these away, a false alarm of 2e-4, and no interval of these covers less than 94 %.
"""

import json

import numpy as np
import pytest

from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LocalEngine
from dpcore_lab.made_tables.tables import Rows, make_problem
from dpcore_report.evaluation.error_metrics import metrics_of_errors
from dpcore_report.evaluation.prediction_moments import PredictionMoments
from dpcore_report.evaluation.text import evaluation_in_words

BOUNDS = (-10.0, 10.0)
REPEATS = 1500
LEAST = 0.93


def sums_of(z, y):
    products = np.ones(y.size), z, y, z**2, z * y, y**2, np.abs(z - y) / 2
    return np.array([each.sum() for each in products])


def strong(rng, n):
    """R2 of about .7, of a target that fills its range."""
    z = rng.normal(0, 0.3, n)
    return z, z + rng.normal(0, 0.2, n)


def skewed(rng, n):
    """Counts from 0 to 50, most of them small, and predictions that say nothing of them."""
    y = np.minimum(rng.negative_binomial(1, 0.15, n), 50) / 25 - 1
    return rng.normal(-0.77, 0.02, n), y


def metrics(rows, n, deviation, told=None, rows_per_unit=1, repeats=REPEATS):
    """Return the metrics of so many samples, and the truth in a large one."""
    rng = np.random.default_rng(4)
    z, y = (np.clip(each, -1, 1) for each in rows(rng, 10**6))
    error, variance = np.mean((z - y) ** 2), y.var()
    truth = {
        "rmse": 10 * error**0.5,
        "mae": 10 * np.abs(z - y).mean(),
        "mean_rmse": 10 * variance**0.5,
        "mean": 10 * y.mean(),
        "r2": 1 - error / variance,
    }
    each = []
    for _ in range(repeats):
        z, y = (np.clip(part, -1, 1).repeat(rows_per_unit) for part in rows(rng, n))
        noisy = sums_of(z, y) + rng.normal(0, deviation, 7)
        known = deviation if told is None else told
        each.append(metrics_of_errors(noisy, BOUNDS, known, rows_per_unit))
    return each, truth


def is_better(metrics):
    return metrics["verdict"].startswith("The model is better than")


def covered(name, each, truth):
    """Return the share of intervals that hold the truth; one without bounds does."""
    return np.mean(
        [
            one[name]["low"] is None or one[name]["low"] <= truth[name] <= one[name]["high"]
            for one in each
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "deviation", "k"),
    [(300, 1.0, 1), (1000, 30.0, 1), (60, 30.0, 1), (5000, 40.0, 1), (300, 3.0, 4)],
)
@pytest.mark.parametrize("rows", [strong, skewed])
def test_intervals_cover(rows, n, deviation, k):
    each, truth = metrics(rows, n, deviation, rows_per_unit=k)
    assert all(covered(name, each, truth) > LEAST for name in truth)


@pytest.mark.slow
def test_intervals_without_the_noise_are_caught():
    each, truth = metrics(strong, 5000, 40.0, told=0.0)
    assert all(covered(name, each, truth) < LEAST for name in ("mean", "mean_rmse", "r2"))


@pytest.mark.slow
def test_a_good_model_is_called_better():
    each, _ = metrics(strong, 5000, 40.0, repeats=200)
    assert np.mean([is_better(one) for one in each]) > 0.9


class ErrorsClipped(PredictionMoments):
    """Broken on purpose: errors of the model are clipped at half of the range, those of the mean
    are not."""

    def answer_block(self, block):
        count, said, true, _, product, squared, absolute = super().answer_block(block)
        errors = (np.clip(block.margins(self.w), -1.0, 1.0) - block.y) ** 2
        clipped = int((np.minimum(errors, 1.0) * 2**20).sum())
        of_model = clipped + 2 * product - squared
        return np.array([count, said, true, of_model, product, squared, absolute])


def share_called_better(kind, n, deviation, repeats=1000):
    """Return the share of evaluations of models of noise that say "better": rows of 5 features of
    noise, targets mostly at .6 and a fifth far below."""
    rng = np.random.default_rng(1)
    better = 0
    for _ in range(repeats):
        X = np.trunc(rng.uniform(0, 0.4, (n, 5)) * 2**16) / 2**16
        X[:, -1] = 0.5
        rows = Rows(X, np.where(rng.random(n) < 0.2, -1.0, 1.0))
        problem = make_problem(rows, NeighboringRelation.ADD_OR_REMOVE_ONE, Squared())
        w = np.append(rng.normal(0, 0.05, 4), 1.2)
        exact = LocalEngine(rows.table()).answer(kind(problem, w)) / 2**20
        noisy = exact + rng.normal(0, deviation, 7)
        better += is_better(metrics_of_errors(noisy, BOUNDS, deviation))
    return better / repeats


@pytest.mark.slow
@pytest.mark.parametrize(("n", "deviation"), [(400, 1.0), (4000, 40.0)])
def test_features_of_noise_are_not_called_better_than_the_mean(n, deviation):
    # "Better" is a test of level 2.5 %. Of 1,000 such, 5 % would be five deviations more: a false
    # alarm of 3e-7.
    assert share_called_better(PredictionMoments, n, deviation) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("n", "deviation"), [(400, 1.0), (4000, 40.0)])
def test_errors_of_the_model_alone_clipped_are_caught(n, deviation):
    assert share_called_better(ErrorsClipped, n, deviation, repeats=100) > 0.9


def test_model_and_mean_are_measured_by_the_same_rule():
    # Without noise: the errors of the rows as they are, and of their own mean.
    rng = np.random.default_rng(2)
    y = np.where(rng.random(50_000) < 0.2, -1.0, 1.0)
    z = np.clip(y.mean() + rng.normal(0, 0.4, y.size), -1, 1)
    found = metrics_of_errors(sums_of(z, y), (0.0, 50.0), 0.0)
    assert found["rmse"]["value"] == pytest.approx(25 * np.mean((z - y) ** 2) ** 0.5)
    assert found["mean_rmse"]["value"] == pytest.approx(25 * y.std())
    assert found["mean"]["value"] == pytest.approx(25 + 25 * y.mean())
    assert found["r2"]["value"] == pytest.approx(1 - np.mean((z - y) ** 2) / y.var())
    assert found["rmse"]["high"] < 50 and json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.parametrize(
    ("z", "words"),
    [
        (lambda y: 0.9 * y, "The model is better than always predicting the mean, beyond"),
        (lambda y: -y, "is worse than always predicting the mean, beyond"),
        (
            lambda y: np.full(y.size, y.mean()),
            "leave open whether the model is better than always predicting the mean: R2",
        ),
    ],
)
def test_the_verdict_says_which_is_better(z, words):
    y = np.tile([-0.8, 0.4, 0.6], 3000)
    said = evaluation_in_words(metrics_of_errors(sums_of(z(y), y), BOUNDS, 5.0), private=True)
    assert words in said[-1]
    assert said[1].startswith("  RMSE ") and said[2].startswith("  R2 ")
    assert said[2].endswith("predictions are held to their bounds, -10 to 10")


def test_what_noise_swallows_is_unknown():
    # "RMSE ... 0 [0, 13.52]" was told once.
    y = np.tile([-0.2, 0.3], 200)
    swallowed = metrics_of_errors(sums_of(y, y), BOUNDS, 40.0)
    said = evaluation_in_words(swallowed, private=True)
    unknown = "unknown (too few such rows for the noise"
    errors = f"  RMSE {unknown}; 0 to 7.15); MAE {unknown}; 0 to 4.095); "
    errors += f"RMSE of always the mean: {unknown}; 0 to 5.695); "
    # The mean has a name of its own: "of always the mean, 0.5: unknown" read like an RMSE of 0.5.
    assert said[1].startswith(f"{errors}the mean: 0.5 [") and said[1].endswith("]")
    assert said[2].startswith(f"  R2 {unknown}); targets")
    assert said[3].startswith("Whether the model is better than always predicting the mean is unk")
    assert swallowed["r2"] == {"value": None, "low": None, "high": None}


def test_r2_is_unknown_where_the_error_of_the_model_is():
    # "R2 1 [-1.9, 1]" was told beside an RMSE that is unknown.
    y = np.tile([-0.9, 0.8], 200)
    swallowed = metrics_of_errors(sums_of(y, y), BOUNDS, 10.0)
    assert swallowed["rmse"]["value"] is None and swallowed["mean_rmse"]["value"] is not None
    assert swallowed["r2"]["value"] is None and swallowed["r2"]["high"] == 1.0
    assert -5 < swallowed["r2"]["low"] < 1
    said = evaluation_in_words(swallowed, private=True)
    assert said[2].startswith(
        f"  R2 unknown (too few such rows for the noise; {swallowed['r2']['low']:.4g} to 1)"
    )


@pytest.mark.parametrize("count", [-20.0, 0.0, 0.5, 30.0])
def test_of_a_count_that_is_noise_nothing_is_told(count):
    told = metrics_of_errors(np.array([count, 3.0, -2.0, 9.0, 1.0, 4.0, 2.0]), BOUNDS, 10.0)
    assert {told[name]["value"] for name in ("rmse", "mae", "mean_rmse", "mean", "r2")} == {None}
    assert (told["rmse"]["low"], told["rmse"]["high"]) == (0.0, 20.0)
    assert "unknown" in "".join(evaluation_in_words(told, private=True))


def test_an_earlier_section_is_shown_with_what_is_wrong_about_it():
    metric = {"value": 3.21, "low": 3.0, "high": 3.4}
    earlier = {
        "held_out_rows": {"value": 500.0, "low": 490.0, "high": 510.0},
        "clip": 25.0,
        "rmse_clipped": metric,
        "mean_rmse": metric,
        "verdict": None,
    }
    said = evaluation_in_words(earlier, private=True)
    assert said[1] == (
        "  RMSE of errors clipped at 25: 3.21 [3, 3.4]; RMSE of always the mean: 3.21 [3, 3.4]"
    )
    assert "these two metrics flatter the model" in said[2]
