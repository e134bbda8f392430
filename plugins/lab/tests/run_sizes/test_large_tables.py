"""Large tables, much noise and calls one after the other, each with a part that breaks there."""

from dataclasses import replace

import leaks_at_sizes as leaks
import numpy as np
import pytest

from dpcore.plugin import Gaussian, NeighboringRelation
from dpcore.plugin.parts import (
    ComposedDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PureDpEvent,
    RenyiDpEvent,
    ZcdpDpEvent,
    load_registry,
)
from dpcore_lab.checks.memory import assert_no_memory
from dpcore_lab.made_tables.large_neighbours import compare_large_neighbours
from dpcore_lab.made_tables.sums import LargeTables, compare_sums
from dpcore_lab.made_tables.tables import make_problem, make_rows
from dpcore_lab.outcomes.additive import audit_far
from dpcore_lab.outcomes.far import of_group
from dpcore_lab.outcomes.settings import Setting, open_case

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
ROWS = make_rows(200, seed=30)
PROBLEM = make_problem(ROWS, ADD, load_registry().load("loss", "logistic")())


def made(n, **others):
    return LargeTables(ROWS, ADD, n, most_tables=12, **others)


def test_a_sum_over_large_tables_is_compared_with_the_parts_of_its_rows():
    found = compare_sums(leaks.ClassSums(PROBLEM), made(2 * 8192 + 5))
    assert (found.parts, found.tables, found.blocks) == (200, 12, 3)
    assert 0.5 < found.share <= 1
    assert 0 < found.rare < 12
    with pytest.raises(AssertionError, match="TrimsLongRows: over a table of 1,200 rows"):
        compare_sums(leaks.TrimsLongRows(PROBLEM), made(1200))


def test_units_that_there_is_no_time_for_are_left_out():
    rows = replace(make_rows(700, seed=31), units=np.arange(700))

    class OfUnits(leaks.ClassSums):
        clips_units = True

    hurried = LargeTables(rows, ADD, 700, of_units=True, most_tables=3, seconds=(0.0, 60.0))
    found = compare_sums(OfUnits(PROBLEM), hurried)
    assert found.of_units and found.parts == 256


def test_a_row_beyond_the_bound_is_found():
    class Twice(leaks.ClassSums):
        def answer_block(self, block):
            return 2 * super().answer_block(block)

    with pytest.raises(AssertionError, match="moved by more than the declared l2"):
        compare_sums(Twice(PROBLEM), made(20))


def test_an_answer_that_is_no_sum_is_compared_on_large_neighbours():
    told = compare_large_neighbours(lambda n: leaks.BatchMeans(PROBLEM), made(200))
    assert "to 200 rows, at most " in told
    with pytest.raises(AssertionError, match="an exact answer moved"):
        compare_large_neighbours(lambda n: leaks.BatchMeans(PROBLEM), made(257))


def test_a_rare_class_is_among_the_first_tables_that_there_is_time_for():
    few = LargeTables(ROWS, ADD, 1000, most_tables=2)
    with pytest.raises(AssertionError, match="an exact answer moved .* by [0-9.]+ of it"):
        compare_large_neighbours(lambda n: leaks.ClassMeans(PROBLEM), few)


@pytest.mark.parametrize(
    ("event", "apart"),
    [
        (GaussianDpEvent(8.0), GaussianDpEvent(2.0)),
        (LaplaceDpEvent(8.0), LaplaceDpEvent(2.0)),
        (PureDpEvent(0.5), PureDpEvent(2.0)),
        (ZcdpDpEvent(0.5), ZcdpDpEvent(8.0)),
        (RenyiDpEvent((2.0,), (0.5,)), ComposedDpEvent((RenyiDpEvent((2.0,), (0.5,)),) * 4)),
    ],
)
def test_what_is_allowed_four_sensitivities_apart(event, apart):
    assert of_group(event, 4) == apart


@pytest.mark.parametrize("make", [Gaussian, leaks.CapsNoise])
def test_noise_that_is_capped_shows_far_from_an_answer_alone(make):
    setting = Setting(500.0, 500.0, 30, 2, 300)
    case = open_case(make, setting, None, np.random.default_rng(0))
    if make is Gaussian:
        audit_far(case, 3.0, 1, 1e-7)
        return
    with pytest.raises(AssertionError, match="250 sensitivities apart"):
        audit_far(case, 3.0, 1, 1e-7)


@pytest.mark.parametrize("loss", [leaks.Logistic(), leaks.FollowsItsSlopes()])
def test_a_loss_that_keeps_its_slopes_is_found(loss):
    leaks.FollowsItsSlopes.last.clear()
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=600), np.where(rng.random(600) < 0.5, -1.0, 1.0)

    def called(name, margins, labels):
        out = np.empty(margins.size)
        getattr(loss, name)(margins, labels, out)
        return out

    if type(loss) is not leaks.FollowsItsSlopes:
        assert_no_memory(called, z, y, 60, thread_safe=True)
        return
    with pytest.raises(AssertionError, match="the loss keeps something between calls"):
        assert_no_memory(called, z, y, 60, thread_safe=True)
