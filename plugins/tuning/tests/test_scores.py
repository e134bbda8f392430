"""Sums of losses of rows held out, against NumPy, and how far one row moves them."""

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LocalEngine, Logistic
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import make_problem
from dpcore_tuning.scores import HeldOutLosses

REPLACE = NeighboringRelation.REPLACE_ONE
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


def test_what_cannot_be_scored_is_refused():
    problem = make_problem(make_rows(10), REPLACE, Logistic())
    with pytest.raises(InvalidInputError, match="linf"):
        HeldOutLosses(problem, (W, W), "error", "l1")
    with pytest.raises(InvalidInputError, match="error or loss"):
        HeldOutLosses(problem, (W,), "auc", "l1")
