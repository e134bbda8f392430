"""Calibrated log odds: their line against another solver, what they are for, what is left alone."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, special, stats

from dpcore import OneVsRest, fit
from dpcore.plugin import NeighboringRelation, Settings
from dpcore_baselines.descent import calibrate
from dpcore_baselines.descent.averaged import AveragedDescent
from dpcore_baselines.descent.calibrate import MeanRow, calibrated_line
from dpcore_baselines.descent.standardize import from_moments
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
CASES = [
    (-1.5, 2.4, 1.1, 0.26),
    (-2.6, 1.7, 0.5, 0.6),
    (-6.9, 2.6, 0.0, 0.16),
    (5.0, 1.0, 0.3, 0.02),
    (0.3, 6.0, 2.0, 0.05),
]
"""Mean, deviation, wander and clip."""


def rates(margins, wander, clip):
    """Return A and B at the margins, by many equally likely deviations of iterates."""
    away = stats.norm.ppf((np.arange(2000) + 0.5) / 2000)
    z = margins[:, None] + wander * away
    low, high = np.minimum(special.expit(z), clip), np.minimum(special.expit(-z), clip)
    return low.mean(axis=1), high.mean(axis=1)


def sums_left(line, case):
    """Return the sums of clipped gradients, along the intercept and the model, if rows come true as
    the line says, over the size of a clipped row's."""
    mean, deviation, wander, clip = case
    margins = stats.norm(mean, deviation).ppf((np.arange(400) + 0.5) / 400)
    a, b = rates(margins, wander, clip)
    told = special.expit(line[0] + line[1] * margins)
    left = (a * (1 - told) - b * told) / (a + b).mean()
    return np.array([left.mean(), (left * (margins - mean)).mean() / deviation])


@pytest.mark.parametrize("case", CASES)
def test_clipped_gradients_are_zero_where_rows_come_true_as_the_line_says(case):
    assert np.abs(sums_left(calibrated_line(*case), case)).max() < 2e-3
    assert np.abs(sums_left((0.0, 1.0), case)).max() > 2e-2


@pytest.mark.parametrize("case", [CASES[0], CASES[4]])
@pytest.mark.parametrize("factor", [0.0, 2.0])
def test_noise_that_is_left_out_or_counted_twice_is_found(case, factor):
    other = calibrated_line(*case[:2], factor * case[2], case[3])
    assert np.abs(sums_left(other, case)).max() > 5e-3


@pytest.mark.parametrize("case", CASES)
def test_the_line_is_that_of_another_solver(case):
    mean, deviation, wander, clip = case
    nodes = np.linspace(-4, 4, 65)
    weights = np.exp(-(nodes**2) / 2) / np.exp(-(nodes**2) / 2).sum()
    p = special.expit(mean + deviation * nodes[:, None] + wander * nodes)
    a, b = np.minimum(p, clip) @ weights, np.minimum(1 - p, clip) @ weights

    def missed(line):
        z = line[0] + line[1] * nodes
        return weights @ (a * np.logaddexp(0, -z) + b * np.logaddexp(0, z)) / (weights @ (a + b))

    start = special.logit(weights @ a / (weights @ (a + b)))
    rise, turn = optimize.minimize(missed, [start, deviation / 2], tol=1e-10).x
    expected = rise - turn / deviation * mean, turn / deviation
    assert calibrated_line(*case) == pytest.approx(expected, abs=1e-4)


def test_the_factor_is_above_0_and_at_most_1_and_falls_with_clipping_and_noise():
    rng = np.random.default_rng(3)
    for _ in range(100):
        of_margins = rng.normal(0, 5), rng.gamma(1, 3), rng.gamma(1, 1)
        assert 0 < calibrated_line(*of_margins, rng.uniform(0.01, 2))[1] <= 1
    by_noise = [calibrated_line(-1.0, 3.0, wander, 0.3)[1] for wander in (0.0, 0.5, 1.0, 2.0)]
    by_clip = [calibrated_line(-1.0, 3.0, 0.5, clip)[1] for clip in (2.0, 0.5, 0.2, 0.05)]
    for slopes in (by_noise, by_clip):
        assert slopes == sorted(slopes, reverse=True) and slopes[0] > slopes[-1] + 0.1


def test_nothing_is_shrunk_where_nothing_is_clipped_and_there_is_no_noise():
    assert calibrated_line(-2.0, 3.0, 0.0, 1.0) == pytest.approx((0.0, 1.0), abs=1e-9)


def test_the_rate_of_an_imbalanced_table_is_kept():
    # Rows of margin about -7 are positive at the rate A / (A + B), of .6 %.
    case = CASES[2]
    margins = np.random.default_rng(0).normal(case[0], case[1], 200_000)
    low, high = np.minimum(special.expit(margins), 0.16), np.minimum(special.expit(-margins), 0.16)
    added, slope = calibrated_line(*case)
    true = (low / (low + high)).mean()
    assert special.expit(added + slope * margins).mean() == pytest.approx(true, rel=0.15)
    # Shrunk towards even odds by the same factor, it is more than twice as large.
    assert special.expit(slope * margins).mean() < true / 1.5


def line_of(X, positive, model):
    """Return the slope of the labels on the model's log odds."""
    odds = model.decision_function(X)

    def missed(line):
        return np.mean(np.logaddexp(0, -(line[0] + line[1] * odds) * np.where(positive, 1, -1)))

    return optimize.minimize(missed, [0.0, 1.0]).x[1]


