"""Gradients clipped unit by unit: the bound of a unit in integers, layouts, naive twins."""

import math
from dataclasses import replace
from fractions import Fraction

import naive
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dpcore.data.units import ends_of_blocks
from dpcore.errors import DataError, InvalidInputError
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LocalEngine, Logistic, Table
from dpcore.session.unit_sensitivity import sensitivity_of_units
from dpcore_accounting.samples import PoissonSample
from dpcore_baselines.queries import unit_gradient as module
from dpcore_baselines.queries.kept_columns import KeptColumns, KeptColumnsOfUnits
from dpcore_baselines.queries.kernels import add_clipped_units, add_rows_to_units
from dpcore_baselines.queries.moments import ColumnMoments
from dpcore_baselines.queries.standardization import Standardization
from dpcore_baselines.queries.standardized import StandardizedGradientSum
from dpcore_baselines.queries.unit_gradient import UnitGradientSum
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
ROWS = make_rows(90)
UNITS = np.repeat(np.arange(20), [1, 8] * 10)
MAP = Standardization.nearest(
    np.array([1.0, 3.0, 8.0, 1.5, 1.0]), np.array([0.2, -0.7, 0.1, 0.9, 0.0]), 4
)
W = np.array([0.5, -1.0, 0.25, 2.0, -0.5])


def query(relation=ADD, loss=None, clip=0.7):
    problem = make_problem(ROWS, relation, loss or Logistic())
    return UnitGradientSum(replace(problem, n=None, rows_per_unit=8), W, MAP, clip)


def table(X=ROWS.X, units=UNITS, y=ROWS.y):
    bounds = {"row_norm": ROWS.row_norm, "raw_norm_bound": ROWS.raw_norm_bound}
    return Table.from_matrix(X, y, units=units, **bounds)


def answer(asked, kept):
    return LocalEngine(table(ROWS.X[kept], UNITS[kept], ROWS.y[kept])).answer(asked)


@pytest.mark.parametrize("loss", [Logistic(), Squared()])
@pytest.mark.parametrize("clip", [0.01, 0.7, 50.0])
def test_a_unit_moves_the_sum_by_the_clip_at_most_however_many_rows_it_has(loss, clip):
    asked = query(loss=loss, clip=clip)
    stated = sensitivity_of_units(asked, ADD, 8)
    assert stated.bound == clip and sensitivity_of_units(asked, REPLACE, 8).bound == 2 * clip
    whole, largest = answer(asked, UNITS >= 0), 0
    for unit in range(20):
        change = (whole - answer(asked, unit != UNITS)).tolist()
        square = sum(step**2 for step in change)
        assert square <= (Fraction(clip) * 2**stated.grid_bits) ** 2  # in whole numbers
        largest = max(largest, math.sqrt(square) / 2**stated.grid_bits)
    if clip == 0.01:
        assert largest > 0.0099
        # A broken twin, which clips rows and counts units, is found at once.
        rows = [answer(asked, np.arange(90) == i) for i in np.flatnonzero(UNITS == 1)]
        assert np.linalg.norm(np.ldexp(sum(rows), -stated.grid_bits)) > clip


def test_a_sum_that_is_not_clipped_is_that_of_the_rows():
    asked, of_rows = query(clip=100.0), StandardizedGradientSum
    bits = asked.sensitivity(ADD).grid_bits
    rows = of_rows(make_problem(ROWS, ADD, Logistic()), W, MAP, 100.0)
    assert rows.sensitivity(ADD).grid_bits == bits
    change = LocalEngine(table()).answer(asked) - LocalEngine(table()).answer(rows)
    # Ninety coefficients, truncated to 2^-bits with the row's factor in them or not.
    assert np.abs(np.ldexp(change.astype(float), -bits)).max() < 90 * 20 * 2.0**-asked.bits


