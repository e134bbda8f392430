"""The expected utility of ``auto``: what its curve knows, and what it does not."""

import dataclasses

import pytest

from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import GdpAccountant, Logistic, PureAccountant
from dpcore_accounting.single import SingleReleaseAccountant
from dpcore_baselines.auto import Auto
from dpcore_baselines.descent.defaults import TELLING
from dpcore_baselines.losses.quantile import Quantile

GDP = GdpAccountant.from_budget(1.0, 1e-6)
MU = GDP.budget**0.5
PROBLEM = Problem(
    loss=Logistic(),
    l2=0.0,
    n_features=30,
    row_norm=1.0,
    raw_norm_bound=1.0,
    relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
    n0=3000,
)
SQUARES = dataclasses.replace(PROBLEM, loss=Squared())


def expect(problem=PROBLEM, accountant=GDP, **changes):
    return Auto.expected_utility(dataclasses.replace(problem, **changes), accountant)


@pytest.mark.parametrize("problem", [PROBLEM, SQUARES], ids=["classes", "squares"])
def test_the_rows_needed_are_those_that_keep_a_tenth(problem):
    needed = expect(problem, n_features=100 if problem is PROBLEM else 30).rows_needed
    wide = {"n_features": 100 if problem is PROBLEM else 30}
    assert expect(problem, n0=needed, **wide).kept == pytest.approx(0.1, abs=0.01)
    assert expect(problem, n0=needed // 4, **wide).kept < 0.05
    assert expect(problem, n0=100 * needed, **wide).kept > 0.99


def test_without_a_public_number_of_rows_the_rows_needed_are_the_same():
    private = expect(n0=None)
    assert private.kept is None
    assert private.rows_needed == expect(n0=10).rows_needed == expect(n0=10**6).rows_needed


def test_neighbours_that_differ_in_more_rows_need_so_many_times_the_rows():
    one = expect().rows_needed
    replaced = expect(relation=NeighboringRelation.REPLACE_ONE).rows_needed
    assert replaced == pytest.approx(2 * one, abs=2)
    assert expect(rows_per_unit=5).rows_needed == pytest.approx(5 * one, abs=5)


def test_nothing_is_kept_where_the_commoner_class_cannot_be_told():
    few = int(TELLING / MU)
    assert expect(n0=few, n_features=2).kept == 0 < expect(n0=few + 1, n_features=2).kept


def test_columns_that_the_moments_leave_out_do_not_count():
    assert expect(n_features=2**14) == expect(n_features=128) != expect(n_features=64)


def test_hats_beside_numbers_do_not_count():
    assert (
        expect(n_features=46, curves=((1, 8), (10, 8)))
        == expect(n_features=30)
        != expect(n_features=46)
    )


@pytest.mark.parametrize(
    "asked",
    [
        {"loss": Quantile()},
        {"accountant": PureAccountant.from_budget(1.0, 0.0)},
        {"accountant": SingleReleaseAccountant.from_budget(1.0, 1e-6)},
        {"loss": Squared(), "n_features": 65},
    ],
    ids=["loss", "pure", "single", "wide squares"],
)
def test_no_curve_no_utility(asked):
    assert expect(**asked) is None


def test_what_nine_of_ten_tables_kept_is_around_the_middle_of_them():
    for n0 in (1, 100, 3000, 10**5, 10**9):
        utility = expect(SQUARES, n0=n0)
        low, high = utility.between
        assert 0 <= low <= utility.kept <= high <= 1
    assert expect(SQUARES, n0=None).between is None and expect().between is None
