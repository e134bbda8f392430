"""The steps of DP-AGD: what is applied, merged and followed, and where they lead."""

import numpy as np
import pytest
from agd_runs import ADD, E0, E1, REPLACE, recorded, scripted

from dpcore import fit
from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore_dp_agd.optimizer import DpAgd
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import Rows


def test_the_selected_step_is_the_step_applied():
    # The published code applied the candidate before the selected one.
    for index in (1, 7, 10):
        session, solution = scripted([E0, index, E1])
        line, after = session.queries[1], session.queries[2]
        step = line.step_sizes[index]
        assert line.step_sizes[0] == 0.0 and step > 0
        assert np.array_equal(line.direction, [1, 0, 0, 0, 0])
        assert np.array_equal(after.w, [-step, 0, 0, 0, 0])
        assert np.array_equal(solution.w, [-step, 0, 0, 0, 0])


def test_what_is_measured_again_is_weighed_by_what_it_cost():
    session, _ = scripted([E0, 0, E1, 0, E1, 3], gamma=0.5)
    first, second, third = session.costs[0], session.costs[2], session.costs[4]
    assert second == pytest.approx(0.5 * first, rel=1e-9)
    assert third == pytest.approx(0.75 * first, rel=1e-9)
    merged = (first * E0 + (second + third) * E1) / (first + second + third)
    direction = session.queries[5].direction
    np.testing.assert_allclose(direction, merged / np.linalg.norm(merged), atol=2.0**-14)
    # All three were taken at the same point, and the share stays grown in the next step.
    assert all(np.array_equal(session.queries[i].w, np.zeros(5)) for i in (0, 2, 4))
    longer, _ = scripted([E0, 0, E1, 3, E1], gamma=0.5)
    assert longer.costs[4] == pytest.approx(1.5 * first, rel=1e-9)


def test_the_largest_candidate_follows_the_steps_taken():
    answers = [E0, 4, E0, 2, E0, 1]
    session, _ = scripted(answers, tau=2, eta=0.1, step_decay=0.0, max_step=1.0)
    lines = [query.step_sizes for query in session.queries[1::2]]
    # Twenty even steps on the grid: the last is off by half a grid step twenty times at most.
    off = 20 * 2.0**-11
    assert lines[0][-1] == lines[1][-1] == pytest.approx(1.0, abs=off)
    assert lines[2][-1] == pytest.approx(1.1 * lines[0][4], abs=off)


def test_an_empty_table_trains_and_gives_noise():
    empty = Rows(np.empty((0, 5)), np.empty(0))
    for n0 in (400, None):
        _, solution = recorded(DpAgd(), empty, n0=n0)
        assert np.isfinite(solution.w).all()


@pytest.mark.slow
def test_objective_with_l2_reaches_the_minimum_under_both_relations():
    # The regulariser enters sum and scores by n: a mean where the sum belongs would miss it.
    from scipy.optimize import minimize

    rows = make_rows(4000, seed=5)
    X = rows.X * np.minimum(1.0, 1.5 / np.linalg.norm(rows.X, axis=1, keepdims=True))

    def objective(w):
        return np.logaddexp(0, -rows.y * (X @ w)).mean() + 0.05 * (w @ w)

    best = minimize(objective, np.zeros(5))
    for relation in (ADD, REPLACE):
        accountant = ZcdpAccountant.from_budget(1e4, 1e-6)
        _, solution = recorded(
            DpAgd(), rows, relation, l2=0.1, accountant=accountant, n0=len(rows.y)
        )
        np.testing.assert_allclose(solution.w, best.x, atol=0.05)


def test_a_regression_predicts_in_the_unit_of_its_target():
    # Targets of 10^5 once met margins of about 1: every prediction was near 0.
    rng = np.random.default_rng(5)
    X = rng.random((4000, 3))
    y = 200_000 * (0.2 + X @ [0.3, 0.2, 0.1])
    model = fit(X, y, loss="ridge", target_bounds=(0, 200_000), row_norm=2.0, epsilon=50.0, seed=1)
    assert np.mean(np.abs(model.predict(X) - y) / y) < 0.2
    assert np.mean(np.abs(y.mean() - y) / y) > 2 * np.mean(np.abs(model.predict(X) - y) / y)
