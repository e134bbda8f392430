"""Steps beside a search: each released once, within one budget, however many tries there are."""

import pkgutil
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from searches import PURE, X, Y, searched, with_tries

from dpcore import BalancedWeights, Calibration, Evaluation, Intervals, PrivateBounds, load_model
from dpcore.errors import BudgetExceededError, InvalidInputError, OptimizerError
from dpcore.fitting.steps.run import RunSteps
from dpcore.plugin import Gaussian, RowCount
from dpcore.plugin.commands import LedgerRequest
from dpcore.plugin.parts import dataset_from_arrays
from dpcore.plugin.steps import OneRelease, Outcome, Phase, Section, mechanism_for
from dpcore_ledger import TableLedger, Terms
from dpcore_tuning import run
from dpcore_tuning.stopping_cost import left_of

INTERVALS = Intervals(share=Fraction(3, 10), anyway=True)
STEPS = (Evaluation(share=Fraction(1, 10), test_fraction=0.2), INTERVALS)
FEW = [{"l2": 0.001}, {"l2": 0.1}]
L2_SMALL = [{"l2": 0.001}, {"l2": 0.002}]
KINDS = {
    "pure": ({**PURE, "epsilon": 6.0}, {}),
    "poisson": ({**PURE, "epsilon": 6.0}, {"law": "poisson"}),
    "zcdp": ({}, {}),
    "rdp": ({"accountant": "rdp"}, {"law": "logarithmic"}),
    "list": ({}, {"kind": "list"}),
    "list of pure": (PURE, {"kind": "list"}),
    "replace-one": ({"relation": "replace-one"}, {}),
}


def counted(n=400):
    """Return rows whose number is about 400, publicly."""
    return dataset_from_arrays(X[:n], Y[:n], bounds=(0, 1), row_norm=None, n0=400)


def tuned(settings=None, also=STEPS, data=None, held=None, ledger=None, count=None, **asked):
    settings = {"epsilon": 4.0, **(settings or {}), "also": also}
    search = searched(FEW, settings, **asked)
    search = search if count is None else with_tries(search, count)
    request = None if ledger is None else LedgerRequest(ledger.path)
    data, held = data or counted(), held or counted(80)
    return run.tune_dataset(search, data, (), (), None, request, 0.8, held)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["random", "list"])
def test_weights_of_rows_are_of_the_fits_and_stay_beside_released_ones_of_classes(kind):
    # Half of the rows say the contrary, and weigh nothing.
    told = dataset_from_arrays(
        np.concatenate([X, X]), np.concatenate([Y, -Y]), bounds=(0, 1), row_norm=None, n0=800
    )
    weights = np.repeat([1.0, 0.0], len(X))
    given = told.with_weights(weights, 2.0)
    settings = {"epsilon": 200.0, "weight_bound": 2.0, "also": (BalancedWeights(),)}
    model = run.tune_dataset(searched(L2_SMALL, settings, kind=kind), given)
    assert model.weight_bound == 2.0 and len(model.class_weights) == 2
    assert np.mean((model.margins(told.X) > 0) == (told.y > 0)) == 0.5
    assert np.mean((model.margins(counted().X) > 0) == (Y > 0)) > 0.9
    with pytest.raises(InvalidInputError, match="weights of rows beside weight_bound"):
        run.tune_dataset(searched(L2_SMALL, settings, kind=kind), told)


def charges_of(monkeypatch, settings, asked):
    """Return what steps released, what is left for the fits, what these have, and the whole."""
    seen = []
    with monkeypatch.context() as patched:
        patched.setattr(run, "_model", lambda ran, _: seen.append(ran))
        tuned(settings, **asked)
    (ran,) = seen
    whole = ran.search.whole
    released = ran.beside._sessions.ledger.entries
    each, fits = left_of(ran.tries.filter), len(ran.search.plans)
    taken = fits * each if ran.search.distribution is None else each
    return sum(whole.cost(e.event) for e in released), left_of(ran.beside.left), taken, whole


COUNTS_LINE = "dpcore_report.calibration.counted.counts_line"


