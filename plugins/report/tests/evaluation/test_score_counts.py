"""Counts by class and bin of score: against NumPy, and how far one row moves them."""

import math

import numpy as np
import pytest

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LocalEngine, Logistic
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import make_problem
from dpcore_report.evaluation.score_counts import CUTS, EDGES, ScoreCounts

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
W = np.linspace(-2, 2, 5)


class Twice(ScoreCounts):
    """Broken on purpose: a row counts in its bin and in that below."""

    def answer_block(self, block):
        cells = super().answer_block(block).reshape(self.shape)
        cells[:, :-1] += cells[:, 1:].copy()
        return cells.ravel()


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_counts_are_sums_within_their_sensitivity(norm):
    check_query(lambda problem: ScoreCounts(problem, W, norm), Logistic())


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_row_that_counts_in_two_bins_is_caught(norm):
    with pytest.raises(AssertionError, match=f"declared {norm}"):
        check_query(lambda problem: Twice(problem, W, norm), Logistic())


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_replacing_a_row_is_stated_as_leaving_one_cell_for_another(norm):
    rows = make_rows(10, seed=1)
    bounds = {
        relation: ScoreCounts(make_problem(rows, relation, Logistic()), W, norm)
        .sensitivity(relation)
        .bound
        for relation in NeighboringRelation
    }
    assert bounds.pop(NeighboringRelation.REPLACE_ONE) == pytest.approx(
        2 if norm == "l1" else 2**0.5
    )
    assert set(bounds.values()) == {1.0}


def test_counts_are_those_of_numpy():
    rows = make_rows(300, seed=5)
    table = rows.table()
    query = ScoreCounts(make_problem(rows, ADD, Logistic()), W)
    z = np.concatenate([block.margins(W) for block in table.blocks])
    answer = LocalEngine(table).answer(query).reshape(query.shape) / 2**20
    assert answer.sum() == 300
    inner = np.array([-np.inf, *EDGES, np.inf])
    for k, label in enumerate((-1, 1)):
        expected = np.histogram(z[rows.y == label], inner)[0]
        assert answer[k].tolist() == expected.tolist()


def test_a_margin_of_0_is_of_the_first_class():
    rows = make_rows(40, seed=5)
    query = ScoreCounts(make_problem(rows, ADD, Logistic()), np.zeros(5))
    answer = LocalEngine(rows.table()).answer(query).reshape(query.shape) / 2**20
    assert answer[:, len(CUTS) // 2].sum() == 40
    assert EDGES[len(CUTS) // 2] == 0.0


def test_edges_are_the_log_odds_of_public_probabilities():
    assert [1 / (1 + math.exp(-edge)) for edge in EDGES] == pytest.approx(CUTS, abs=1e-6)
