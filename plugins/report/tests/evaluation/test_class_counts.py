"""Counts of three classes and more: against NumPy and scikit-learn, and how far rows move them."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation, Settings
from dpcore.plugin.parts import LocalEngine
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import make_problem
from dpcore_report.evaluation.class_counts import ClassCounts, scale_bits
from dpcore_report.evaluation.metrics import metrics_of_classes
from dpcore_report.evaluation.score_counts import EDGES, ScoreCounts

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
LOSS = Settings(loss="softmax").make_loss()
W = np.random.default_rng(0).normal(size=(3, 5)).round(3)


class Whole(ClassCounts):
    """Broken on purpose: a row counts 1 in each bin of scores."""

    def answer_block(self, block):
        cells = super().answer_block(block).reshape(self.shape)
        cells[:, 3:] <<= scale_bits(3, self.norm)
        return cells.ravel()


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_counts_are_sums_within_their_sensitivity(norm):
    check_query(lambda problem: ClassCounts(problem, W, norm), LOSS)


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_row_that_counts_1_in_each_bin_is_caught(norm):
    with pytest.raises(AssertionError, match=f"declared {norm}"):
        check_query(lambda problem: Whole(problem, W, norm), LOSS)


def answer_of(rows, kind=ClassCounts, norm="l2", w=W):
    query = kind(make_problem(rows, ADD, LOSS), w, norm)
    return LocalEngine(rows.table()).answer(query).reshape(query.shape) / 2.0**20


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_no_pair_of_rows_is_farther_apart_than_is_stated(norm, relation):
    rows = make_rows(60, seed=2, n_classes=3)
    stated = ClassCounts(make_problem(rows, relation, LOSS), W, norm).sensitivity(relation).bound
    own = [answer_of(rows.take(np.array([i])), norm=norm).ravel() for i in range(60)]
    moves = own if relation is ADD else [a - b for a, b in itertools.combinations(own, 2)]
    farthest = max(np.linalg.norm(move, 1 if norm == "l1" else 2) for move in moves)
    assert 0.99 * stated < farthest <= stated


def test_counts_are_those_of_numpy():
    rows = make_rows(300, seed=5, n_classes=3)
    z = np.concatenate([block.margins(W) for block in rows.table().blocks], axis=1)
    answer, said = answer_of(rows), z.argmax(axis=0)
    inner = np.array([-np.inf, *EDGES, np.inf])
    for k in range(3):
        assert answer[k, :3].tolist() == [np.sum((rows.y == k) & (said == j)) for j in range(3)]
        score = z[k] - np.delete(z, k, axis=0).max(axis=0)
        of = [2 * answer[k, 3:19], 2 * answer[k, 19:]]
        for counts, chosen in zip(of, (rows.y == k, rows.y != k), strict=True):
            assert counts.tolist() == np.histogram(score[chosen], inner)[0].tolist()


def test_the_auc_is_that_of_scores_in_bins():
    rows = make_rows(2000, seed=6, n_classes=3)
    z = np.concatenate([block.margins(W) for block in rows.table().blocks], axis=1)
    told = metrics_of_classes(answer_of(rows), ("a", "b", "c"), 1e-9, 1, 1, weighted=False)
    found = []
    for k, name in enumerate("abc"):
        score = np.searchsorted(EDGES, z[k] - np.delete(z, k, axis=0).max(axis=0))
        found.append(roc_auc_score(rows.y == k, score))
        assert told["auc_of_class"][name]["value"] == pytest.approx(found[-1], abs=1e-6)
    assert told["macro_auc"]["value"] == pytest.approx(np.mean(found), abs=1e-6)


@pytest.mark.parametrize("n_classes", [3, 4, 5, 16, 17, 40])
def test_bins_of_scores_count_as_much_as_the_bound_lets_them(n_classes):
    for norm, power in (("l1", 2), ("l2", 4)):
        bits = scale_bits(n_classes, norm)
        assert n_classes * power**-bits <= 1 < n_classes * power ** -(bits - 1)


def test_a_row_of_a_class_that_the_model_does_not_know_counts_nowhere():
    # An error of the answer, or one of another size, would tell that such a row is there.
    rows = make_rows(9, n_classes=3)
    two = np.zeros((2, 5))
    counts = answer_of(rows, w=two).reshape(2, -1)
    assert counts[:, :2].sum() == np.count_nonzero(rows.y < 2)
    for shape in ((4,), (3, 6)):
        with pytest.raises(InvalidInputError, match="Expected w of 5 features"):
            ClassCounts(make_problem(rows, ADD, LOSS), np.zeros(shape))
    with pytest.raises(InvalidInputError, match="Expected w of 5 features"):
        ScoreCounts(make_problem(rows, ADD, LOSS), two)  # which has one margin
