"""Scores along a line: their sensitivity, and the kernel against its naive twin."""

import naive_line as naive
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dpcore.errors import InvalidInputError
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import Logistic, Table
from dpcore_baselines.losses.hinge import HingeSvm
from dpcore_dp_agd.loss_line import ClippedLossLine, first_line
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import make_problem

RELATIONS = (NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE)


def offset_line(problem):
    steps, offset = np.arange(4) / 8, np.arange(4) * 10.0
    return ClippedLossLine(problem, np.ones(5), -np.ones(5), steps, 0.5, offset=offset)


def steep_line(problem):
    return ClippedLossLine(problem, np.ones(5), np.linspace(-50, 9, 5), np.arange(9) / 8, 1.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make_query", "loss"),
    [
        (steep_line, Squared()),
        (offset_line, Logistic()),
        (first_line, Logistic()),
        (first_line, Squared()),
    ],
)
def test_declared_range_holds_and_answers_are_sums(make_query, loss):
    check_query(make_query, loss)


class NarrowRange(ClippedLossLine):
    """Broken on purpose: scores that move either way, declared as if they moved together."""

    def sensitivity(self, relation):
        return super().sensitivity(NeighboringRelation.ADD_OR_REMOVE_ONE)


def test_a_range_of_scores_that_move_together_would_be_caught():
    steps = np.arange(-4.0, 5.0) * 8
    with pytest.raises(AssertionError, match="declared range"):
        check_query(lambda p: NarrowRange(p, np.zeros(5), np.eye(5)[0], steps, 1.0))


@pytest.mark.parametrize("relation", RELATIONS)
def test_both_relations_state_their_own_constants(relation):
    problem = make_problem(make_rows(10), relation, Logistic())
    line = ClippedLossLine(problem, np.zeros(5), np.ones(5), np.arange(3.0), 4.0)
    assert line.sensitivity(relation).change_range == 4.0 * relation.rows_changed


@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
@pytest.mark.parametrize("loss", [Logistic(), HingeSvm()])
def test_scores_against_the_naive_twin(layout, loss):
    # The logistic loss has totals of its own; the hinge goes by margins, step after step.
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 6)) * (rng.random((30, 6)) < 0.6)
    y = np.where(rng.random(30) < 0.5, -1.0, 1.0)
    bounds = {"row_norm": 1.25, "raw_norm_bound": 2.0}
    block = Table.from_matrix(layout(X), y, **bounds).blocks[0]
    problem = Problem(loss, 0.0, 6, relation=RELATIONS[0], capacity=2**20, **bounds)
    w, direction = rng.normal(size=(2, 6))
    query = ClippedLossLine(problem, w, direction, np.arange(5) / 16, 2.0)
    rows = block.rows() / block.factor[:, np.newaxis]
    rows = np.ldexp(np.rint(np.ldexp(rows, 16)), -16)
    got = query.answer_block(block)
    for k, step in enumerate(query.step_sizes):
        line = query.w, query.direction, step
        margins = [naive.margin(r, f, *line) for r, f in zip(rows, block.factor, strict=True)]
        values = np.empty(30)
        loss.value(np.array(margins), y, values)
        expected = np.trunc(np.clip(values, 0.0, 2.0) * 2.0**query.bits).sum()
        # Directions off their coarser grid round once more along the line: an ulp a row.
        assert abs(got[k] + expected) <= 30


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"loss_clip": np.inf}, "loss_clip"),
        ({"loss_clip": 0.0}, "loss_clip"),
        ({"step_sizes": np.array([np.nan])}, "step_sizes"),
        ({"offset": np.array([np.nan, 0.0, 0.0])}, "offset"),
        ({"offset": np.zeros(2)}, "offset"),
    ],
)
def test_line_queries_that_make_no_sense_are_refused(arguments, reason):
    problem = make_problem(make_rows(5), RELATIONS[0], Logistic())
    defaults = {
        "problem": problem,
        "w": np.zeros(5),
        "direction": np.ones(5),
        "step_sizes": np.arange(3.0),
        "loss_clip": 1.0,
    }
    with pytest.raises(InvalidInputError, match=reason):
        ClippedLossLine(**{**defaults, **arguments})
