"""No part that leaks passes the check of its kind; honest parts do."""

import numpy as np
import pytest
from honest import Honest
from leaks import datasets, engines, losses, queries, stashes

from dpcore.errors import InvalidInputError
from dpcore.losses.squared import Squared
from dpcore.plugin import ClippedGradientSum
from dpcore.plugin.parts import LocalEngine, Logistic
from dpcore_accounting.samples import PoissonSample
from dpcore_lab.checks import (
    check_dataset,
    check_engine,
    check_loss,
    check_outputs_released,
    check_query,
    check_sensitivity_on_neighbours,
    parametrize_with_checks,
    run_checks,
)
from dpcore_lab.checks.kinds import kind_of


@pytest.fixture(autouse=True)
def nothing_kept():
    stashes.KEPT.clear()
    stashes.KeepsInClass.last = None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cheat", "reason"),
    [
        (stashes.BringsGlobal(steps=6), "more than the released values"),
        (stashes.BringsFirstGlobal(steps=6), "more than the released values"),
        (stashes.BringsClass(steps=6), "more than the released values"),
        (stashes.BringsClosure(steps=6), "more than the released values"),
        (stashes.StartsKeeping(steps=6), "more than the released values"),
        (stashes.AsksWriter(steps=6), "writes to 'answers.bin'"),
        (stashes.TellsInLongArray(steps=6), "status or details depend on more"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_an_answer_that_is_kept_outside_the_session_is_caught(cheat, reason):
    with pytest.raises(AssertionError, match=reason):
        check_outputs_released(cheat)
    # The run was in another process: nothing of it is kept here.
    assert not stashes.KEPT and stashes.KeepsInClass.last is None


def test_a_twin_that_keeps_nothing_passes():
    check_outputs_released(stashes.Brings(steps=6))


W = np.array([0.3, -0.1, 0.2, 0.0, 0.1])


def eigenvalue(place, share):
    return lambda problem: queries.Eigenvalue(problem, place, share)


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 2, 4])
def test_half_the_bound_of_an_eigenvalue_is_found(place):
    assert "a search of 200 pairs" in check_query(eigenvalue(place, 1.0)).power
    with pytest.raises(AssertionError, match="Eigenvalue under .*: an exact answer moved"):
        check_query(eigenvalue(place, 0.5))


def test_half_the_bound_of_an_optimizers_own_answer_is_found():
    told = check_sensitivity_on_neighbours(queries.AsksEigenvalue(share=1.0, steps=4))
    assert "60 more of Eigenvalue" in told.what
    with pytest.raises(AssertionError, match="Eigenvalue under .*: an exact answer moved"):
        check_sensitivity_on_neighbours(queries.AsksEigenvalue(steps=4))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda p: queries.CountsAHundredTimes(p, W, 0.5), "moved by more than the declared l2"),
        (queries.MeanOfTable, "MeanOfTable under .*: an exact answer moved"),
        (lambda p: queries.LongerOnSomeRows(p, W, 0.5), "a defect of the query"),
        (lambda p: stashes.WritesFile(p, W, 0.5), "writes to 'answers.bin'"),
        pytest.param(
            lambda p: stashes.SwallowsRefusal(p, W, 0.5),
            "writes to 'answers.bin'",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["special value", "mean", "shape", "file", "file, swallowed"],
)
def test_a_query_that_leaks_is_caught(make, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for what it writes before it is asked apart
    with pytest.raises(AssertionError, match=reason):
        check_query(make)


@pytest.mark.parametrize(
    ("loss", "reason"),
    [
        (losses.SteepFarOut(), "exceeds the declared lipschitz"),
        (losses.SteepUnsaid(), "not the slope of value|faster than the declared lipschitz"),
        (losses.JumpsFarOut(), "faster than the declared smoothness"),
        (losses.SteepAtOtherLevels(), "With {'tau': .*exceeds the declared lipschitz"),
        (losses.SmoothAtHalf(), "With .*'half_width': .*steeper than the declared smoothness"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_a_slope_that_exceeds_its_bound_somewhere_is_caught(loss, reason):
    with pytest.raises(AssertionError, match=reason):
        check_loss(loss)


@pytest.mark.slow
def test_data_sets_whose_facts_follow_from_rows_are_caught(tmp_path):
    datasets.write(tmp_path)
    told = check_dataset(datasets.Honest(tmp_path))
    assert "in another order, a few of them, one of them" in told.what
    for loader, fact in ((datasets.BoundsFromRows, "row_norm"), (datasets.CountFromRows, "n0")):
        with pytest.raises(AssertionError, match=f"facts change where .*{fact}"):
            check_dataset(loader(tmp_path))
    with pytest.raises(AssertionError, match="Loaded again, in another process, it has other rows"):
        check_dataset(datasets.RowsFromChance(tmp_path))


@pytest.mark.parametrize(
    ("engine", "reason"),
    [
        (engines.SkipsLastBlock, "each block exactly once"),
        (engines.StartsPerThread, "start.. plus the blocks"),
        (engines.KeepsAnswers, "each block exactly once|start.. plus the blocks"),
        (engines.AddsFloats, "start.. plus the blocks"),
        (engines.DropsErrors, "is not raised"),
        (engines.AsksAtOnce, "two threads at a time"),
        (engines.RoundsParts, "not int64 of the shape of start.. is added up"),
        (engines.SkipsZeroBlocks, "each block exactly once"),
        (engines.TiresOfQuestions, "After 200 other questions"),
        (engines.HalvesLargeAnswers, "start.. plus the blocks"),
    ],
)
def test_an_engine_that_adds_up_otherwise_is_caught(engine, reason):
    with pytest.raises(AssertionError, match=reason):
        check_engine(engine)


def test_an_engine_may_leave_the_refusal_of_floats_to_the_session():
    check_engine(engines.AddsAnything)


@parametrize_with_checks([LocalEngine])
def test_the_engine_of_one_process_passes(engine, check):
    assert check is check_engine and "without_rows and answer_table" in check(engine).what


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (Honest(), "optimizer"),
        (Logistic, "loss"),
        (Squared(), "loss"),
        (LocalEngine, "engine"),
        (ClippedGradientSum, "query"),
        (queries.Eigenvalue, "query"),
        (eigenvalue(0, 1.0), "query"),
        (datasets.write, "query"),
        (lambda p: PoissonSample(ClippedGradientSum(p, W, 1.0), 0.5), "sampler"),
        (lambda p: 1 / 0, "query"),
        (lambda: None, "dataset"),
    ],
)
def test_the_kind_of_a_part_is_found(part, kind):
    assert kind_of(part) == kind


def test_what_is_of_no_kind_is_refused():
    with pytest.raises(InvalidInputError, match="ndarray has the methods of no kind"):
        kind_of(W)


@pytest.mark.parametrize("part", [ClippedGradientSum, queries.Eigenvalue(None)])
def test_a_query_is_to_be_made_from_a_problem(part):
    with pytest.raises(InvalidInputError, match="a function of a problem that returns the query"):
        run_checks(part)


def test_a_part_of_any_kind_that_writes_a_file_is_caught(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (outcome,) = run_checks(losses.WritesMargins())
    assert not outcome.passed and "writes to 'margins.npy'" in outcome.reason
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_checks_of_any_kind_are_run():
    (outcome,) = run_checks(engines.SkipsLastBlock)
    assert (outcome.check, outcome.passed) == ("check_engine", False)
    (outcome,) = run_checks(lambda p: queries.Eigenvalue(p), "query")
    assert outcome.passed and "Eigenvalue" in outcome.tested.what