def test_a_calibration_alters_the_model_that_is_released_and_its_metrics(monkeypatch):
    fitted = pkgutil.resolve_name(COUNTS_LINE)

    def far(*given):
        """Return a line by which every row is of the second class."""
        return replace(fitted(*given), added=1000.0, slope=1.0)

    monkeypatch.setattr(COUNTS_LINE, far)
    for found in (True, False):
        if not found:
            monkeypatch.setattr(run.CandidateFits, "best", lambda self: None)
        model = tuned({"epsilon": 20.0}, also=(STEPS[0], Calibration(0.1)))
        assert model.intercept > 900 and "moved by +1000.00, by noisy counts" in model.status
        assert model.privacy["steps"] == {"calibration": {"share": 0.1}}
        kinds = [entry["kind"] for entry in model.ledger]
        assert kinds == ["search", "calibration", "evaluation"]
        # The evaluation is of that model, which says the second class of every row.
        assert model.evaluation["recall"]["-1"]["value"] < 0.2


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_and_its_steps_are_within_one_budget(kind, monkeypatch):
    settings, asked = KINDS[kind]
    released, left, taken, whole = charges_of(monkeypatch, settings, asked)
    stated = left_of(whole) - left
    assert 0 < released <= stated <= Fraction(4, 10) * left_of(whole)
    assert stated > Fraction(39, 100) * left_of(whole)
    assert taken <= left


def test_fits_that_take_what_steps_were_promised_are_caught(monkeypatch):
    monkeypatch.setattr(RunSteps, "charged", lambda steps, state: state)
    with pytest.raises(BudgetExceededError):
        charges_of(monkeypatch, {}, {"kind": "list"})


def test_what_is_said_does_not_depend_on_the_number_of_tries(tmp_path):
    said = []
    for count in (1, 4):
        ledger = TableLedger.create(tmp_path / f"{count}.ledger", Terms.of(60.0, 1e-4))
        model = tuned(ledger=ledger, count=count)
        (kept,) = ledger.state().runs.values()
        assert (kept.outcome, kept.stated["epsilon"]) == ("finished", 4.0)
        privacy = dict(model.privacy)
        assert privacy.pop("ledger")["run"] == kept.number
        privacy["search"] = {**privacy["search"], "chosen": None}
        said.append((privacy, [entry["count"] for entry in model.ledger]))
        assert Evaluation.of(model).data and Intervals.of(model).lines
        assert model.privacy["evaluation"] == {"share": 0.1}
    assert said[0] == said[1]
    privacy = said[0][0]
    assert privacy["private"] and privacy["spent"] == privacy["budget"]
    assert privacy["accountant"] == "rdp"
    assert privacy["releases"]["search"] == 1 == privacy["releases"]["evaluation"]
    model.save(tmp_path / "model.json")
    assert Intervals.of(load_model(tmp_path / "model.json")).lines == Intervals.of(model).lines


@pytest.mark.parametrize("kind", ["random", "list"])
def test_bounds_and_weights_are_released_once_for_all_fits(kind):
    waiting = dataset_from_arrays(100 * X, Y, private_bounds=True, row_norm=None)
    held = waiting.take(np.arange(400) < 80)
    also = (PrivateBounds(), BalancedWeights(largest=4.0), STEPS[0])
    model = tuned({"epsilon": 30.0}, also, waiting, held, kind=kind)
    assert model.privacy["releases"] == {"search": 1, "bounds": 1, "histogram": 1, "evaluation": 1}
    assert not model.schema.unbounded
    assert all(column.upper > 30 for column in model.schema.features)
    assert len(model.class_weights) == 2 and max(model.class_weights.values()) <= 4.0
    assert {"share", "columns"} <= model.privacy["private_bounds"].keys()
    found = np.mean(model.predict(100 * X) == np.where(Y > 0, 1, -1))
    assert found > 0.7


def test_where_no_try_came_to_a_model_the_steps_are_of_the_constant():
    model = tuned(count=0)
    assert not model.w.any() and "public constant" in model.status
    assert model.privacy["search"]["chosen"] is None
    value = Evaluation.of(model).data["accuracy"]["value"]
    assert value is None or 0 <= value <= 1  # Noise may swallow it.
    assert model.privacy["releases"]["evaluation"] == 1


