"""Tables of short rows with a few long ones, rows all alike, later steps and other relations."""

import re
from dataclasses import replace

import leaks_in_shapes as leaks
import numpy as np
import pytest
from leaks_at_sizes import ClassSums, Logistic

from dpcore.plugin import Gaussian, Laplace, NeighboringRelation
from dpcore.plugin.parts import load_registry
from dpcore_lab.checks import check_loss, check_query
from dpcore_lab.checks.memory import assert_alike_in_any_company, assert_alike_in_company
from dpcore_lab.checks.parts import first_and_last
from dpcore_lab.made_tables.sums import LargeTables, compare_sums
from dpcore_lab.made_tables.tables import make_problem, make_rows, some_short
from dpcore_lab.outcomes.additive import audit_additive, audit_bases
from dpcore_lab.outcomes.residuals import assert_noise_is_fresh
from dpcore_lab.outcomes.selections import audit_contenders, audit_selection
from dpcore_lab.outcomes.settings import Setting, open_case
from dpcore_lab.run_sizes.checks import run_checks_like
from dpcore_lab.run_sizes.request import LikeRequest, LikeRun

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
ROWS = some_short(make_rows(200, seed=30))
PROBLEM = make_problem(ROWS, ADD, load_registry().load("loss", "logistic")())
SCHEMA = """
rows = 300
[columns]
age = { kind = "numeric", lower = 17, upper = 90 }
hours = { kind = "numeric", lower = 0, upper = 80 }
city = { kind = "categorical", categories = ["Bern", "Basel"] }
income = { kind = "label", classes = ["no", "yes"] }
"""
ReportNoisyMax = load_registry().load("mechanism", "report-noisy-max")


