"""output-bnr and cov-bnr under accountants of normal noise: each level and test is charged."""

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest
from asked import assert_faithful_and_within
from scipy import stats
from typer.testing import CliRunner

from dpcore import fit
from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.cli import app
from dpcore.errors import InvalidInputError, TargetNotMetError
from dpcore.losses.squared import Squared
from dpcore.plugin import Gaussian, NeighboringRelation
from dpcore.plugin.parts import GdpAccountant, LocalEngine, Logistic, SeededNoise, TableSession
from dpcore_accuracy_first.brownian_noise.revealed import NumberInL2, revealed_walk
from dpcore_accuracy_first.brownian_reduction import CovBnr, OutputBnr
from dpcore_accuracy_first.objectives.in_l2 import MinimizerInL2
from dpcore_accuracy_first.objectives.loss_sum import ErrorCount
from dpcore_lab.checks import RecordingSession, make_rows
from dpcore_lab.made_tables.tables import make_problem

REPLACE = NeighboringRelation.REPLACE_ONE
KINDS = {"zcdp": ZcdpAccountant, "gdp": GdpAccountant}
WALKS = [
    OutputBnr(target_excess_risk=0.05, levels=8, release_last=True),
    OutputBnr(target_accuracy=0.85, slack=0.05, levels=8, release_last=True),
    CovBnr(target_excess_risk=0.1, levels=8, release_last=True),
]


def run(optimizer, rows, accountant, seed=3, session=TableSession):
    loss = Squared() if "squared-loss" in optimizer.needs else Logistic()
    problem = make_problem(rows, REPLACE, loss, l2=0.05)
    source = rows.table() if session is RecordingSession else LocalEngine(rows.table())
    opened = session(source, accountant, REPLACE, SeededNoise(seed))
    return problem, opened, optimizer.minimize(problem, opened)


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", WALKS, ids=repr)
def test_a_walk_is_faithful_and_within_its_sensitivities(optimizer):
    rows, accountant = make_rows(60, seed=3), GdpAccountant.from_budget(1e5, 1e-6)
    problem, recorded, solution = run(optimizer, rows, accountant, seed=2, session=RecordingSession)
    assert solution.details["levels_tested"] > 1
    again = (optimizer, problem, rows, recorded, solution)
    assert_faithful_and_within(*again, lambda: accountant)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("optimizer", WALKS[1:], ids=repr)
def test_what_is_charged_is_the_level_reached_and_the_tests_made(optimizer, name):
    accountant = KINDS[name].from_budget(80.0, 1e-6)
    _, session, solution = run(optimizer, make_rows(2000, seed=1), accountant)
    details = solution.details
    assert details["target_met"] is True and details["levels_tested"] < 8
    mu_squared = details["level_mu"] ** 2 + details["levels_tested"] * details["test_mu"] ** 2
    spent = session.accountant.spent * (2 if name == "zcdp" else 1)
    assert spent == pytest.approx(mu_squared, rel=1e-6)
    assert session.accountant.spent < accountant.budget
    assert session.releases["target-test"] == details["levels_tested"]


class Scripted:
    """A session whose levels and tests are normal numbers around given means, and their mus."""

    def __init__(self, mean, excess, rng):
        self.accountant = GdpAccountant.from_budget(50.0, 1e-6)
        self.mean, self.excess, self.rng = mean, excess, rng
        self.ledger, self.levels, self.tests = [], [], []

    def release(self, query, mechanism):
        assert type(mechanism) is Gaussian
        bound = query.sensitivity(REPLACE).bound
        if isinstance(query, NumberInL2):
            self.tests.append(1 / mechanism.noise_multiplier)
            value = np.array([self.excess])
        else:
            assert isinstance(query, MinimizerInL2)
            self.levels.append(1 / mechanism.noise_multiplier)
            value = self.mean
        return value + mechanism.noise_multiplier * bound * self.rng.normal(size=value.shape)


def walked(excess, seed, **options):
    """Return the session and the end of a walk where every test is at ``excess``, in alpha."""
    problem = make_problem(make_rows(400, seed=2), REPLACE, Logistic(), l2=0.05)
    optimizer = OutputBnr(target_excess_risk=0.5, levels=8, release_last=True, **options)
    session = Scripted(
        np.zeros(problem.n_features), excess * 0.5 * 400, np.random.default_rng(seed)
    )
    values = []
    base_of = optimizer._base

    def watched(problem, smallest=None):
        base = base_of(problem, smallest)
        true = base.hypothesis
        hypothesis = lambda value, mu: (values.append((value, mu)), true(value, mu))[1]  # noqa: E731
        base.hypothesis = hypothesis
        return base

    solution = revealed_walk(optimizer, watched, problem, session, optimizer.levels)
    return session, solution, values, base_of(problem)


@pytest.mark.slow
def test_the_mean_of_the_levels_has_the_noise_of_its_level():
    """Of 300 walks to the last of 8 levels: a chi-square of the means over their deviations at the
    last two, and their correlation, the ratio of the mus as of a Brownian path. False alarm: 1e-8
    for each."""
    first, last = [], []
    for seed in range(300):
        session, _, values, base = walked(10.0, seed)
        for held, (value, mu), steps in (
            (first, values[-2], session.levels[:-1]),
            (last, values[-1], session.levels),
        ):
            assert mu == pytest.approx(sum(step**2 for step in steps) ** 0.5, rel=1e-9)
            held.append(value * mu / base.bound)
    for held in (first, last):
        z = np.concatenate(held)
        low, high = stats.chi2.ppf([5e-9, 1 - 5e-9], z.size)
        assert low < (z**2).sum() < high
    correlation = values[-2][1] / values[-1][1]
    products = np.concatenate(first) * np.concatenate(last)
    error = ((1 + correlation**2) / products.size) ** 0.5
    assert abs(products.mean() - correlation) < 5.8 * error
    assert abs(products.mean()) > 5.8 * error  # which fresh noise for each level would not have