def made_rows(n, seed, scale=2.0):
    """Return rows of eight columns in [-1, 1], and labels by a logistic model."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 8))
    w = scale * np.array([2.0, -1.5, 1.0, 1.0, -0.5, 0.5, 0.0, 0.0])
    return X, rng.random(n) < special.expit(X @ w - 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "bold"), [(0.1, 0.75), (1.0, 0.85)])
def test_probabilities_come_true(epsilon, bold):
    # Seeded, so it cannot fail by chance; the slope's own error on these rows is .03.
    X, positive = made_rows(10_000, 1)
    words = dict(classes=(False, True), bounds=(-1, 1), row_norm=None, epsilon=epsilon, seed=2)
    shrunk = fit(X, positive, **words, params={"calibrate_share": 0})
    plain = fit(X, positive, **words, params={"calibrated": False})
    tested, truth = made_rows(20_000, 3)
    assert 0.8 < line_of(tested, truth, shrunk) < 1.2
    assert line_of(tested, truth, plain) < bold
    # The same releases, and one line of the log odds: the order of rows is kept.
    assert shrunk.ledger == plain.ledger
    slope, added = (shrunk.details[key] for key in ("slope", "added"))
    expected = added + slope * plain.decision_function(tested)
    assert shrunk.decision_function(tested) == pytest.approx(expected, abs=1e-4)
    assert f"log odds were multiplied by {slope:.2f}" in shrunk.status
    assert "slope" not in plain.details and "log odds" not in plain.status


@pytest.mark.parametrize(
    "words",
    [
        {"loss": "hinge-svm"},
        {"l2": 0.01},
        {"intercept": False},
        {"class_weight": {False: 1.0, True: 2.0}},
        {"params": {"moments_share": 0.0}},
    ],
)
def test_what_it_is_not_for_is_left_as_it_is(words):
    X, positive = made_rows(500, 1)
    given = dict(classes=(False, True), bounds=(-1, 1), row_norm=None, algo="dp-gd", seed=2)
    model = fit(X, positive, **(given | words))
    params = words.get("params", {}) | {"calibrated": False}
    assert "slope" not in model.details
    assert fit(X, positive, **(given | words | {"params": params})).coef.tolist() == (
        model.coef.tolist()
    )


def test_fits_of_several_classes_are_left_as_they_are():
    # Of the digits of scikit-learn, one-vs-rest at epsilon 1, the log loss was 1.9 and not 1.1.
    rows = make_rows(200, n_classes=3)
    words = dict(classes=(0.0, 1.0, 2.0), epsilon=1.0, row_norm=rows.row_norm, seed=1)
    assert "slope" not in fit(rows.X, rows.y, **words).details
    of_classes = fit(rows.X, rows.y, loss=OneVsRest("logistic"), **words).details["of_classes"]
    assert len(of_classes) == 3
    assert not any("slope" in of_class for of_class in of_classes.values())


def test_runs_of_no_rows_and_of_few_are_calibrated():
    for n in (0, 3):
        X, positive = made_rows(n, 1)
        details = fit(X, positive, classes=(False, True), row_norm=4.0, epsilon=1.0, seed=1).details
        assert 0 < details["slope"] <= 1 and math.isfinite(details["added"])


def test_the_spread_is_the_weighted_variance_of_the_iterates():
    rng, weights = np.random.default_rng(0), np.array([])
    descent = AveragedDescent((4,), momentum=0.5, averaging=3.0)
    points = []
    for t in range(1, 30):
        descent.move(rng.normal(size=4), 0.3)
        points.append(descent.v.copy())
        fresh = 4 / (t + 3)
        weights = np.append(weights * (1 - fresh), fresh)
    mean = weights @ points
    assert descent.average == pytest.approx(mean)
    assert descent.spread == pytest.approx(weights @ (np.array(points) - mean) ** 2)


def test_the_margins_of_released_moments_are_those_of_the_rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=(5000, 6)) < 0.3, np.ones(5000)]).astype(float)
    loss = Settings(loss="logistic").make_loss()
    problem = replace(make_problem(make_rows(5, n_features=7), ADD, loss), intercept=True)
    moments = np.concatenate([X.sum(axis=0), (X * X).sum(axis=0)])
    columns, length = from_moments(problem, moments, 5000.0, 1e-3)
    rows = MeanRow.of(columns, length, moments[:7] / 5000, 1e-3 / 5000)
    v = rng.normal(size=7)
    margins = X @ columns.pull_back(v)
    mean, deviation, wander = rows.margins(v, np.full(7, 0.01))
    assert mean == pytest.approx(margins.mean(), abs=0.05)
    assert deviation == pytest.approx(margins.std(), rel=0.05)
    assert wander == pytest.approx(math.sqrt(0.07), rel=0.05)
    # A mean that is nothing but noise is not told from the intercept.
    noisy = MeanRow.of(columns, length, moments[:7] / 5000, 1e3)
    assert noisy.margins(v, np.zeros(7))[0] == pytest.approx(v[6], abs=1e-3)
    assert calibrate.can_be_calibrated(problem)


@pytest.mark.parametrize("mean", [1e6, -1e6, 1e300])
def test_margins_beyond_all_rates_end_no_run(mean):
    # A rate of exactly 0 or 1 has no log odds: a run of pure noise ended in ValueError, charged.
    a, b = calibrated_line(mean, 1.0, 1.0, 0.5)
    assert np.isfinite(a) and 2.0**-6 <= b <= 1
