"""Sums of coarse gradients are those of records one by one, however many are taken at a time."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dpcore.plugin import ClippedGradientSum, NeighboringRelation, Problem
from dpcore.plugin.parts import Table, load_registry
from dpcore_a_ddp.record_gradient import RecordGradientSum

CLIP, GRID_BITS = 0.5, 6


@pytest.fixture
def rows():
    """Return 150 rows on the feature grid, more than are taken at a time, with their labels."""
    rng = np.random.default_rng(8)
    X = np.trunc(np.ldexp(rng.uniform(-0.6, 0.6, (150, 4)), 16)) / 2**16
    return X, np.where(rng.random(150) < 0.5, -1.0, 1.0)


def blocks_of(X, y):
    [block] = Table.from_matrix(X, y, row_norm=1.25, raw_norm_bound=1.25).blocks
    return block


@pytest.mark.parametrize("layout", [np.array, csr_matrix])
def test_each_record_is_truncated_by_itself(rows, layout):
    X, y = rows
    loss = load_registry().load("loss", "logistic")()
    problem = Problem(loss, 0.0, 4, 1.25, 1.25, NeighboringRelation.ADD_OR_REMOVE_ONE)
    w = np.array([1.0, -0.5, 0.25, 2.0])
    fine = ClippedGradientSum(problem, w, CLIP)
    total, of_all = [0] * 4, fine.answer_block(blocks_of(X, y))
    for x, label in zip(X, y, strict=True):
        exact = fine.answer_block(blocks_of(x[None], np.array([label])))
        for j, steps in enumerate(exact.tolist()):
            total[j] += int(Fraction(steps, 2 ** (16 + fine.bits - GRID_BITS)))
    coarse = RecordGradientSum(problem, w, CLIP, GRID_BITS)
    assert coarse.answer_block(blocks_of(layout(X), y)).tolist() == total
    # The broken twin: the sum is truncated, which moves by more than the clip of a record.
    assert [int(Fraction(int(t), 2 ** (16 + fine.bits - GRID_BITS))) for t in of_all] != total