@dataclass(frozen=True)
class CountOfRows:
    name: ClassVar[str] = "count-of-rows"
    phase: ClassVar[Phase] = Phase.RESULT
    fails: bool = False

    def check(self, facts):
        mechanism = mechanism_for(facts.accountant, Fraction(1, 10))
        return OneRelease(Fraction(1, 10), RowCount("l2"), mechanism, self._counted)

    def _counted(self, view, answer, deviation):
        if self.fails:
            raise RuntimeError(f"{answer} is private")
        return Outcome(Section({"rows": float(answer[0])}))


def test_a_step_of_somebody_is_named_and_its_section_kept(tmp_path):
    model = tuned(also=(CountOfRows(),))
    assert abs(Section.of(model, "count-of-rows").data["rows"] - 320) < 100
    assert any("CountOfRows" in part for part in model.privacy["parts_not_from_dpcore"])
    assert model.privacy["steps"] == {"count-of-rows": {"share": 0.1}}
    assert "provided that" in model.privacy["sentence"]


def test_a_step_that_fails_leaves_the_search_charged_and_says_nothing_of_rows(tmp_path):
    ledger = TableLedger.create(tmp_path / "table.ledger", Terms.of(60.0, 1e-4))
    with pytest.raises(OptimizerError, match="count-of-rows failed: RuntimeError") as caught:
        tuned(also=(CountOfRows(fails=True),), ledger=ledger)
    assert "private" not in str(caught.value).partition("failed")[2]
    (kept,) = ledger.state().runs.values()
    assert kept.outcome == "ended by OptimizerError"
    assert ledger.state().spent(0).spent > 0


@dataclass(frozen=True, eq=False)
class Later(OneRelease):
    """A release that is dearer after the price of the fits was fixed."""

    reads: ClassVar[list[int]] = []

    @property
    def releases(self):
        self.reads.append(1)
        dear = len(self.reads) > 2 * len(FEW)
        return ((self.query, Gaussian(self.mechanism.noise_multiplier / (8 if dear else 1))),)


@dataclass(frozen=True)
class Understated:
    name: ClassVar[str] = "understated"
    phase: Phase = Phase.RESULT

    def check(self, facts):
        mechanism = mechanism_for(facts.accountant, Fraction(1, 100))
        return Later(Fraction(9, 10), RowCount("l2"), mechanism, lambda *_: Outcome(Section({})))


@pytest.mark.parametrize("phase", [Phase.PROBLEM, Phase.RESULT])
@pytest.mark.parametrize("kind", ["random", "list"])
def test_a_request_that_becomes_dearer_later_is_refused_by_the_filter(phase, kind):
    Later.reads.clear()
    with pytest.raises(BudgetExceededError):
        tuned({}, (Understated(phase),), kind=kind)


@dataclass(frozen=True)
class DearToTheFirst:
    """A count before the fits that has less noise where l2 is that of the first candidate."""

    name: ClassVar[str] = "dear-to-the-first"
    phase: ClassVar[Phase] = Phase.PROBLEM

    def check(self, facts):
        share = Fraction(3, 10) if facts.problem.l2 == FEW[0]["l2"] else Fraction(1, 100)
        mechanism = mechanism_for(facts.accountant, share)
        follow = lambda view, answer, deviation: Outcome(Section({}))  # noqa: E731
        return OneRelease(share, RowCount("l2"), mechanism, follow)


def test_what_is_released_before_the_fits_is_charged_whichever_candidate_is_chosen(monkeypatch):
    seen = []
    monkeypatch.setattr(run, "_model", lambda ran, _: seen.append(ran))
    tuned({}, (DearToTheFirst(), CountOfRows()), kind="list")
    (ran,) = seen
    spent = left_of(ran.search.whole) - left_of(ran.beside.left)
    assert spent > Fraction(39, 100) * left_of(ran.search.whole)
    for steps in (one.steps.checked for one in ran.beside._of_each):
        assert sum(step.share for step in steps) == Fraction(4, 10)
