"""The spreads of numbers: a sensitivity that is reached; the turn that follows from products."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation, Settings
from dpcore.plugin.parts import LocalEngine, Sensitivity
from dpcore_adassp.row_map import LARGEST_SCALE
from dpcore_adassp.spreads import Spreads, scales_within
from dpcore_adassp.whitening import whitened
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.checks.queries import check_contributions
from dpcore_lab.made_tables.tables import make_problem

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
RIDGE = Settings(loss="ridge").make_loss()
MIDDLES = (0.5, 0.0, 1.0, 0.25)


def of(rows, relation=ADD):
    problem = make_problem(rows, relation, RIDGE)
    return replace(problem, intercept=True, numbers=(0, 2, 3))


def spreads(problem):
    problem = replace(problem, intercept=True, numbers=(0,))
    return Spreads(problem, (0.5,) * (problem.n_features - 1))


@pytest.mark.slow
def test_no_row_moves_them_by_more_than_is_declared():
    check_query(spreads, evaluations=60)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_spreads_keep_within_their_bound(relation):
    assert check_contributions(Spreads(of(make_rows(30, seed=1), relation), MIDDLES), relation) <= 1


@dataclass(frozen=True)
class Unheld(Spreads):
    """A broken twin: rows are held to the root of their numbers' count, twice the clip."""

    def answer_block(self, block):
        return super().answer_block(block) * 2


@dataclass(frozen=True)
class AsIfAdded(Spreads):
    """A broken twin: the bound of a row more under replace-one."""

    def sensitivity(self, relation):
        return Sensitivity("l2", 1.0, relation, grid_bits=super().sensitivity(relation).grid_bits)


def test_a_wrong_bound_is_exceeded():
    rows = make_rows(30, seed=1)
    rows.X[:2] = 0.0
    rows.X[0, 0], rows.X[1, 2] = 1.0, 1.0
    with pytest.raises(AssertionError):
        check_contributions(Unheld(of(rows), MIDDLES), ADD)
    with pytest.raises(AssertionError):
        check_contributions(AsIfAdded(of(rows, REPLACE), (0.0,) * 4), REPLACE)


def test_spreads_are_those_of_the_formula():
    rows = make_rows(50, seed=2)
    X = rows.X * np.minimum(1, rows.row_norm / np.linalg.norm(rows.X, axis=1))[:, np.newaxis]
    query = Spreads(of(rows), MIDDLES)
    roots = np.sqrt(abs(X[:, [0, 2, 3]] - X[:, -1:] * np.array([0.5, 1.0, 0.25])))
    roots /= np.maximum(np.linalg.norm(roots, axis=1), 3**0.5 / 2)[:, np.newaxis]
    found = LocalEngine(rows.table()).answer(query) * 2.0**-20
    assert found == pytest.approx(roots.sum(axis=0), abs=50 * 2.0**-13)
    with pytest.raises(InvalidInputError, match="middle"):
        Spreads(of(rows), (0.5,) * 5)
    with pytest.raises(InvalidInputError, match="numbers"):
        Spreads(replace(of(rows), numbers=()), MIDDLES)


def test_a_scale_is_one_over_the_deviation_as_far_as_that_is_known():
    problem = replace(make_problem(make_rows(2), ADD, RIDGE), intercept=True, numbers=(0, 1))
    query = Spreads(problem, (0.5, 0.5, 0.1, 0.5))
    roots = 1000 * np.sqrt([0.25 / 1.4, 0.01]) / query.clip
    scales = scales_within(query, roots, 1000, 0.0, 0.0)
    # Of numbers by their spread, a narrow one as far as it may be; of zeros and ones by the mean.
    assert scales == pytest.approx((4.0, LARGEST_SCALE, 0.09**-0.5, 2.0))
    doubtful = scales_within(query, roots, 1000, 400.0, 0.16)
    assert doubtful[0] < 3 and doubtful[1] < 5 and doubtful[2] == pytest.approx(2.5)
    assert min(scales_within(query, np.full(2, -50.0), 1000, 1e9, 0.0)) >= 1


def test_a_turn_makes_products_even_but_where_rows_hardly_differ():
    rng = np.random.default_rng(3)
    rows = (
        rng.normal(size=(5000, 4))
        * np.array([4.0, 1.0, 0.5, 1e-3])
        @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    )
    turn, length = whitened(rows.T @ rows / 25.0, 1e-6, 5000.0, 5.0)
    turned = rows @ np.ldexp(np.array(turn, float), -18)
    values = np.linalg.eigvalsh(turned.T @ turned)
    assert values[3] < 6 * values[1] and values[0] < 1e-3 * values[1]
    assert length == pytest.approx(np.sqrt(np.mean(turned**2) * 4), rel=1e-3)
    # Of noise alone nothing is turned.
    even = np.array(whitened(np.eye(4), 1e9, 5000.0, 1.0)[0])
    assert np.array_equal(even, 2**18 * np.eye(4))
