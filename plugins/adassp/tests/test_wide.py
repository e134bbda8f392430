"""Tables of many columns: what runs, and that it is no worse than the mean."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dpcore import fit
from dpcore.errors import InvalidInputError
from dpcore.fitting.planning.memory import memory_of
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import GdpAccountant, SeededNoise
from dpcore_adassp.adassp import AdaSsp
from dpcore_adassp.boosted_adassp import BoostedAdaSsp
from dpcore_adassp.gram_ridge import GramRidge
from dpcore_adassp.wide import WideLook
from dpcore_baselines.dp_gd import DpGd
from dpcore_lab.checks import RecordingSession, make_rows
from dpcore_lab.made_tables.tables import make_problem

PUBLIC = {"loss": "ridge", "algo": "gram-ridge", "target_bounds": (-1, 1), "delta": 1e-6, "seed": 1}


def table(n, width, scale=1.0):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (n, width)) / np.sqrt(width)
    return X, scale * np.clip(X @ rng.normal(size=width), -1, 1)


def over_the_mean(X, y, model):
    return np.mean((model.predict(X) - y) ** 2) / np.var(y)


def test_what_runs_follows_from_the_look():
    problem = make_problem(make_rows(5), NeighboringRelation.ADD_OR_REMOVE_ONE, Squared())
    for columns, intercept, signal, told, chosen in (
        (100, False, 90.0, 40.0, "descent"),
        (100, False, 900.0, 29.0, "products"),
        (100, True, 101.0, 40.0, "products"),
        (100, True, 99.0, 40.0, "descent"),
        (3000, True, 9000.0, 40.0, "descent"),
        (3000, True, 9000.0, 20.0, "mean"),
    ):
        seen = replace(problem, n_features=columns, intercept=intercept)
        assert WideLook(signal=signal, told=told).choose(seen) == chosen


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
@pytest.mark.parametrize(("epsilon", "scale"), [(0.1, 1.0), (0.5, 0.05)])
def test_a_small_signal_is_no_worse_than_the_mean(relation, epsilon, scale):
    X, y = table(1000, 80, scale)
    model = fit(X, y, row_norm=1.0, epsilon=epsilon, relation=relation, **PUBLIC)
    assert over_the_mean(X, y, model) < 1.02
    assert model.report["releases"]["level"] == 3 and "ran" not in model.report["details"]


def test_a_large_signal_without_an_intercept_goes_to_dp_gd():
    X, y = table(120, 66)
    model = fit(X, y, row_norm=1.0, epsilon=200.0, intercept=False, **PUBLIC)
    assert model.report["details"]["ran"] == "dp-gd"
    assert set(model.report["releases"]) == {"level", "count", "gradient"}
    assert over_the_mean(X, y, model) < 0.7


def test_columns_too_many_for_products_and_budget_leave_the_mean():
    X, y = table(300, 2100)
    for intercept, levels in ((True, 2), (False, 1)):
        model = fit(csr_matrix(X), y - 0.4, row_norm=2.0, intercept=intercept, **PUBLIC)
        assert model.report["details"]["ran"] == "the mean alone"
        assert model.report["releases"] == {"level": levels}
        assert not model.w[:-1].any() and (over_the_mean(X, y - 0.4, model) < 1.1) == intercept


@pytest.mark.parametrize("algo", [AdaSsp(), BoostedAdaSsp(), GramRidge()])
def test_the_products_of_many_columns_are_said_to_take_memory(algo):
    # Measured, one thread, 2,000 columns: 284 MB above what 60 columns take.
    problem = make_problem(make_rows(5), NeighboringRelation.ADD_OR_REMOVE_ONE, Squared())
    needed = [memory_of(algo, replace(problem, n_features=d)) for d in (60, 2000, 3000)]
    assert needed[0] < 2**25 and needed[1] > 284e6 and needed[2] < 2**21


@pytest.mark.slow
def test_what_the_descent_cannot_do_is_refused_before_the_look(monkeypatch):
    monkeypatch.setattr(WideLook, "choose", lambda self, problem: "descent")
    rows, relation = make_rows(5, 3000), NeighboringRelation.ADD_OR_REMOVE_ONE
    problem = make_problem(rows, relation, Squared(), n0=10**12)

    def session_of(epsilon):
        accountant = GdpAccountant.from_budget(epsilon, 1e-15)
        return RecordingSession(rows.table(), accountant, relation, SeededNoise(1))

    low, high = 1e-8, 1.0
    while high > low * (1 + 1e-5):  # the least epsilon at which dp-gd alone would run
        middle = (low * high) ** 0.5
        try:
            DpGd().refuse_hopeless(problem, session_of(middle))
        except InvalidInputError:
            low = middle
        else:
            high = middle
    for factor in (0.999, 1.0001, 1.002, 1.004, 1.006):
        session = session_of(high * factor)
        try:
            GramRidge().minimize(problem, session)
        except InvalidInputError:
            assert not session.ledger
