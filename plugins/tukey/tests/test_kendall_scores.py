"""Scores of columns: exact, and moved by one row as far as is stated and no farther."""

import math
from dataclasses import replace
from itertools import pairwise

import naive_kendall as naive
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import kendalltau

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import (
    LocalEngine,
    PureAccountant,
    SeededNoise,
    Table,
    TableSession,
    load_registry,
)
from dpcore_tukey.kendall_scores import KendallScores

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
RIDGE = load_registry().load("loss", "ridge")()
STEPS = 2**16
CHOICES = [(), (1,), (1, 2)]


def query_of(d, chosen=(), kind=KendallScores, **changed):
    words = {"row_norm": 8.0, "raw_norm_bound": 8.0, "relation": ADD, "l2": 0.0, **changed}
    return kind(Problem(RIDGE, n_features=d, **words), chosen)


def answer(X, y, chosen=(), kind=KendallScores, blocks=1, layout=np.asarray, **changed):
    table = Table.from_matrix(layout(X), np.asarray(y, float), row_norm=8.0, raw_norm_bound=8.0)
    if blocks > 1:
        cuts = np.linspace(0, len(y), blocks + 1).astype(np.int64)
        parts = [table.blocks[0].take(np.arange(*cut)) for cut in pairwise(cuts)]
        table = table.with_blocks(parts)
    query = query_of(X.shape[1], chosen, kind, **changed)
    return query.answer_table(table, SeededNoise(0))


def rows_of(n, seed=0, values=0, d=4):
    """Return rows with ties where ``values`` is the number of values of a column."""
    rng = np.random.default_rng(seed)
    both = rng.integers(0, values, (n, d + 1)) / values if values else rng.random((n, d + 1))
    return np.trunc(both[:, :d] * 2**16) / 2**16, 2 * both[:, d] - 1


@pytest.mark.parametrize("chosen", CHOICES)
@pytest.mark.parametrize(("n", "values"), [(0, 0), (1, 0), (2, 2), (37, 0), (60, 3), (61, 1)])
def test_scores_are_those_of_the_formula(n, values, chosen):
    X, y = rows_of(n, values=values)
    expected = naive.scores(X, y, query_of(4, chosen).candidates, chosen)
    assert answer(X, y, chosen).tolist() == expected


def test_without_ties_it_is_kendalls_tau():
    rng = np.random.default_rng(3)
    X, y = rng.permuted(np.tile(np.arange(200) / 256, (4, 1)), axis=1).T, np.arange(200) / 256
    tau = [abs(kendalltau(X[:, j], y).statistic) for j in range(4)]
    assert np.allclose(answer(X, y), np.array(tau) * 100 * STEPS, atol=1)


def test_the_order_of_rows_their_blocks_and_their_layout_do_not_tell():
    X, y = rows_of(90, values=5)
    whole, order = answer(X, y, (2,)), np.random.default_rng(1).permutation(90)
    assert np.array_equal(answer(X[order], y[order], (2,)), whole)
    assert np.array_equal(answer(X, y, (2,), blocks=4), whole)
    assert np.array_equal(answer(X, y, (2,), layout=csr_matrix), whole)


def test_what_is_kept_of_a_table_changes_nothing():
    X, y = rows_of(50)
    table = Table.from_matrix(X, y, row_norm=8.0, raw_norm_bound=8.0)
    for chosen in CHOICES:
        kept = query_of(4, chosen).answer_table(table, SeededNoise(0))
        assert np.array_equal(kept, answer(X, y, chosen))


def test_the_intercept_is_no_candidate():
    assert query_of(4, (2,), intercept=True).candidates == (0, 1)
    X, y = rows_of(30)
    X[:, 3] = 1.0
    assert answer(X, y, intercept=True).size == 3


N = 21
UP = np.arange(1.0, N + 1) / 64
APART = np.concatenate([UP[:15][::-1], UP[15:]])  # As many pairs in order as not.
LOW, HIGH = 0.0, 0.75
SAME, OTHER = np.column_stack([UP, UP, UP]), np.column_stack([UP, APART, APART])
WORST = {
    (ADD, ()): (OTHER, (HIGH, LOW, HIGH), None),
    (ADD, (2,)): (OTHER, (HIGH, LOW, HIGH), None),
    (REPLACE, ()): (SAME, (HIGH, LOW, HIGH), (LOW, HIGH, HIGH)),
    (REPLACE, (2,)): (SAME, (HIGH, LOW, HIGH), (LOW, HIGH, HIGH)),
}
"""Rows, whose target is ``UP``; one more, whose target is low, and that in its place before."""


def with_row(X, y, row, label=LOW):
    return (X, y) if row is None else (np.vstack([X, row]), np.append(y, label))


