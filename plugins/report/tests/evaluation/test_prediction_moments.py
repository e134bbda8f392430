"""Sums of products of predictions and targets: against NumPy, and how far a row moves them."""

import numpy as np
import pytest

from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LocalEngine, Sensitivity
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import make_problem
from dpcore_report.evaluation.prediction_moments import PredictionMoments

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
W = np.linspace(-2, 2, 5)


class NotHeld(PredictionMoments):
    """Broken on purpose: a prediction counts whole, however far from the target's range it is."""

    def answer_block(self, block):
        z, y = np.ascontiguousarray(block.margins(self.w)), block.y
        products = np.array([np.ones(y.size), z, y, z**2, z * y, y**2, np.abs(z - y) / 2])
        return np.trunc(products * 2**20).astype(np.int64).sum(axis=1)


class OneRow(PredictionMoments):
    """Broken on purpose: states of a row that is replaced what holds for a row that is added."""

    def sensitivity(self, relation):
        added = super().sensitivity(ADD)
        return Sensitivity(added.norm, added.bound, relation, added.grid_bits)


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_sums_are_within_their_sensitivity(norm):
    check_query(lambda problem: PredictionMoments(problem, 3 * W, norm), Squared())


@pytest.mark.slow
@pytest.mark.parametrize(("broken", "norm"), [(NotHeld, "l1"), (NotHeld, "l2"), (OneRow, "l2")])
def test_a_prediction_that_is_not_held_or_half_a_sensitivity_is_caught(broken, norm):
    with pytest.raises(AssertionError, match=f"declared {norm}"):
        check_query(lambda problem: broken(problem, 20 * W, norm), Squared())


@pytest.mark.parametrize(
    ("norm", "relation", "bound"),
    [("l1", ADD, 7.0), ("l2", ADD, 7**0.5), ("l1", REPLACE, 9.0), ("l2", REPLACE, 15**0.5)],
)
def test_the_sensitivity_is_that_of_the_argument_and_not_below(norm, relation, bound):
    rows = make_rows(5, seed=5)
    query = PredictionMoments(make_problem(rows, relation, Squared()), W, norm)
    assert 0 <= query.sensitivity(relation).bound - bound < 1e-14


@pytest.mark.parametrize("scale", [0.1, 1.0, 20.0])
def test_sums_are_those_of_numpy(scale):
    rows = make_rows(200, seed=5)
    table = rows.table()
    query = PredictionMoments(make_problem(rows, ADD, Squared()), scale * W)
    z = np.clip(np.concatenate([block.margins(query.w) for block in table.blocks]), -1, 1)
    y = rows.y
    expected = [200, z.sum(), y.sum(), (z**2).sum(), (z * y).sum(), (y**2).sum()]
    expected.append(np.abs(z - y).sum() / 2)
    assert LocalEngine(table).answer(query) / 2**20 == pytest.approx(expected, abs=1e-3)
