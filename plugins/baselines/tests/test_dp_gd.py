"""DP-GD: admission, its budget to the last step, its rules from public facts, what it reaches."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from dpcore import fit
from dpcore.errors import DpcoreError, InvalidInputError
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import GdpAccountant, Logistic, SeededNoise, TableSession
from dpcore_baselines.descent import defaults
from dpcore_baselines.descent.standardize import from_moments, least_seen
from dpcore_baselines.dp_gd import DpGd
from dpcore_baselines.losses.hinge import HingeSvm
from dpcore_baselines.losses.huber import HuberSvm
from dpcore_lab.checks import (
    RecordingSession,
    check_huge_epsilon_limit,
    make_rows,
    parametrize_with_checks,
)
from dpcore_lab.made_tables.tables import make_problem
from dpcore_lab.replay.recorded import record_run

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


@pytest.mark.slow
@parametrize_with_checks([DpGd(), DpGd(moments_share=0.0, averaging=-1.0, steps=20, time=600.0)])
def test_it_is_admitted(optimizer, check):
    # A step is like the one before; with a huge epsilon more are needed.
    check(optimizer if check is check_huge_epsilon_limit else replace(optimizer, steps=10))


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("n0", [400, None])
def test_the_whole_budget_is_charged_and_no_more(relation, n0):
    session, solution = record_run(DpGd(steps=7), make_rows(80), relation, n0=n0)
    kinds = {"moments": 1, "gradient": 7}
    if n0 is None and relation is ADD:
        kinds["count"] = 1
    assert session.releases == kinds
    budget, spent = session.accountant.budget, session.accountant.spent
    assert budget * (1 - 1e-9) <= spent <= budget
    # By hand: the sum of 1 / m^2 over the ledger against mu^2 of the exact curve.
    total = sum(1 / Fraction(entry.event.noise_multiplier) ** 2 for entry in session.ledger)
    bound = GdpAccountant.mu_squared_down(Fraction(session.accountant.epsilon), Fraction(1e-6))
    assert total <= bound
    assert solution.details["steps"] == 7


def test_replace_one_takes_twice_the_noise_of_a_gradient():
    scales = {}
    for relation in (ADD, REPLACE):
        session, _ = record_run(DpGd(steps=3, clip=1.0), make_rows(80), relation)
        query, mechanism = session.parts[-1]
        scales[relation] = mechanism.noise_multiplier * query.sensitivity(relation).bound
        scales[relation] /= query.clip
    assert scales[REPLACE] == pytest.approx(2 * scales[ADD])


def test_nothing_public_follows_from_the_number_of_rows():
    # 80 rows and 81, a public n0 of 400: the same plan.
    plans = [record_run(DpGd(), make_rows(n), ADD)[1].details for n in (80, 81)]
    assert plans[0]["u"] == plans[1]["u"] and plans[0]["steps"] == plans[1]["steps"]


def test_the_signal_and_its_rules():
    # n mu / sqrt(d), by hand; mu of (1, 1e-6) over d = 5 columns and n0 = 400.
    mu = math.sqrt(GdpAccountant.from_budget(1.0, 1e-6).budget)
    _, solution = record_run(DpGd(), make_rows(80), ADD)
    assert solution.details["u"] == pytest.approx(400 * mu / math.sqrt(5))
    _, halved = record_run(DpGd(), make_rows(400), REPLACE)
    assert halved.details["u"] == pytest.approx(200 * mu / math.sqrt(5))
    assert defaults.clip_for(42, Logistic()) == pytest.approx(0.2)
    for standardized in (True, False):
        rules = {"momentum": 0.85, "standardized": standardized}
        assert defaults.time_for(42, Logistic(), **rules) == pytest.approx(5000)
        assert defaults.steps_for(5000, 42, Logistic(), **rules) == 51
    assert [defaults.clip_for(u, Logistic()) for u in (1e-9, 1e9)] == [0.05, 2.0]
    for loss in (Logistic(), HingeSvm(), Squared()):
        rules = {"momentum": 0.85, "standardized": False}
        times = [defaults.time_for(u, loss, **rules) for u in (1e-6, 1.0, 42.0, 1e3, 1e9)]
        steps = [defaults.steps_for(time, 42, loss, **rules) for time in times]
        assert times == sorted(times) and steps == sorted(steps)
        assert steps[0] >= 50 and steps[-1] == (80 if isinstance(loss, Logistic) else 400)
        curvature = loss.smoothness if isinstance(loss, Squared) else 0.25
        if not isinstance(loss, Logistic):
            assert all(t / s * curvature <= 24.67 for t, s in zip(times, steps, strict=True))


@pytest.mark.parametrize(
    "u, time, steps",
    [(4.2, 200, 100), (42, 2000, 100), (84, 3249, 100), (1250, 12000, 50), (1e9, 12000, 200)],
)
def test_a_corner_gets_less_time_on_standardised_rows(u, time, steps):
    rules = {"momentum": 0.85, "standardized": True}
    for loss in (HingeSvm(), HuberSvm()):
        assert defaults.time_for(u, loss, **rules) == pytest.approx(time, rel=0.001)
        assert defaults.steps_for(time, u, loss, **rules) == steps
    assert defaults.time_for(u, Logistic(), **rules) > 1.5 * time


@pytest.mark.parametrize("standardized", [False, True])
def test_a_corner_of_several_classes_has_time_and_steps(standardized):
    facts = {"name": "corner", "classification": True, "multiclass": True, "convex": True}
    facts |= {"lipschitz": math.sqrt(2), "smoothness": math.inf}
    corner = type("Corner", (), {**facts, "value": Logistic.value, "dvalue": Logistic.dvalue})()
    rules = {"momentum": 0.85, "standardized": standardized}
    for u in (4.2, 42, 1250):  # Of a curvature of infinity there were none.
        time = defaults.time_for(u, corner, **rules)
        assert 100 <= time < math.inf and 50 <= defaults.steps_for(time, u, corner, **rules) <= 400


@pytest.mark.slow
@pytest.mark.parametrize("moments_share, steps", [(0.1, 200), (0.0, 400)])
def test_only_standardised_rows_count_as_such(moments_share, steps):
    # 10^7 stated rows: a signal at which rows as they are get all the time that there is.
    problem = make_problem(make_rows(40), ADD, HingeSvm(), n0=10**7)
    accountant = GdpAccountant.from_budget(1.0, 1e-6)
    session = RecordingSession(make_rows(40).table(), accountant, ADD, SeededNoise(3))
    assert DpGd(moments_share=moments_share).minimize(problem, session).details["steps"] == steps


def test_moments_standardise_columns():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(5000), 0.01 * rng.random(5000), np.ones(5000)])
    moments = np.concatenate([X.sum(axis=0), np.square(X).sum(axis=0)])
    problem = Problem(Logistic(), 0.0, 3, 2.0, 2.0, ADD, n0=5000, intercept=True)
    columns, length = from_moments(problem, moments, 5000.0, 1.0)
    phi = np.array([columns.map_sums(np.rint(x * 2**16).astype(int)) for x in X]) * 2.0**-22
    assert np.allclose(phi.mean(axis=0), [0, 0, 1], atol=0.05)
    # The second column's variance is below what is told apart: it is not blown up to 1.
    assert phi[:, 0].std() == pytest.approx(1.0, abs=0.02) and phi[:, 1].std() < 0.5
    assert length == pytest.approx(math.sqrt((np.square(phi)).sum(axis=1).mean()), rel=0.05)


def test_moments_that_are_all_noise_standardise_nothing():
    problem = Problem(Logistic(), 0.0, 4, 2.0, 2.0, ADD, n0=10, intercept=True)
    noise = np.random.default_rng(1).normal(size=8) * 1e6
    columns, length = from_moments(problem, noise, 10.0, 1e6)
    assert set(columns.scales.tolist()) == {64}
    assert np.isfinite(length)


def test_without_an_intercept_no_mean_is_taken_off():
    problem = Problem(Logistic(), 0.0, 2, 2.0, 2.0, ADD, n0=100)
    columns, _ = from_moments(problem, np.array([50.0, 50, 30, 30]), 100.0, 0.1)
    assert columns.constant is None and not columns.shifts.any()


def test_of_many_columns_those_that_are_not_seen_are_left_out():
    # Of 16,384 columns 16 are more than the noise of their moments; the rest would bring its own.
    width, deviation = 2**14, 10.0
    rng = np.random.default_rng(7)
    truth = np.zeros(2 * width)
    truth[:16] = 1000.0
    problem = Problem(Logistic(), 0.0, width + 1, 2.0, 2.0, ADD, n0=5000, intercept=True)
    moments = np.insert(truth, [width, 2 * width], 5000.0) + deviation * rng.normal(
        size=2 * width + 2
    )
    columns, length = from_moments(problem, moments, 5000.0, deviation)
    kept = np.flatnonzero(columns.scales)
    assert set(range(16)) <= set(kept.tolist()) and width in kept
    # By chance, either moment: 2 * 0.00135 and on one side more, of 16,384.
    assert kept.size < 17 + 120
    assert not columns.shifts[columns.scales == 0].any()
    rest = np.setdiff1d(np.arange(width), kept)
    assert not columns.pull_back(np.ones(width + 1))[rest].any()
    assert defaults.effective_width(width + 1, length) == pytest.approx(128, rel=0.6)


def test_a_narrow_table_leaves_out_no_column():
    assert least_seen(128) == 0 and 0 < least_seen(129) < 0.2 < 2.8 < least_seen(2**13) < 3
    assert least_seen(2**20) == 3
    assert defaults.effective_width(100, 1e9) == 100 == defaults.effective_width(100, 1.0)
    shares = [defaults.moments_share_for(width) for width in (1, 128, 1024, 2**14, 2**20)]
    assert shares == pytest.approx([0.1, 0.1, 0.1 + 0.15 * 3 / 7, 0.25, 0.25])


@pytest.mark.slow
def test_a_wide_sparse_table_is_worth_more_than_its_commoner_class():
    rng = np.random.default_rng(8)
    common = rng.random((6000, 30)) < 0.4
    rare = sparse.random(6000, 8000, 0.0025, random_state=1, format="csr")
    y = (common[:, :4].sum(axis=1) > 1.5).astype(int)
    X = sparse.hstack([common.astype(float) / 6, rare / 6], format="csr")
    public = {"classes": (0, 1), "row_norm": 1.0, "n0": 6000, "epsilon": 2.0}
    model = fit(X, y, algo="dp-gd", **public)
    # About 0.52 are of the commoner class; without privacy the four columns tell all.
    assert (model.predict(X) == y).mean() > 0.7
    assert model.details["columns"] < 600


def table(n=3000, seed=3):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.random(n), 0.02 * rng.random(n)])
    y = X[:, 0] - 0.5 + 40 * (X[:, 1] - 0.01) + 0.3 * rng.normal(size=n) > 0
    return X, y.astype(int)


def test_columns_of_unequal_scales_are_both_learned():
    X, y = table()
    words = dict(classes=(0, 1), row_norm=1.5, epsilon=2.0, n0=3000, algo="dp-gd", seed=5)
    accuracy = {
        share: float((fit(X, y, params={"moments_share": share}, **words).predict(X) == y).mean())
        for share in (0.1, 0.0)
    }
    assert accuracy[0.1] > accuracy[0.0] + 0.05, accuracy


@pytest.mark.parametrize("loss", ["hinge-svm", "huber-svm", "ridge"])
def test_every_loss_is_fitted(loss):
    X, y = table()
    words = {"classes": (0, 1)}
    if loss == "ridge":  # the columns' scales are far apart
        words = {"target_bounds": (0, 1), "params": {"moments_share": 0.1}}
    model = fit(X, y, loss=loss, row_norm=1.5, epsilon=50.0, n0=3000, algo="dp-gd", seed=5, **words)
    right = ((model.margins(np.column_stack([X, np.ones(len(y))])) > 0) == y).mean()
    # The labels are noisy: no rule has more than 0.80.
    assert right > 0.77


@pytest.mark.slow
def test_ridge_takes_the_rows_as_they_are_unless_told_otherwise():
    # A target that follows a heavy-tailed column only where most rows are: clipped gradients of
    # longer columns fit those, and the few far rows are missed by much, which squares punish: those
    # of the objective, of predictions that are not held to the target's bounds.
    rng = np.random.default_rng(4)
    X = np.minimum(rng.pareto(1.5, size=(4000, 3)), 200) / 200
    y = np.clip(0.3 + 20 * X[:, 0] + 0.05 * rng.normal(size=4000), 0, 1)
    words = dict(loss="ridge", target_bounds=(0, 1), row_norm=2.0, epsilon=1.0, n0=4000, seed=5)
    errors = {}
    for share in (None, 0.1):
        params = {} if share is None else {"moments_share": share}
        model = fit(X, y, algo="dp-gd", params=params, **words)
        assert model.privacy["releases"].get("moments", 0) == (share is not None)
        said = X @ model.coef_ + model.intercept_
        errors[share] = float(np.mean((said - y) ** 2))
    assert errors[None] < 0.5 * errors[0.1], errors


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["huber-svm", "logistic"])
def test_steps_are_no_larger_than_an_l2_allows(loss):
    # Scales of up to 16, squared, times l2 and a step of 40: parameters grew until a release was
    # refused, after all the charges before it.
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 1, (600, 2)) * [90, 1e6]
    public = {"classes": (0, 1), "bounds": ([0, 0], [90, 1e6]), "row_norm": None, "seed": 1}
    model = fit(X, (X[:, 0] > 40) * 1, loss=loss, algo="dp-gd", epsilon=5.0, l2=0.25, **public)
    assert np.abs(model.coef).max() < 2


@pytest.mark.slow
@pytest.mark.parametrize("loss", [HuberSvm(), HingeSvm()], ids=["huber-svm", "hinge-svm"])
def test_an_l2_of_a_tenth_on_two_columns_with_bounds_comes_near_the_least(loss, monkeypatch):
    rng = np.random.default_rng(5)
    X, l2 = rng.uniform(0, 1, (2000, 2)), 0.1
    y = np.where(X[:, 0] > 0.45, 1.0, -1.0)
    public = {"classes": (-1, 1), "bounds": (0, 1), "row_norm": None, "loss": loss.name, "l2": l2}

    def objective(algo, **more):
        w = fit(X, y, algo=algo, **public, **more).w
        values = np.empty(y.size)
        loss.value(np.column_stack([X, np.ones(y.size)]) @ w, y, values)
        return values.mean() + l2 / 2 * w @ w

    least, at_zero, asked = objective("nonprivate"), 1.0, {"epsilon": 5.0, "seed": 1}
    assert objective("dp-gd", **asked) < least + 0.25 * (at_zero - least)
    # The broken twin: steps that l2 does not bound.
    monkeypatch.setattr(defaults, "regularised_step", lambda curvature, momentum: math.inf)
    assert objective("dp-gd", **asked) > 1e6


def test_an_l2_bounds_a_step_and_no_l2_bounds_none():
    assert defaults.regularised_step(0.0, 0.85) == math.inf
    assert defaults.regularised_step(2.0, 0.5) == pytest.approx(1.5)


def test_rows_of_one_direction_take_more_steps_within_the_same_budget():
    # All rows are along one line, so that the longest steps swing: 50 are not enough.
    rng = np.random.default_rng(6)
    X = rng.uniform(-1, 1, (20000, 1))
    y = (6 * X[:, 0] - 2 > rng.logistic(size=20000)).astype(int)
    public = {"classes": (0, 1), "row_norm": 1.0, "n0": 20000, "epsilon": 8.0, "seed": 1}
    model = fit(X, y, algo="dp-gd", **public)
    assert 100 < model.details["steps"] <= 400
    assert model.privacy["releases"]["gradient"] == model.details["steps"]
    assert 0.999 * model.privacy["budget"] <= model.privacy["spent"] <= model.privacy["budget"]
    truth = np.array([6.0, -2.0])
    assert np.abs(model.w - truth).max() < 1
    # So many steps as are asked for are taken, however short they must be.
    fixed = fit(X, y, algo="dp-gd", params={"steps": 20}, **public)
    assert fixed.privacy["releases"]["gradient"] == 20 and np.abs(fixed.w).max() < 20


def test_on_small_tables_of_two_classes_the_time_follows_one_column():
    def lasting(n, width=109, loss=None):
        return defaults.lasting_signal(n, 0.1, width, loss or Logistic())

    # n mu / 6, up to 10, where that is more than u = n mu / sqrt(d).
    assert lasting(300) == pytest.approx(5.0)
    assert [lasting(n) for n in (600, 900, 1044)] == [10.0] * 3
    assert lasting(2000) == pytest.approx(200 / math.sqrt(109))
    # Few columns, real targets, and a signal above 10: u itself.
    for n, width, loss in ((300, 30, None), (300, 109, Squared()), (10**6, 109, HingeSvm())):
        assert lasting(n, width, loss) == defaults.signal(n, 0.1, width)


def test_where_the_signal_is_small_the_intercept_counts_for_more():
    shares = [defaults.shrinkage_for(u) for u in (0.0, 50.0, 100.0, 1e6)]
    assert shares == pytest.approx([0.8, 0.9, 1.0, 1.0])


def test_columns_count_for_less_than_the_intercept_and_only_of_two_classes(monkeypatch):
    X, y = table(300)
    words = dict(row_norm=1.5, epsilon=1.0, n0=300, algo="dp-gd", seed=5)
    kinds = {"logistic": {"classes": (0, 1)}, "ridge": {"target_bounds": (0, 1)}}
    for loss, public in kinds.items():
        public |= {"loss": loss, "params": {"moments_share": 0.1, "calibrated": False}}
        model = fit(X, y, **words, **public)
        with monkeypatch.context() as patched:
            patched.setattr(defaults, "shrinkage_for", lambda u: 1.0)
            whole = fit(X, y, **words, **public)
        share = defaults.shrinkage_for(model.details["u"]) if loss == "logistic" else 1.0
        assert model.coef == pytest.approx(share * whole.coef, rel=1e-3)
        assert model.intercept != 0 and model.ledger == whole.ledger


def test_a_budget_that_does_not_tell_the_majority_says_how_many_rows_would():
    mu = math.sqrt(GdpAccountant.from_budget(1.0, 1e-6).budget)
    enough = math.ceil(60 / mu)
    said = record_run(DpGd(), make_rows(80), ADD, n0=enough - 1)[1].details["warning"]
    told = int(re.search(r"about ([\d,]+) rows would", said)[1].replace(",", ""))
    assert enough <= told < 1.1 * enough and len(str(told).rstrip("0")) <= 2  # two digits, up
    assert "warning" not in record_run(DpGd(), make_rows(80), ADD, n0=enough)[1].details
    # A public value says it, never the rows themselves.
    assert record_run(DpGd(), make_rows(9), ADD, n0=enough - 1)[1].details["warning"] == said


def test_an_empty_table_trains():
    model = fit(np.zeros((0, 3)), np.zeros(0), classes=(0, 1), algo="dp-gd", epsilon=1.0)
    assert model.privacy["private"] and np.isfinite(model.w).all()


@pytest.mark.parametrize("accountant", ["zcdp", "rdp"])
def test_other_accountants_hold_it_too(accountant):
    X, y = table(300)
    model = fit(X, y, classes=(0, 1), algo="dp-gd", accountant=accountant, epsilon=1.0)
    assert model.privacy["accountant"] == accountant
    assert model.privacy["spent"] <= model.privacy["budget"]


def test_other_noise_of_an_l2_bound_is_charged_by_its_own_event():
    X, y = table(300)
    asked = {"algo": "dp-gd", "use": {"noise": "gamma"}, "accountant": "pure", "delta": 0.0}
    model = fit(X, y, classes=(0, 1), epsilon=1.0, params={"steps": 7}, **asked)
    assert {entry["mechanism"] for entry in model.ledger} == {"Gamma"}
    assert model.privacy["releases"] == {"count": 1, "moments": 1, "gradient": 7}
    assert 0.999 < model.privacy["spent"] <= 1.0


def test_an_accountant_that_cannot_hold_it_is_refused():
    X, y = table(30)
    refused = r"slot noise \(gaussian\) cannot be held by pure; choose --accountant gdp, zcdp"
    with pytest.raises(DpcoreError, match=refused):
        fit(X, y, classes=(0, 1), algo="dp-gd", accountant="pure", epsilon=1.0)


@pytest.mark.parametrize(
    "wrong",
    [{"steps": 0}, {"clip": 1e9}, {"time": 0.0}, {"momentum": 1.0}, {"averaging": -2.0}]
    + [{"moments_share": 1.0}, {"count_share": 0.0}],
)
def test_parameters_out_of_range_are_refused(wrong):
    with pytest.raises(InvalidInputError, match="out of range"):
        DpGd(**wrong)


@pytest.mark.parametrize("asked", [{"steps": 20}, {"steps": 20, "time": 1e5, "momentum": 0.0}])
def test_few_steps_of_a_squared_loss_are_no_longer_than_is_stable(asked):
    X, y = table(400)
    public = {"loss": "ridge", "target_bounds": (-1, 1), "bounds": (0, 1), "row_norm": None}
    model = fit(X, 0.8 * y - 0.4, algo="dp-gd", params=asked, epsilon=100.0, seed=1, **public)
    # Steps of the whole time's twentieth swing up to a million times that.
    assert np.mean((model.predict(X) - (0.8 * y - 0.4)) ** 2) < 0.16


def test_a_hopeless_budget_asks_the_rows_nothing():
    rows = make_rows(20)

    class Untouched:
        def answer(self, query):
            raise AssertionError("asked")

    accountant = GdpAccountant.from_budget(1e-12, 1e-30)
    session = TableSession(Untouched(), accountant, ADD, SeededNoise(0))
    problem = Problem(Logistic(), 0.0, rows.X.shape[1], 1.5, 2.0, ADD)
    with pytest.raises(InvalidInputError, match="too small"):
        DpGd().minimize(problem, session)
    assert not session.ledger


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["logistic", "quantile"])
@pytest.mark.parametrize("epsilon", [1e-4, 1e-2])
def test_a_run_that_swings_ever_wider_ends_with_parameters_all_the_same(loss, epsilon):
    rows = make_rows(30)
    wild = {"time": 2.0**40, "clip": 64.0, "averaging": -1.0, "steps": 1000}
    public = {"target_bounds": (-1, 1)} if loss == "quantile" else {}
    words = {"algo": "dp-gd", "delta": 1e-30, "loss": loss, "params": wild}
    try:
        assert np.isfinite(fit(rows.X, rows.y, epsilon=epsilon, **public, **words).w).all()
    except InvalidInputError as error:  # the grid, before anything was charged
        assert "Nothing was charged" in "".join(error.__notes__)