def change_of(before, after, chosen, kind=KendallScores):
    return (answer(*after, chosen, kind) - answer(*before, chosen, kind)) / STEPS


def worst(relation, chosen):
    """Return the range of the change of the first two scores between two neighbours on which it is
    as large as it can be."""
    X, row, old = WORST[relation, chosen]
    change = change_of(with_row(X, UP, old), with_row(X, UP, row), chosen)[:2]
    return float(np.ptp(change)), float(np.abs(change).max())


@pytest.mark.parametrize(("relation", "chosen"), WORST)
def test_scores_move_by_what_is_stated_and_reach_it(relation, chosen):
    stated = query_of(4, chosen).sensitivity(relation)
    assert worst(relation, chosen) == (stated.change_range, stated.bound)


@pytest.mark.parametrize("values", [0, 2, 4])
def test_no_neighbours_move_them_farther(values):
    rng = np.random.default_rng(values)
    for trial in range(25):
        n, chosen = int(rng.integers(0, 9)), CHOICES[trial % 3]
        X, y = rows_of(n + 2, trial, values)
        rest = X[:n], y[:n]
        pair = [with_row(*rest, X[k], y[k]) for k in (n, n + 1)]
        for relation, before in ((ADD, rest), (REPLACE, pair[1])):
            stated = query_of(4, chosen).sensitivity(relation)
            change = change_of(before, pair[0], chosen)
            assert np.ptp(change) <= stated.change_range
            assert np.abs(change).max() <= stated.bound


class OneSign(KendallScores):
    """Broken: scores move by 3/2, as the paper has it, but all of them the same way."""

    __slots__ = ()

    def sensitivity(self, relation):
        return replace(super().sensitivity(relation), change_range=1.5)


class OneRelation(KendallScores):
    """Broken: a row replaced moves scores no farther than a row more."""

    __slots__ = ()

    def sensitivity(self, relation):
        return replace(super().sensitivity(ADD), relation=relation)


class NoMean(KendallScores):
    """Broken: the mean over those chosen is taken for a constant."""

    __slots__ = ()

    def sensitivity(self, relation):
        return KendallScores(self.problem).sensitivity(relation)


class OfPairsThatDoNotTie(KendallScores):
    """Broken: Kendall's tau-b times n / 2, as in the authors' code, which first adds noise to
    columns so that nothing ties."""

    __slots__ = ()

    def answer_table(self, table, noise):
        (block,) = table.blocks
        X = block.rows()
        tau = [kendalltau(X[:, j], block.y).statistic for j in self.candidates]
        steps = np.abs(np.nan_to_num(tau)) * len(X) / 2 * STEPS
        return np.floor(steps).astype(np.int64)


@pytest.mark.parametrize(
    ("twin", "pairs"),
    [(OneSign, WORST), (OneRelation, [(REPLACE, ()), (REPLACE, (2,))])]
    + [(NoMean, [(ADD, (2,)), (REPLACE, (2,))])],
)
def test_a_range_that_is_too_small_is_found(twin, pairs):
    for relation, chosen in pairs:
        stated = query_of(4, chosen, twin).sensitivity(relation)
        assert worst(relation, chosen)[0] > stated.change_range


def test_a_share_of_the_pairs_that_do_not_tie_moves_farther():
    n, none = 20, (np.zeros((20, 2)), np.zeros(20))
    one = with_row(*none, (0.5, 0.0), 0.5)
    for kind, moved in ((KendallScores, 1.0), (OfPairsThatDoNotTie, (n + 1) / 2)):
        change = change_of(none, one, (), kind)
        assert np.abs(change - [moved, 0.0]).max() < 1e-4


def test_a_session_selects_at_the_range_of_the_step():
    table = Table.from_matrix(SAME, UP, row_norm=8.0, raw_norm_bound=8.0)
    each = load_registry().load("mechanism", "permute-and-flip")(4.0)
    for chosen, change in (((), 2.5), ((1,), 5.0)):
        session = TableSession(
            LocalEngine(table), PureAccountant.from_budget(1.0, 0.0), ADD, SeededNoise(1)
        )
        query = query_of(3, chosen)
        assert session.release(query, each) in range(len(query.candidates))
        assert each.scale(query.sensitivity(ADD)).steps >= 4 * change * STEPS
        assert math.isclose(session.accountant.spent, 0.25, rel_tol=1e-9)


@pytest.mark.parametrize("chosen", [(0, 0), (3,), (-1,), (0, 1, 2)])
def test_other_places_are_refused(chosen):
    with pytest.raises(InvalidInputError, match="chosen"):
        query_of(3, chosen)