def test_order_layout_and_pieces_do_not_matter(monkeypatch):
    asked = query()
    whole = LocalEngine(table()).answer(asked)
    assert np.array_equal(LocalEngine(table(csr_matrix(ROWS.X))).answer(asked), whole)
    order = np.random.default_rng(0).permutation(90)
    assert np.array_equal(asked.answer_block(table().blocks[0].take(order)), whole)
    monkeypatch.setattr(module, "_CELLS", 25)  # five rows at a time, and units of eight
    assert np.array_equal(asked.answer_block(table().blocks[0].take(order)), whole)


def test_a_sample_is_of_whole_units():
    stated = sensitivity_of_units(PoissonSample(query(), 0.5), ADD, 8)
    assert stated.bound == 0.7


def test_units_are_needed():
    problem = make_problem(ROWS, ADD, Logistic())
    with pytest.raises(InvalidInputError, match="units of several rows"):
        UnitGradientSum(problem, W, MAP, 1.0)
    with pytest.raises(InvalidInputError, match="rows that have units"):
        LocalEngine(ROWS.table()).answer(query())


def test_a_unit_lies_within_one_block():
    units = np.repeat(np.arange(3000), 3)
    assert ends_of_blocks(units, 9000) == [0, 8190, 9000]
    assert ends_of_blocks(units[:0], 0) == [0]
    X = np.ones((9000, 1))
    made = Table.from_matrix(X, X[:, 0], row_norm=1.0, raw_norm_bound=1.0, units=units)
    assert [block.n_rows for block in made.blocks] == [8190, 810]
    assert np.array_equal(made.units, units)
    with pytest.raises(DataError, match="not side by side"):
        ends_of_blocks(np.array([0, 1, 0]), 3)
    with pytest.raises(DataError, match="more rows than a block"):
        ends_of_blocks(np.zeros(8193, dtype=np.int64), 8193)


def test_rows_are_added_as_the_naive_twin_does():
    rng = np.random.default_rng(1)
    rows, c = rng.normal(size=(30, 4)), rng.normal(size=30)
    units, sums = rng.integers(0, 6, 30), rng.integers(-9, 9, (6, 4))
    expected = naive.rows_added_to_units(rows, c, units, 2.0**20, sums)
    add_rows_to_units(rows, c, units, 2.0**20, sums)
    assert np.array_equal(sums, expected)


def test_clipped_units_are_within_the_limit_in_whole_numbers():
    rng = np.random.default_rng(2)
    edge = np.array(
        [[2**63 - 1, -(2**63), 5], [0, 0, 0], [3, 4, 0], [1, -1, 2**40]], dtype=np.int64
    )
    rest = rng.integers(-(2**62), 2**62, (200, 3)) >> rng.integers(0, 60, (200, 1))
    for limit in (5.0, 4.99, 2.0**40, 1e12 / 3):
        for unit in np.concatenate([edge, rest]):
            total = np.zeros(3, dtype=np.int64)
            add_clipped_units(unit[None, :], limit, total)
            assert sum(int(step) ** 2 for step in total) <= Fraction(limit) ** 2
            if sum(int(step) ** 2 for step in unit) <= Fraction(limit) ** 2 * (
                1 - Fraction(1, 2**40)
            ):
                assert np.array_equal(total, unit)
            near = naive.clipped_units(unit[None, :], limit)
            assert np.abs(total - near).max() <= 1 + 1e-12 * limit


def test_kept_columns_of_units_have_the_sensitivity_of_the_clip_of_a_unit():
    whole = query()
    of_units, of_rows = KeptColumnsOfUnits(whole, (0,)), KeptColumns(whole, (0,))
    stated = sensitivity_of_units(whole, ADD, 8).bound
    assert sensitivity_of_units(of_units, ADD, 8).bound == stated
    assert sensitivity_of_units(of_rows, ADD, 8).bound == 8 * stated  # sound, and eight times more
    with pytest.raises(InvalidInputError, match="clips whole units"):
        KeptColumnsOfUnits(ColumnMoments(whole.problem, 1.0), (0,))
