"""DP-AGD passes the checks of any plugin, and its sensitivities hold on neighbours."""

from dataclasses import replace

import numpy as np
import pytest
from agd_runs import ADD, REPLACE, recorded
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.plugin.parts import GdpAccountant, Logistic
from dpcore_baselines.losses.hinge import HingeSvm
from dpcore_baselines.losses.huber import HuberSvm
from dpcore_dp_agd.optimizer import DpAgd
from dpcore_lab.checks import check_huge_epsilon_limit, make_rows, parametrize_with_checks
from dpcore_lab.checks.optimizers import assert_same_when_replayed
from dpcore_lab.made_tables.tables import Rows, neighbours


@pytest.mark.slow
@parametrize_with_checks([DpAgd()])
def test_the_default_is_admitted(optimizer, check, monkeypatch):
    # The selection is audited by the tests of check_mechanism. A step is like the one before; with
    # a huge epsilon as many are needed as there are by default.
    monkeypatch.setattr("dpcore_lab.checks.parts.check_mechanism", lambda *arguments: None)
    check(optimizer if check is check_huge_epsilon_limit else replace(optimizer, steps=8))


@pytest.mark.slow
@parametrize_with_checks(
    [DpAgd(use={"gradient": "laplace", "selection": "report-noisy-max"}, momentum=0.0, steps=5)]
)
def test_other_slots_are_admitted(optimizer, check, monkeypatch):
    # Queries of the same classes are added up over twenty full blocks above, and both mechanisms
    # are audited by the tests of check_mechanism.
    monkeypatch.setattr("dpcore_lab.checks.parts.compare_sums", lambda query, made: None)
    monkeypatch.setattr("dpcore_lab.checks.parts.check_mechanism", lambda *arguments: None)
    if check is not check_huge_epsilon_limit:  # Five steps do not come that far.
        check(optimizer)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([ADD, REPLACE]),
    st.lists(st.floats(-1.2, 1.2), min_size=5, max_size=5),
    st.sampled_from([-1.0, 1.0]),
    st.integers(0, 29),
    st.sampled_from([Logistic(), HingeSvm(), HuberSvm()]),
)
def test_sensitivity_holds_on_any_neighbour(relation, x, label, position, loss):
    rows = make_rows(30, seed=1)
    optimizer = DpAgd(steps=6)
    opened = GdpAccountant.from_budget(1.0, 1e-6)
    problem_rows = recorded(optimizer, rows, relation, Logistic(), accountant=opened)
    if relation is ADD:
        X, y = np.insert(rows.X, position, x, axis=0), np.insert(rows.y, position, label)
    else:
        X, y = rows.X.copy(), rows.y.copy()
        X[position], y[position] = x, label
    assert_same_when_replayed(optimizer, problem_rows, rows, Rows(X, y), relation)


@pytest.mark.parametrize("loss", [HingeSvm(), HuberSvm()])
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_every_loss_and_relation_fits_and_stays_within_budget(loss, relation):
    session, solution = recorded(DpAgd(), make_rows(500), relation, loss)
    assert np.isfinite(solution.w).all() and np.linalg.norm(solution.w) > 0
    assert session.accountant.remaining >= 0


def test_the_noise_under_replace_one_is_twice_as_large():
    scales = {}
    for relation in (ADD, REPLACE):
        session, _ = recorded(DpAgd(steps=5, clip=1.0), make_rows(50), relation, n0=50)
        scales[relation] = [
            (r.sensitivity.bound, r.sensitivity.change_range) for r in session.records[:2]
        ]
    assert scales[ADD] == [(1.0, None), (2.0, 2.0)]
    assert scales[REPLACE] == [(2.0, None), (2.0, 4.0)]


def test_neighbours_of_a_check_differ_in_one_row():
    rows = make_rows(12)
    for other in neighbours(rows, REPLACE):
        assert (other.X != rows.X).any(axis=1).sum() <= 1
    assert {len(other.y) for other in neighbours(rows, ADD)} == {11, 13}
