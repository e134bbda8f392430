"""Charges, refusals and results of a fit."""

import dataclasses

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
from dpcore_lab.checks import (
    check_huge_epsilon_limit,
    check_sensitivity_on_neighbours,
    parametrize_with_checks,
)
from dpcore_lab.checks import parts as testing_parts
from dpcore_tukey.kendall_scores import KendallScores
from dpcore_tukey.tukey_em import TukeyEm

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
Basic, Single = (load_registry().load("accountant", name) for name in ("basic", "single"))
RIDGE = load_registry().load("loss", "ridge")()
COEFFICIENTS = np.array([0.5, -0.25, 0.125])


def table(n=4000):
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.random((n, 2)), np.ones(n)))
    y = X @ COEFFICIENTS + 0.01 * rng.normal(size=n)
    return Table.from_matrix(X, y, row_norm=2.0, raw_norm_bound=2.0)


def run(optimizer, epsilon=2.0, delta=1e-6, relation=ADD, n0=None, accountant=None, rows=None):
    opened = accountant or Basic.from_budget(epsilon, delta)
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
    paper = {"models": 1000, "depth": 0.25, "test_share": 0.5, "selection": "exponential"}
    assert TukeyEm.presets == {"paper": paper}
    assert TukeyEm.preset_sources["paper"].keys() == TukeyEm.presets["paper"].keys()


def test_an_accountant_of_several_releases_is_refused_before_a_charge():
    session = None
    reserving = PureAccountant.with_reserve(1.0, 1e-6, 1e-6)
    for optimizer, accountant in (
        (TukeyEm(), reserving),
        (TukeyEm(columns=1), Single.from_budget(2.0, 1e-6)),
    ):
        with pytest.raises(InvalidInputError, match="accountant basic"):
            session, _ = run(optimizer, accountant=accountant)
    assert session is None


def test_one_release_has_the_same_bits_under_either_accountant():
    basic, single = (run(TukeyEm(), accountant=a.from_budget(2.0, 1e-6)) for a in (Basic, Single))
    assert np.array_equal(basic[1].w, single[1].w)
    assert basic[0].ledger[0].event == single[0].ledger[0].event


def wide(n=20_000):
    """Return rows of eight columns, of which the target has to do with 1 and 4."""
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.random((n, 8)), np.ones(n)))
    y = 0.5 * X[:, 1] - 0.25 * X[:, 4] + 0.125 + 0.01 * rng.normal(size=n)
    return Table.from_matrix(X, y, row_norm=3.0, raw_norm_bound=3.0)


def choosing(relation=ADD, rows=None, columns=2, **changed):
    session = TableSession(
        LocalEngine(rows or wide()), Basic.from_budget(2.0, 1e-6), relation, SeededNoise(1)
    )
    words = {"intercept": True, "numbers": tuple(range(8))}
    problem = Problem(RIDGE, 0.0, 9, 3.0, 3.0, relation, **words)
    return session, TukeyEm(columns=columns, **changed).minimize(problem, session)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_the_columns_that_explain_the_target_are_fitted_alone(relation):
    session, solution = choosing(relation)
    assert solution.details == {"models": 278, "test_passed": True, "columns": [1, 4, 8]}
    expected = [0, 0.5, 0, 0, -0.25, 0, 0, 0, 0.125]
    assert np.allclose(solution.w, expected, atol=0.03) and np.count_nonzero(solution.w) == 3
    assert session.releases == {"selection": 2, "depth": 1}


def test_the_selections_have_their_share_and_the_fits_the_rest():
    session, _ = choosing(choice_share=0.25)
    *selections, last = (entry.event for entry in session.ledger)
    assert np.allclose([event.epsilon for event in selections], 0.25, rtol=1e-6)
    assert np.isclose(last.epsilon, 1.5, rtol=1e-6) and last.delta == 1e-6 * (1 - 2.0**-30)
    assert session.accountant.remaining <= 1e-9


def test_what_cannot_be_fitted_is_refused_before_a_selection():
    session = TableSession(
        LocalEngine(wide(100)), Basic.from_budget(1e-5, 1e-5), ADD, SeededNoise(1)
    )
    problem = Problem(RIDGE, 0.0, 9, 3.0, 3.0, ADD, intercept=True)
    with pytest.raises(InvalidInputError, match="delta"):
        TukeyEm(columns=2, models=100).minimize(problem, session)
    assert not session.ledger


def test_as_many_columns_as_there_are_need_no_selection():
    all_of_them, more = choosing(columns=None)[1], choosing(columns=8)
    assert np.array_equal(more[1].w, all_of_them.w) and len(more[0].ledger) == 1


def test_columns_of_nothing_at_all_are_selected_too():
    session, solution = choosing(
        rows=Table.from_matrix(np.empty((0, 9)), np.empty(0), row_norm=3.0, raw_norm_bound=3.0)
    )
    assert len(solution.details["columns"]) == 3 and len(session.ledger) == 3


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
@parametrize_with_checks([TukeyEm(), TukeyEm(columns=2)])
def test_it_is_admitted(optimizer, check, monkeypatch):
    if optimizer.columns and check is check_huge_epsilon_limit:
        pytest.skip("columns that are left out explain a part")
    if not optimizer.columns and check is check_sensitivity_on_neighbours:
        pytest.skip("with columns, models are looked at too")
    # The selection is audited by the tests of check_mechanism.
    monkeypatch.setattr(testing_parts, "check_mechanism", lambda *arguments: None)
    check(optimizer)


class HalfTheRange(KendallScores):
    """Broken: scores move by less than they do."""

    __slots__ = ()

    def sensitivity(self, relation):
        stated = super().sensitivity(relation)
        return dataclasses.replace(stated, bound=stated.bound / 2, change_range=stated.bound / 2)


@pytest.mark.slow
def test_scores_that_claim_to_move_less_are_not_admitted(monkeypatch):
    monkeypatch.setattr("dpcore_tukey.tukey_em.KendallScores", HalfTheRange)
    with pytest.raises(AssertionError, match="declared range"):
        check_sensitivity_on_neighbours(TukeyEm(columns=2))