@pytest.fixture
def request_of_run(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(SCHEMA)
    return LikeRequest(str(path))


def failed(optimizer, request):
    outcomes = run_checks_like(optimizer, "optimizer", request)[1]
    return [f"{outcome.check}: {outcome.reason}" for outcome in outcomes if not outcome.passed]


def test_short_rows_with_a_long_one_behind_them_are_a_table():
    made = LargeTables(ROWS, ADD, 1000, most_tables=12)
    compare_sums(ClassSums(PROBLEM), made)
    with pytest.raises(AssertionError, match="the last 1 of them long, 1 threads the answer is"):
        compare_sums(leaks.LooksAtFirstRows(PROBLEM), made)


def test_rows_of_a_schema_are_short_and_long_as_a_whole(request_of_run):
    (block,) = LikeRun.of(request_of_run).rows.table().blocks
    whole = block.rows()[:, :2]
    assert (whole == 0.0).all(axis=1).any() and (whole == 1.0).all(axis=1).any()


ALONE, BEHIND = "dvalue gives other bits once another of 8,192", "of other labels, all alike"


@pytest.mark.parametrize(
    ("loss", "check", "match"),
    [
        (leaks.DividesByTheLargest(), assert_alike_in_company, ALONE),
        (leaks.WeighsRareLabels(), assert_alike_in_any_company, f"before 8,176 others, {BEHIND}"),
    ],
)
def test_a_slope_that_follows_the_rows_beside_it_is_found(loss, check, match):
    def calls(loss):
        def called(name, z, y):
            out = np.empty(z.shape)
            getattr(loss, name)(z, y, out)
            return out

        return called

    labels = np.resize([1.0, -1.0], 8192)
    check(calls(Logistic()), labels, 2)
    with pytest.raises(AssertionError, match=match):
        check(calls(loss), labels, 2)


def test_a_corner_that_follows_the_residuals_is_seen():
    def called(name, z, y):
        out = np.empty(z.shape)
        getattr(leaks.FollowsTheMedian(), name)(z, y, out)
        return out

    with pytest.raises(AssertionError, match="value gives other bits once another of 8,192"):
        assert_alike_in_company(called, np.random.default_rng(0).uniform(-1, 1, 8192), 0)


@pytest.mark.slow
def test_every_class_is_on_the_wrong_side_of_some_rows():
    class OfEachClass:
        """A logistic loss of each class, with the bound of 16 classes."""

        name = "of-each-class"
        classification = multiclass = convex = True
        lipschitz, smoothness = 4.0, 0.25

        def value(self, z, y, out):
            signs = np.where(np.arange(len(z))[:, None] == y, -1.0, 1.0)
            out[:] = 0.0
            for row in signs * z:
                out += np.maximum(row, 0.0) + np.log1p(np.exp(-np.abs(row)))

        def dvalue(self, z, y, out):
            signs = np.where(np.arange(len(z))[:, None] == y, -1.0, 1.0)
            out[:] = signs * 0.5 * (1.0 + np.tanh(0.5 * signs * z))

    check_loss(OfEachClass(), (16,), 1)
    with pytest.raises(AssertionError, match="exceeds the declared lipschitz"):
        check_loss(OfEachClass(), (20,), 1)


@pytest.mark.parametrize("make", [Laplace, leaks.WholeSteps])
def test_noise_of_whole_steps_is_too_small_on_a_coarse_grid(make):
    setting = Setting(1.93, 1.98, 0, 1, 3000, bound=1.0)
    case = open_case(make, setting, None, np.random.default_rng(0))
    if make is Laplace:
        audit_additive(case, 1.0, 1, 1e-7)
        return
    with pytest.raises(AssertionError, match="further apart than LaplaceDpEvent"):
        audit_additive(case, 1.0, 1, 1e-7)


@pytest.mark.parametrize("make", [Gaussian, leaks.LessNearZero])
def test_noise_that_is_less_next_to_zero_is_too_small(make):
    case = open_case(make, Setting(1.25, 1.25, 40, 4, 300), None, np.random.default_rng(0))
    if make is Gaussian:
        audit_bases(case, 3.0, 1, 1e-7)
        return
    with pytest.raises(AssertionError, match="further apart than GaussianDpEvent"):
        audit_bases(case, 3.0, 1, 1e-7)


def test_noise_that_is_cut_off_is_told_by_its_largest_size():
    setting = Setting(16.0, 16.0, 40, 64, 300)
    case = open_case(leaks.EndsAtThree, setting, None, np.random.default_rng(0))
    residuals = audit_additive(case, 3.0, 1, 1e-7)
    with pytest.raises(AssertionError, match="of the largest size, as another has: it is cut off"):
        assert_noise_is_fresh(residuals, "noise", 1e-7)


@pytest.mark.parametrize("make", [ReportNoisyMax, leaks.AmongTheBest])
def test_candidates_that_never_win_are_seen_by_parts_of_them(make):
    setting = Setting(0.2, 0.3, 40, 300, 600, bound=192.75)
    case = open_case(make, setting, None, np.random.default_rng(0))
    if make is ReportNoisyMax:
        audit_selection(case, 1, 1e-7)
        return
    with pytest.raises(AssertionError, match="no noise, or not for all"):
        audit_selection(case, 1, 1e-7)


@pytest.mark.parametrize("make", [ReportNoisyMax, leaks.OneDeviateForTwo])
def test_two_candidates_far_ahead_of_all_others_are_told_apart_no_better(make):
    setting = Setting(20.0, 20.0, 20, 200, 300)
    case = open_case(make, setting, None, np.random.default_rng(0))
    if make is ReportNoisyMax:
        audit_contenders(case, 1, 1e-7)
        return
    with pytest.raises(AssertionError, match="between two candidates far ahead"):
        audit_contenders(case, 1, 1e-7)


def test_long_rows_alone_are_a_table():
    made = LargeTables(ROWS, ADD, 1000, most_tables=40)
    compare_sums(ClassSums(PROBLEM), made)
    with pytest.raises(AssertionError, match="all of them long, 1 threads the answer is"):
        compare_sums(leaks.ScalesLongTables(PROBLEM), made)


def test_mechanisms_that_differ_in_more_than_their_multiplier_are_two():
    first, same, other = (leaks.LaterLess(m, k) for m, k in ((1.0, 0), (2.0, 0), (1.0, 50)))
    assert first_and_last([first, other, same]) == [first, other]
    assert first_and_last([first, same]) == [first]
    assert first_and_last([first, same, other]) == [first, other]
    assert first_and_last([Laplace(1.0), Laplace(2.0)]) == [Laplace(1.0)]


def test_a_run_has_a_twin_under_each_relation(request_of_run):
    like = LikeRun.of(request_of_run, leaks.Descends())
    assert like.relation is ADD and like.problem.n is None
    (other,) = like.of_other_relations()
    assert other.relation.value == "replace-one" and other.problem.n == 300


@pytest.mark.slow
@pytest.mark.parametrize(
    ("optimizer", "reason"),
    [
        (leaks.QuietsDown(), "mechanism LaterLess .*sensitivities apart|further apart"),
        (leaks.ForgetsReplacement(), "query OfOneRelation under replace-one"),
        (leaks.StopsByTheExact(), "run: .*depends on something that was not released"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_what_an_optimizer_does_later_or_elsewhere_is_found(request_of_run, optimizer, reason):
    found = failed(optimizer, request_of_run)
    assert any(re.search(reason, each) for each in found), found


@pytest.mark.slow
def test_an_honest_descent_passes(request_of_run):
    assert not failed(leaks.Descends(), request_of_run)


@pytest.mark.slow
def test_a_query_for_units_alone_is_checked_with_units():
    told = check_query(leaks.UnitSums)
    assert "units" in told.what and "tables of single rows" in told.not_tested[0]
    with pytest.raises(AssertionError, match="not the sum of what its rows contribute"):
        check_query(leaks.UnitSumsOfFewRows)


def test_units_of_few_rows_are_a_table():
    whose = np.repeat(np.arange(100), np.resize([3, 1, 2], 100))[:200]
    rows = replace(ROWS, units=whose)
    problem = replace(PROBLEM, rows_per_unit=3)
    made = LargeTables(rows, ADD, 400, of_units=True, most_tables=12)
    compare_sums(leaks.UnitSums(problem), made)
    with pytest.raises(AssertionError, match="not the sum of what its rows contribute"):
        compare_sums(leaks.UnitSumsOfFewRows(problem), made)
