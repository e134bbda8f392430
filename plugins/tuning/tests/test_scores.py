"""Sums of losses of rows held out, against NumPy, and how far one row moves them."""

from dataclasses import replace

import numpy as np
import pytest
from searches import searched

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LocalEngine, Logistic
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import make_problem
from dpcore_tuning.scores import HeldOutLosses

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE
W = np.linspace(-2, 2, 5)


@pytest.mark.slow
# Of one number both norms are its size.
@pytest.mark.parametrize(("measure", "norm"), [("error", "l1"), ("loss", "l2")])
def test_a_score_is_a_sum_within_its_sensitivity(measure, norm):
    check_query(lambda problem: HeldOutLosses(problem, (W,), measure, norm), Logistic())


class Unclipped(HeldOutLosses):
    """Broken on purpose: a loss above 1 counts whole."""

    def _total(self, block, w):
        values = np.empty(block.n_rows)
        self.problem.loss.value(np.ascontiguousarray(block.margins(w)), block.y, values)
        return int((values * 2**20).astype(np.int64).sum())


@pytest.mark.slow
def test_a_loss_that_is_not_clipped_is_caught():
    with pytest.raises(AssertionError, match="declared l1"):
        check_query(lambda problem: Unclipped(problem, (W,), "loss", "l1"), Logistic())


def test_scores_are_those_of_numpy():
    rows = make_rows(200, seed=5)
    problem = make_problem(rows, REPLACE, Logistic())
    table = rows.table()
    z = np.concatenate([block.margins(W) for block in table.blocks])
    wrong = np.count_nonzero((z > 0) != (rows.y > 0))
    answer = LocalEngine(table).answer(HeldOutLosses(problem, (W, -W), "error", "linf"))
    assert answer[0] == -wrong * 2**20
    losses = np.minimum(np.logaddexp(0, -rows.y * z), 1)
    (total,) = LocalEngine(table).answer(HeldOutLosses(problem, (W,), "loss", "l1"))
    assert -total / 2**20 == pytest.approx(losses.sum(), abs=1e-3)


@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_the_range_of_the_change_holds_for_every_pair_of_rows(relation):
    # Ten models that disagree on many rows; every row taken away, and every pair swapped.
    rng = np.random.default_rng(0)
    rows = make_rows(40, seed=2)
    problem = make_problem(rows, relation, Logistic())
    models = tuple(rng.normal(0, 2, (10, 5)))
    query = HeldOutLosses(problem, models, "error", "linf")
    alone = [
        LocalEngine(type(rows)(rows.X[i : i + 1], rows.y[i : i + 1]).table()).answer(query)
        for i in range(40)
    ]
    if relation is REPLACE:
        changes = [a - b for a in alone for b in alone]
    else:
        changes = alone
    stated = query.sensitivity(relation)
    ranges = [np.ptp(change) / 2**20 for change in changes]
    assert max(ranges) <= stated.change_range == (2 if relation is REPLACE else 1)
    assert max(ranges) > stated.change_range / 2  # half of it would be a lie
    assert max(np.abs(change).max() for change in changes) / 2**20 <= stated.bound


BOUND = 4.0
WEIGHTED = searched(settings={"weight_bound": BOUND}).plans[0].with_weights(()).loss


def weighted_rows(n=200):
    """Return rows with weights, some of them beyond their bound, as no data set has them."""
    weights = np.random.default_rng(1).uniform(0, 1.5 * BOUND, n)
    return replace(make_rows(n, seed=5), weights=weights)


def score_of(rows, measure, query=HeldOutLosses, relation=REPLACE):
    problem = make_problem(rows, relation, WEIGHTED)
    asked = query(problem, (W,), measure, "l1", BOUND)
    (total,) = LocalEngine(rows.table()).answer(asked)
    return -total / 2**20, asked.sensitivity(relation).bound


def test_scores_of_weighted_rows_are_those_of_numpy_over_the_largest_weight():
    rows = weighted_rows()
    z = np.concatenate([block.margins(W) for block in rows.table().blocks])
    shares = np.minimum(rows.weights / BOUND, 1.0)
    wrong = ((z > 0) != (rows.y > 0)) * shares
    assert score_of(rows, "error")[0] == pytest.approx(wrong.sum(), abs=1e-3)
    losses = np.minimum(np.logaddexp(0, -rows.y * z) * shares, 1)
    assert score_of(rows, "loss")[0] == pytest.approx(losses.sum(), abs=1e-3)


class Whole(HeldOutLosses):
    """Broken on purpose: an error counts as often as its row's weight says."""

    def _total(self, block, w):
        wrong = (np.ascontiguousarray(block.margins(w)) > 0) != (block.y["label"] > 0)
        return int((wrong * block.y["weight"] * 2**20).astype(np.int64).sum())


@pytest.mark.parametrize("measure", ["error", "loss"])
def test_no_weight_moves_a_score_by_more_than_its_bound(measure):
    # Each row alone is what it adds, its weight up to half as much again as the bound.
    rows = weighted_rows(40)
    alone = [rows.take(np.array([at])) for at in range(40)]
    moved = [score_of(row, measure, relation=ADD) for row in alone]
    assert all(0 <= value <= bound == 1 for value, bound in moved)
    assert max(value for value, _ in moved) > 0.9
    broken = [score_of(row, measure, Whole, ADD) for row in alone]
    assert any(value > bound for value, bound in broken)


def test_weights_are_not_left_out_by_mistake():
    rows = weighted_rows(10)
    query = HeldOutLosses(make_problem(rows, REPLACE, Logistic()), (W,), "error", "l1")
    with pytest.raises(TypeError):
        LocalEngine(rows.table()).answer(query)


def test_what_cannot_be_scored_is_refused():
    problem = make_problem(make_rows(10), REPLACE, Logistic())
    with pytest.raises(InvalidInputError, match="linf"):
        HeldOutLosses(problem, (W, W), "error", "l1")
    with pytest.raises(InvalidInputError, match="error or loss"):
        HeldOutLosses(problem, (W,), "auc", "l1")