@pytest.mark.slow
@pytest.mark.parametrize("failure", [0.1, 0.01])
def test_tests_fail_as_seldom_as_is_said(failure):
    """By the plan's own values: a model at alpha passes one of T tests, one at beta alpha fails.
    A limit for one test alone (the twin) would pass too often."""
    session, _, _, _ = walked(10.0, 1, failure_probability=failure)
    problem = make_problem(make_rows(400, seed=2), REPLACE, Logistic(), l2=0.05)
    optimizer = OutputBnr(target_excess_risk=0.5, levels=8, failure_probability=failure)
    target = optimizer._base(problem).target(optimizer, "excess-risk")
    deviation = target.distance / session.tests[0] / target.alpha
    every, one = stats.norm.isf(failure / 8), stats.norm.isf(failure)
    limit = 0.25 + 0.75 * one / (every + one)
    assert 8 * stats.norm.sf((1 - limit) / deviation) <= failure * (1 + 1e-6)
    assert stats.norm.sf((limit - 0.25) / deviation) <= failure * (1 + 1e-6)
    assert 8 * stats.norm.sf((1 - (0.25 + 0.75 / 2)) / deviation) > failure
    met = [
        walked(1.0, seed, failure_probability=failure)[1].details["target_met"]
        for seed in range(200)
    ]
    # 200 walks: more than this many are accepted with probability at most 1e-7.
    assert sum(met) <= stats.binom.isf(1e-7, 200, failure)


def test_where_no_test_passes_there_is_no_model_and_all_of_it_is_charged():
    optimizer = dataclasses.replace(WALKS[1], target_accuracy=1.0, slack=0.02, release_last=False)
    rows, accountant = make_rows(2000, seed=1), GdpAccountant.from_budget(80.0, 1e-6)
    problem = make_problem(rows, REPLACE, Logistic(), l2=0.05)
    session = TableSession(LocalEngine(rows.table()), accountant, REPLACE, SeededNoise(3))
    with pytest.raises(TargetNotMetError, match="NOT met at any of 8 levels: no model"):
        optimizer.minimize(problem, session)
    assert session.accountant.spent == pytest.approx(accountant.budget, rel=1e-6)


def test_only_single_numbers_are_taken_from_l1_to_l2():
    problem = make_problem(make_rows(40, seed=2), REPLACE, Logistic(), l2=0.05)
    count = ErrorCount(problem, np.zeros(problem.n_features))
    assert NumberInL2(count).sensitivity(REPLACE).bound == count.sensitivity(REPLACE).bound
    assert NumberInL2(count).sensitivity(REPLACE).norm == "l2"
    for other in (MinimizerInL2(problem), SimpleNamespace()):
        with pytest.raises(InvalidInputError, match="ErrorCount"):
            NumberInL2(other)


def asked(rows, **options):
    given = {"targets": {"target_accuracy": 0.8, "slack": 0.1}, "epsilon_max": 4.0, "delta": 1e-7}
    shape = {"classes": (-1, 1), "row_norm": 2.0, "relation": "replace-one", "seed": 1}
    return fit(rows.X, rows.y, algo="output-bnr", l2=0.05, **{**given, **shape, **options})


def test_a_ledger_is_charged_what_was_released(tmp_path):
    ledger = str(tmp_path / "table.ledger")
    made = ["ledger", "init", ledger, "--epsilon", "8", "--delta", "1e-6"]
    assert CliRunner().invoke(app, [*made, "--relation", "replace-one"]).exit_code == 0
    model = asked(make_rows(2000, seed=1), accountant="zcdp", ledger=ledger, seed=None)
    assert model.privacy["ex_post_epsilon"] is None
    shown = json.loads(CliRunner().invoke(app, ["ledger", "show", ledger, "--json"]).stdout)
    spent = model.privacy["spent"]
    assert spent < model.privacy["budget"]  # 0.125 of 0.268 once, most often less
    assert [line["counts"] for line in shown["runs"]] == [pytest.approx(spent, rel=1e-9)]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"accountant": "rdp"}, "under zcdp and gdp each of its releases is charged"),
     ({"accountant": "gdp", "delta": 0.0}, "delta"),
     ({"accountant": "gdp", "params": {"first_test": 0.5}}, "first-test are of"),
     ({"accountant": "gdp", "params": {"first_level": 0.1}}, "first-level.* are of"),
     ({"accountant": "gdp", "targets": {"target_accuracy": 0.8, "slack": 1e-4}}, "is realistic")],
)  # fmt: skip
def test_refused_before_anything_is_asked(options, message):
    with pytest.raises(InvalidInputError, match=message):
        asked(make_rows(200, seed=1), **options)


def test_noise_without_room_is_refused_before_the_first_level(monkeypatch):
    rows = make_rows(60, seed=3)
    problem = make_problem(rows, REPLACE, Logistic(), l2=0.05)
    # A grid that noise of a test does not fit. The session here asks no mechanism what it costs.
    monkeypatch.setattr("dpcore_accuracy_first.objectives.loss_sum.objective_bits", lambda *_: 58)
    monkeypatch.setattr("dpcore_accuracy_first.objectives.minimizer.objective_bits", lambda *_: 58)
    optimizer = OutputBnr(target_excess_risk=0.3, levels=4, release_last=True)
    session = Scripted(np.zeros(problem.n_features), 1.0, np.random.default_rng(1))
    session.accountant = GdpAccountant.from_budget(1e7, 1e-6)
    with pytest.raises(InvalidInputError, match="does not fit the 64-bit grid"):
        optimizer.minimize(problem, session)
    assert not session.levels
