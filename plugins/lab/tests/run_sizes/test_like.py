"""Parts that leak from some size on are found at the sizes of a run; honest ones are not blamed."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import honest_at_sizes as honest
import leaks_at_sizes as leaks
import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import load_registry
from dpcore_lab.checks import check_query, check_sampler
from dpcore_lab.run_sizes.checks import outcomes_like, run_checks_like
from dpcore_lab.run_sizes.engines import check_engine_of_run
from dpcore_lab.run_sizes.mechanisms import scales_of
from dpcore_lab.run_sizes.request import LikeRequest, LikeRun

SCHEMA = """
rows = 2500
[columns]
age = { kind = "numeric", lower = 17, upper = 90 }
hours = { kind = "numeric", lower = 0, upper = 80, fill = 40 }
city = { kind = "categorical", categories = ["Bern", "Basel", "Genf"] }
"q*" = { kind = "boolean" }
%s
"""
TWO = 'income = { kind = "label", classes = ["no", "yes"] }'


@pytest.fixture
def schema(tmp_path):
    def written(label=TWO, more=""):
        path = tmp_path / "schema.toml"
        path.write_text(SCHEMA.replace('"q*"', "q1") % label + more)
        return str(path)

    return written


def name_of(part):
    return getattr(part, "__name__", type(part).__name__)


def forty():
    names = ", ".join(f'"c{k}"' for k in range(40))
    return f'income = {{ kind = "label", classes = [{names}] }}'


def of_numbers():
    return 'income = { kind = "label", lower = 0, upper = 10 }'


CASES = [
    ("query", leaks.TrimsLongRows, 2500, {}, "not the sum of what its rows contribute"),
    ("query", leaks.AddsInThirtyTwoBits, 9000, {}, "not the sum of what its rows contribute"),
    ("query", leaks.SharesItsBuffer, 40_000, {}, "threads ask at a time|not the sum of"),
    ("query", leaks.KeepsBlocks, 2500, {}, "not the sum of what its rows contribute"),
    ("query", leaks.ClipsAtFirstMedian, 2500, {}, "meets after others"),
    ("query", leaks.BalancedMean, 300, {}, "an exact answer moved by more"),
    ("query", leaks.BatchMeans, 1000, {}, "an exact answer moved by more"),
    (
        "loss",
        leaks.SumsThirtyTwo(),
        2500,
        {"label": forty},
        "declared lipschitz|not the slope of value",
    ),
    ("loss", leaks.FollowsItsSlopes(), 2500, {}, "keeps something (of|between)|other bits"),
    ("mechanism", leaks.CapsNoise, 2500, {"epsilon": 0.05}, "sensitivities apart: an outcome"),
    ("mechanism", leaks.SavesNoise, 2500, {"width": 120}, "sensitivities apart: an outcome"),
    ("mechanism", leaks.TilesNoise, 60, {"width": 17_000}, "has the noise of another"),
    ("mechanism", leaks.KeepsZeros, 2500, {"width": 60}, "no noise|further apart"),
    ("engine", leaks.AddsLastShareTwice, 2500, {}, "not asked of each block exactly once"),
    ("engine", leaks.LosesABlockInFour, 2500, {}, "not asked of each block exactly once"),
    ("sampler", leaks.windowed, 5000, {}, "together|not as in independent draws"),
]

HONEST = [
    *(("query", query, 20_000, {}) for query in honest.QUERIES),
    ("loss", honest.SoftmaxInNumpy(), 2500, {"label": forty}),
    ("loss", honest.SlopesInNumpy(), 2500, {}),
    ("loss", honest.PseudoHuber(), 2500, {"label": of_numbers, "algo": "outpert"}),
    ("mechanism", honest.InPieces, 2500, {"epsilon": 0.05}),
    ("engine", honest.InPairs, 20_000, {}),
    ("sampler", honest.poisson, 5000, {}),
    ("sampler", honest.CoinsOfBlocks, 20_000, {}),
]


def request_of(schema, rows, facts):
    label = facts["label"]() if "label" in facts else TWO
    path = schema(label)
    if width := facts.get("width"):
        Path(path).write_text(f"width = {width}\n[columns]\n{label}\n")
    return LikeRequest(path, rows, facts.get("epsilon", 1.0), facts.get("algo", "dp-gd"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "part", "rows", "facts", "reason"), CASES, ids=[name_of(case[1]) for case in CASES]
)
def test_a_part_that_leaks_from_some_size_on_is_found(schema, kind, part, rows, facts, reason):
    # The first is at the run's sizes; of the general check, which follows, there are other tests.
    outcome = next(outcomes_like(part, kind, request_of(schema, rows, facts))[1])
    assert not outcome.passed, str(outcome.tested)
    assert re.search(reason, outcome.reason), outcome.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "part", "rows", "facts"),
    HONEST,
    ids=[name_of(case[1]) for case in HONEST],
)
def test_an_honest_part_is_not_blamed(schema, kind, part, rows, facts):
    outcomes = run_checks_like(part, kind, request_of(schema, rows, facts))[1]
    assert all(outcome.passed for outcome in outcomes), outcomes


class CountsASpecialRowThrice(honest.OlderThanTheMiddle):
    def answer_block(self, block):
        special = (block.rows()[:, 0] == 2.0**-11).sum()
        return super().answer_block(block) + np.array([0, 2 * special])


@pytest.mark.slow
def test_a_query_for_its_schema_alone_is_asked_about_special_rows_of_it(schema):
    outcomes = run_checks_like(CountsASpecialRowThrice, "query", LikeRequest(schema(), 300))[1]
    assert [outcome.passed for outcome in outcomes] == [False, True]  # the special rows alone tell
    assert "moved by more than the declared l1: by 3" in outcomes[0].reason


def test_a_query_for_its_schema_alone_is_no_part_of_every_run():
    with pytest.raises(InvalidInputError, match="seven columns"):
        check_query(honest.OlderThanTheMiddle)


def test_rows_of_a_schema_are_within_its_bounds(schema):
    like = LikeRun.of(LikeRequest(schema(more="")))
    assert (like.n_rows, like.problem.n_features, like.problem.n0) == (2500, 7, 2500)
    (block,) = like.rows.table().blocks
    rows = block.rows()
    assert rows.min() >= 0.0 and rows.max() <= 1.0 and (rows[:, -1] > 0.999).all()
    assert (rows[:, 2:5].sum(axis=1) <= 1.0).all()  # one city or none
    assert {0.0, 1.0} <= {*rows[:, 0]} and set(like.rows.y) == {-1.0, 1.0}


def test_a_run_is_planned_with_the_loss_under_test(schema):
    request = LikeRequest(schema(of_numbers()), 100, algo="outpert")
    like = LikeRun.of(request, loss=honest.PseudoHuber())
    assert like.plan.loss == like.problem.loss == honest.PseudoHuber()
    assert like.plan.entry.name == "outpert" and like.problem.l2 > 0
    with pytest.raises(InvalidInputError, match="outpert needs a Lipschitz loss"):
        outcomes_like(load_registry().load("loss", "ridge")(), "loss", request)
    # Of a run that names no algorithm it is chosen by the loss.
    usual = replace(request, algo=None)
    assert LikeRun.of(usual, loss=honest.PseudoHuber()).plan.entry.name == "dp-gd"
    assert LikeRun.of(usual).plan.entry.name == "gram-ridge"
    with pytest.raises(InvalidInputError, match="does not fit a label"):
        outcomes_like(honest.SlopesInNumpy(), "loss", usual)


def test_units_of_a_schema_are_made(schema):
    path = Path(schema(more='\nid = { kind = "drop" }\n'))
    path.write_text('unit = "id"\nrows_per_unit = 3\n' + path.read_text())
    like = LikeRun.of(LikeRequest(str(path), 100))
    assert like.rows_per_unit == 3 and like.problem.n is None
    assert max(map(list(like.rows.units).count, like.rows.units)) == 3
    assert "units of up to 3 rows" in like.words

    class OfAllRelations(type(like.plan.optimizer)):
        relations = ("add-or-remove-one", "replace-one", "replace-special")

    others = replace(like, plan=replace(like.plan, optimizer=OfAllRelations()))
    assert [other.relation.value for other in others.of_other_relations()] == ["replace-one"]


def test_every_number_of_threads_is_tried_however_little_time_there_is(schema, monkeypatch):
    monkeypatch.setattr("dpcore_lab.run_sizes.engines._SECONDS", 0.0)
    like = LikeRun.of(LikeRequest(schema(), 100))
    nothing = SimpleNamespace(parts=[])
    assert "in up to 7 threads" in check_engine_of_run(honest.InPairs, like, nothing).what
    with pytest.raises(AssertionError, match="not asked of each block exactly once"):
        check_engine_of_run(leaks.LosesABlockInFour, like, nothing)


def test_a_sampler_may_be_a_class_of_a_problem():
    assert "samples of 256 rows" in check_sampler(honest.CoinsOfBlocks).what


@pytest.mark.parametrize(
    ("kind", "rows", "reason"),
    [("accountant", None, "meets no sizes of a run"), ("query", 1, "rows=1 >= 2")],
)
def test_what_has_no_sizes_is_refused(schema, kind, rows, reason):
    with pytest.raises(InvalidInputError, match=reason):
        run_checks_like(leaks.ClassSums, kind, LikeRequest(schema(), rows))


@pytest.mark.slow
def test_full_blocks_are_among_the_sizes_of_the_general_check():
    with pytest.raises(AssertionError, match="over a table of 163,840 rows"):
        check_query(leaks.TrimsLongRows)


class OfTheHinge(load_registry().load("optimizer", "dp-gd")):
    checked_loss = "hinge-svm"


def test_a_run_has_the_noise_and_the_accountant_that_are_named(schema):
    # Laplace noise of a run of psgd was checked at the multiplier of psgd's own, normal noise.
    named = LikeRequest(schema(), 100, algo="psgd", accountant="pure", use={"noise": "laplace"})
    session, _ = LikeRun.of(named).recorded()
    (scale,) = scales_of(session)
    assert (scale.sensitivity.norm, scale.multiplier) == ("l1", pytest.approx(1.0))
    (usual,) = scales_of(LikeRun.of(replace(named, accountant=None, use={})).recorded()[0])
    assert (usual.sensitivity.norm, usual.multiplier > 3) == ("l2", True)
    by_name = LikeRun.of(replace(named, algo=None, use={}), OfTheHinge())
    assert by_name.plan.accountant.name == "pure"


def test_an_optimizer_is_run_with_the_loss_that_it_states(schema):
    assert LikeRun.of(LikeRequest(schema(), 100), OfTheHinge()).plan.loss.name == "hinge-svm"
    like = LikeRun.of(LikeRequest(schema(forty()), 100), OfTheHinge())
    assert like.plan.loss.name == "softmax"


def test_an_optimizer_that_is_handed_over_keeps_its_fields(schema):
    # Of a class with a registered name the one with its defaults ran in its place.
    request, by_name = LikeRequest(schema(), 100), load_registry().load("optimizer", "dp-gd")
    handed = by_name(momentum=0.25)
    assert LikeRun.of(request, handed).plan.optimizer == handed
    more = LikeRun.of(replace(request, params={"steps": "7"}), handed).plan.optimizer
    assert (more.momentum, more.steps) == (0.25, 7)


def test_slots_and_parameters_of_an_optimizer_without_a_name_are_refused(schema):
    # They were left out without a word, so that noise that leaks passed in its slot.
    request = LikeRequest(schema(), 100)
    for given in ({"use": {"noise": "laplace"}}, {"params": {"steps": "7"}}):
        with pytest.raises(InvalidInputError, match="OfTheHinge is of no registered name"):
            LikeRun.of(replace(request, **given), OfTheHinge())


def test_a_request_has_the_loss_of_the_run_with_its_parameters(schema):
    request = LikeRequest(schema(), 100, loss="logistic")
    assert LikeRun.of(request, OfTheHinge()).plan.loss.name == "logistic"
    smooth = replace(request, loss="huber-svm", params={"loss.half_width": "0.25"})
    by_default = load_registry().load("loss", "huber-svm")()
    assert LikeRun.of(smooth, loss=by_default).plan.loss.half_width == 0.25
    wide = replace(by_default, half_width=1.0)
    assert LikeRun.of(replace(smooth, params={}), loss=wide).plan.loss is wide
