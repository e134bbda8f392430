"""Sums of weighted outer products: against NumPy, and how far one row moves them."""

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LocalEngine, Logistic
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import Rows, make_problem
from dpcore_report.intervals.row_products import ON_DIAGONAL, OVER_DIAGONAL, RowProducts, matrix_of
from dpcore_report.intervals.slopes import largest_slope

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
W = np.linspace(-2, 2, 5)


class CountedTwice(RowProducts):
    """Broken on purpose: both entries of a pair beside the diagonal, as of a whole matrix."""

    def answer_block(self, block):
        answer = super().answer_block(block)
        beside = np.triu_indices(self.problem.n_features)
        return np.where(beside[0] == beside[1], answer, 2 * answer)


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize(("by", "loss"), [("slope", Logistic), ("curvature", Squared)])
def test_products_are_sums_within_their_sensitivity(by, loss, norm):
    check_query(lambda problem: RowProducts(problem, W, by, norm), loss(), evaluations=60)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_no_pair_of_neighbours_is_farther_apart(relation, norm):
    assert farthest(RowProducts, relation, norm) <= 1.0


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_triangle_that_counts_pairs_twice_is_caught(norm):
    assert farthest(CountedTwice, ADD, norm) > 1.1


def farthest(kind, relation, norm):
    """Return the largest change over the stated one, over rows of equal entries, of one entry, and
    others, as they come and replaced by one another; squared loss, whose curvature is 1."""
    d, rng = 4, np.random.default_rng(3)
    points = np.vstack([np.full(d, 0.5), np.eye(d), -np.full(d, 0.5), rng.normal(size=(30, d))])
    points /= np.linalg.norm(points, axis=1)[:, None] * (1 + 2.0**-12)
    of_each = []
    for point in points:
        rows = Rows(point[None, :], np.ones(1), row_norm=1.0, raw_norm_bound=1.0)
        query = kind(make_problem(rows, relation, Squared()), np.zeros(d), "curvature", norm)
        of_each.append(LocalEngine(rows.table()).answer(query))
    stated = query.sensitivity(relation)
    changes = np.array(of_each) / 2.0**stated.grid_bits
    if relation is REPLACE:
        changes = (changes[:, None] - changes[None]).reshape(-1, changes.shape[1])
    order = 1 if norm == "l1" else 2
    return float(np.linalg.norm(changes, order, axis=1).max() / stated.bound)


@pytest.mark.parametrize("loss", [Logistic(), Squared()])
def test_products_are_those_of_numpy(loss):
    rows = make_rows(400, seed=5)
    table, problem = rows.table(), make_problem(rows, ADD, loss)
    X = np.concatenate([block.rows() for block in table.blocks])
    y, z = rows.y, X @ W
    p = 1 / (1 + np.exp(-z))
    is_logistic = loss.name == "logistic"
    curvature = p * (1 - p) if is_logistic else np.ones(400)
    slope = p - (y > 0) if is_logistic else z - y
    for by, weights in (("curvature", curvature), ("slope", slope**2)):
        query = RowProducts(problem, W, by)
        answer = LocalEngine(table).answer(query) / 2.0 ** (2 * query.bits)
        expected = (X * weights[:, None]).T @ X
        found = matrix_of(answer, 5)
        assert np.allclose(found, expected, rtol=1e-3, atol=400 * 2.0**-query.bits)
        assert answer[0] == pytest.approx(ON_DIAGONAL * found[0, 0])
        assert answer[1] == pytest.approx(OVER_DIAGONAL * found[0, 1])


@pytest.mark.parametrize("by", ["slope", "curvature"])
def test_a_loss_that_is_steeper_than_it_says_moves_the_sums_by_no_more(by):
    class Understated(Logistic):  # Slopes of 1/2 and a curvature of 1/4, at margins of 0.
        lipschitz = 0.25
        smoothness = 0.125

    row = Rows(np.array([[1.0, 0.0, 0.0, 0.0]]), np.ones(1), row_norm=1.0, raw_norm_bound=1.0)
    query = RowProducts(make_problem(row, ADD, Understated()), np.zeros(4), by)
    stated = query.sensitivity(ADD)
    moved = LocalEngine(row.table()).answer(query) / 2.0**stated.grid_bits
    assert 0.9 < np.linalg.norm(moved) / stated.bound <= 1


def test_slopes_of_a_number_are_bounded_by_the_coefficients():
    problem = make_problem(make_rows(10), ADD, Squared())
    bound = largest_slope(problem, W)
    assert bound == pytest.approx(problem.row_norm * np.linalg.norm(W) + 1)
    rows = make_rows(500, seed=9)
    z = np.concatenate([block.margins(W) for block in rows.table().blocks])
    assert np.abs(z - rows.y).max() <= bound


def test_rows_that_fit_no_grid_are_refused():
    problem = make_problem(make_rows(10), ADD, Squared())
    with pytest.raises(InvalidInputError, match="too many or too long"):
        RowProducts(problem, 1e6 * W, "slope")
