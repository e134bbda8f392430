"""Charges, refusals and results of a fit."""

import numpy as np
import pytest

import dpcore
from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import (
    ApproximateDpEvent,
    LocalEngine,
    PureAccountant,
    SeededNoise,
    Table,
    TableSession,
    load_registry,
)
from dpcore_lab.checks import parametrize_with_checks
from dpcore_tukey.tukey_em import TukeyEm

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
Single = load_registry().load("accountant", "single")
RIDGE = load_registry().load("loss", "ridge")()
COEFFICIENTS = np.array([0.5, -0.25, 0.125])


def table(n=4000):
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.random((n, 2)), np.ones(n)))
    y = X @ COEFFICIENTS + 0.01 * rng.normal(size=n)
    return Table.from_matrix(X, y, row_norm=2.0, raw_norm_bound=2.0)


def run(optimizer, epsilon=2.0, delta=1e-6, relation=ADD, n0=None, accountant=None, rows=None):
    opened = accountant or Single.from_budget(epsilon, delta)
    session = TableSession(LocalEngine(rows or table()), opened, relation, SeededNoise(1))
    problem = Problem(RIDGE, 0.0, 3, 2.0, 2.0, relation, n0=n0, intercept=True, numbers=(0, 1))
    return session, optimizer.minimize(problem, session)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a_point_near_the_coefficients_is_drawn_for_the_whole_budget(relation):
    session, solution = run(TukeyEm(), relation=relation)
    assert solution.details == {"models": 250, "test_passed": True}
    assert np.allclose(solution.w, COEFFICIENTS, atol=0.03)
    (entry,) = session.ledger
    assert entry.event == ApproximateDpEvent(2.0, 1e-6 * (1 - 2.0**-30))


def test_the_relations_cost_the_same():
    assert np.array_equal(run(TukeyEm(), relation=ADD)[1].w, run(TukeyEm(), relation=REPLACE)[1].w)


def test_a_test_that_fails_is_charged_and_told():
    session, solution = run(TukeyEm(models=40))
    assert solution.details == {"models": 40, "test_passed": False}
    assert not solution.w.any() and "failed" in solution.status
    assert len(session.ledger) == 1 and session.ledger[0].event.epsilon == 2.0


def test_parts_of_few_rows_are_warned_of_by_public_facts():
    assert "warning" in run(TukeyEm(), n0=1000)[1].details
    assert "warning" not in run(TukeyEm(), n0=1500)[1].details


def test_no_rows_give_a_model():
    _, solution = run(TukeyEm(), rows=table(0))
    assert solution.details["test_passed"] and not np.abs(solution.w).any()


def test_a_point_of_zeros_is_told_with_what_to_do():
    empty, found = run(TukeyEm(), rows=table(0))[1], run(TukeyEm())[1]
    assert "point drawn is 0" in empty.status and "--set models=" in empty.status
    assert found.status == "The test was passed, and a point drawn."


def test_the_paper_preset_is_what_it_says():
    assert TukeyEm(**TukeyEm.presets["paper"]) == TukeyEm(models=1000, depth=0.25, test_share=0.5)
    assert TukeyEm.preset_sources["paper"].keys() == TukeyEm.presets["paper"].keys()


def test_an_accountant_of_several_releases_is_refused_before_a_charge():
    session = None
    with pytest.raises(InvalidInputError, match="accountant single"):
        session, _ = run(TukeyEm(), accountant=PureAccountant.with_reserve(1.0, 1e-6, 1e-6))
    assert session is None


def test_wide_bounds_cost_next_to_nothing():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(5000, 2))
    y = X @ [1.0, -2.0] + rng.normal(size=5000)
    words = {"algo": "tukey-em", "loss": "ridge", "epsilon": 2.0, "delta": 1e-6, "seed": 1}
    missed = []
    for width in (10, 1000):
        bounds = {"bounds": (-width, width), "target_bounds": (-10 * width, 10 * width)}
        model = dpcore.fit(X, y, **words, **bounds)
        missed.append(np.mean((model.predict(X) - y) ** 2))
    assert max(missed) < 1.2


@pytest.mark.slow
@parametrize_with_checks([TukeyEm()])
def test_it_is_admitted(optimizer, check):
    check(optimizer)
