"""Searches end to end: what is charged, what is said, what is hidden, and what is refused."""

import json
import logging
import warnings
from dataclasses import fields, replace
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from searches import L2, PURE, rows, searched, with_tries

from dpcore import load_model
from dpcore.errors import BudgetExceededError, OptimizerError
from dpcore.fitting.run_state import RunState
from dpcore.plugin import Solution
from dpcore.plugin.commands import LedgerRequest, Run
from dpcore.plugin.parts import ChargeLog, NoiseSource, PureAccountant
from dpcore.session.charges import Charges
from dpcore_ledger import TableLedger, Terms
from dpcore_ledger.verify import verified
from dpcore_tuning import candidate_fits, run
from dpcore_tuning.beside import Beside, Sides
from dpcore_tuning.held_out import HeldOut
from dpcore_tuning.scores import HeldOutLosses
from dpcore_tuning.stopping_distributions import Poisson


def with_fits(monkeypatch, fit):
    """Have ``fit(run, fitted)`` make the model of each try, as ``fitted()`` does."""

    class Made(Run):
        def model(self, lines=False):
            return fit(self, super().model)

    monkeypatch.setattr(candidate_fits, "Run", Made)


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({}, {}),
        ({"accountant": "rdp"}, {"law": "logarithmic"}),
        (PURE, {"law": "poisson"}),
        ({"relation": "replace-one"}, {"kind": "list"}),
        (PURE, {"kind": "list"}),
    ],
)
def test_a_search_ends_in_a_model_of_one_release(settings, asked, tmp_path):
    candidates = [{"l2": 0.001}, {"l2": 0.1}]
    search = searched(candidates, settings, **asked)
    model = run.tune_dataset(search, rows())
    privacy = model.privacy
    assert privacy["private"]
    assert (privacy["epsilon"], privacy["budget"], privacy["spent"]) == (2.0, 2.0, 2.0)
    assert privacy["delta"] == (0.0 if settings.get("accountant") == "pure" else 1e-6)
    assert privacy["releases"] == {"search": 1}
    assert [entry["kind"] for entry in model.ledger] == ["search"]
    assert privacy["search"]["candidates"] == candidates
    assert "guarantee is for" in privacy["sentence"]
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").privacy == json.loads(json.dumps(dict(privacy)))


def test_neither_the_number_of_tries_nor_a_loser_shows(tmp_path, monkeypatch, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    seen = {}
    made = []

    def fit(_, fitted):
        made.append(1)
        warnings.warn("of a try", stacklevel=1)
        return fitted()

    with_fits(monkeypatch, fit)
    for count in (1, 5):
        ledger = TableLedger.create(tmp_path / f"{count}.ledger", Terms.of(9.0, 1e-4))
        charges = Charges()
        search = with_tries(searched([{"l2": 0.001}], {"seed": None}), count)
        asked = rows(), (), (), charges, LedgerRequest(ledger.path)
        model = run.tune_dataset(search, *asked)
        (kept,) = ledger.state().runs.values()
        noisy = {"coefficients": 0, "intercept": 0, "details": sorted(model.details)}
        content = {**model._content(), **noisy}
        content["privacy"] = {**content["privacy"], "ledger": 0}
        seen[count] = content, kept.outcome, charges.charged, ledger.state().spent(0).spent
    assert len(made) == 6
    first, second = seen[1], seen[5]
    assert first[1:] == second[1:]
    assert first[0] == second[0]
    assert not caplog.records and capfd.readouterr() == ("", "")


def test_a_ledger_is_charged_once_and_whole_before_the_rows_are_asked(tmp_path, monkeypatch):
    from dpcore.plugin.parts import LocalEngine

    ledger = TableLedger.create(tmp_path / "table.ledger", Terms.of(12.0, 1e-5))
    honest, seen = LocalEngine.answer, []

    def answer(self, query):
        seen.append([one.outcome for one in ledger.state().runs.values()])
        return honest(self, query)

    monkeypatch.setattr(LocalEngine, "answer", answer)
    asked = (), (), None, LedgerRequest(ledger.path, "ann")
    model = run.tune_dataset(searched(), rows(), *asked)
    of_rows = [outcomes for outcomes in seen if outcomes]
    assert of_rows and all(outcomes == ["open"] for outcomes in of_rows)
    (kept,) = ledger.state().runs.values()
    assert (kept.outcome, kept.stated["analyst"]) == ("finished", "ann")
    assert (kept.stated["algorithm"], kept.stated["epsilon"]) == ("search of dp-gd", 2.0)
    assert model.privacy["ledger"]["run"] == kept.number
    # As one (2, 1e-6) release: an epsilon-DP release in the filter, its delta from the part aside.
    used = ledger.state().spent(0)
    assert used.spent == pytest.approx(2.0 * np.tanh(1.0), rel=0.01)  # zCDP of pure epsilon 2
    assert used.reserved_ticks / 2**120 == pytest.approx(1e-6)
    assert verified(ledger.path)
    with pytest.raises(BudgetExceededError, match="Nothing was charged"):
        run.tune_dataset(searched(settings={"epsilon": 11.0}), rows(), *asked)
    assert len(ledger.state().runs) == 1


def test_a_pure_ledger_of_the_same_filter_keeps_the_whole_charge(tmp_path):
    # A run of the ledger's own unit gives back what its releases did not take: a search has none.
    ledger = TableLedger.create(tmp_path / "p.ledger", Terms.of(3.0, 0.0, accountant="pure"))
    search = searched([{"l2": 0.01}], {**PURE, "epsilon": 1.0})
    run.tune_dataset(search, rows(), (), (), None, LedgerRequest(ledger.path))
    assert ledger.state().spent(0).spent == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["random", "list"])
def test_an_error_in_a_try_is_its_outcome_and_says_nothing(kind, monkeypatch):
    def broken(*_, **__):
        error = OptimizerError("of row 17")
        error.add_note("Charged, and spent: .1 of .2 rho")
        raise error

    search = searched(kind=kind)
    with_fits(monkeypatch, broken)
    model = run.tune_dataset(search, rows())
    assert not model.w.any() and model.privacy["private"]
    assert model.status.startswith("No try") or kind == "list"


def test_no_try_at_all_is_the_public_constant():
    search = searched(settings=PURE, law="poisson")
    assert search.distribution == Poisson(2)
    model = run.tune_dataset(with_tries(search, 0), rows())
    assert not model.w.any()
    assert model.privacy["most_rows"] == model.privacy["capacity"] == 2**27
    assert model.privacy["search"]["chosen"] is None


def test_an_interrupt_ends_the_search_without_the_metrics_of_its_try(monkeypatch):
    def interrupted(*_, **__):
        error = KeyboardInterrupt()
        error.add_note("Charged, and spent: .1 of .2 rho")
        raise error

    with_fits(monkeypatch, interrupted)
    charges = Charges()
    with pytest.raises(KeyboardInterrupt) as caught:
        run.tune_dataset(searched(), rows(), charges=charges)
    (note,) = caught.value.__notes__
    assert note == "Charged, and spent: 2.0 of 2.0 epsilon; no model of this run was kept."


def test_each_fit_and_each_score_has_the_whole_filter_of_a_try(monkeypatch):
    charged, charge = [], ChargeLog.charge

    def recorded(self, entry):
        charged.append(entry)
        return charge(self, entry)

    search = with_tries(searched([{"l2": 0.001}]), 1)
    filter = search.plans[0].accountant
    prepared = candidate_fits.CandidateFits.best

    def best(self):
        charged.clear()
        monkeypatch.setattr(ChargeLog, "charge", recorded)
        return prepared(self)

    monkeypatch.setattr(candidate_fits.CandidateFits, "best", best)
    run.tune_dataset(search, rows())
    score = [entry for entry in charged if entry.kind == "score"]
    assert len(score) == 1
    for entries in (score, [entry for entry in charged if entry.kind != "score"]):
        after = filter
        for entry in entries:
            after = after.compose(entry.event)  # refuses more than the filter holds
        assert after.spent == pytest.approx(filter.budget, rel=1e-6)


class ExactScores(HeldOut):
    """Broken on purpose: a score without noise."""

    def score(self, w, accountant):
        query = HeldOutLosses(self._problem, (w,), self._measure, "l1")
        return float(self._engine.answer(query)[0])


def differing_scores(kind, n=60):
    """How many different scores one model has among so many releases."""
    search = searched([{"l2": 0.001}])
    data = rows()
    noise = NoiseSource.of_seed()
    sides = Sides.of(search, data, None, 1.0, None)
    made = candidate_fits.CandidateFits(search, sides, noise)
    made.begin(Beside(search, sides, noise).before())
    held = made._held
    held.__class__ = kind
    w = np.ones(4)
    return len({held.score(w, search.plans[0].accountant) for _ in range(n)})


def test_a_score_has_noise():
    # Scores stand on 2^-20 rows, at a deviation of rows: equal ones by chance, below 1e-6 for 60.
    assert differing_scores(HeldOut) > 50
    assert differing_scores(ExactScores) == 1


@pytest.mark.slow
def test_the_better_candidate_is_found_where_the_budget_is_large():
    for kind in ("random", "list"):
        search = searched(L2, {"epsilon": 50.0, "seed": 1}, kind=kind, tries=8.0)
        model = run.tune_dataset(search, rows())
        assert model.l2 == 0.001
        assert not model.privacy["private"]


def test_a_seed_repeats_a_search():
    asked = {**PURE, "seed": 7}
    found = [run.tune_dataset(searched(settings=asked), rows()).w for _ in range(2)]
    assert np.array_equal(*found)


def test_a_table_of_no_rows_ends_like_any_other():
    model = run.tune_dataset(searched(), rows(0))
    assert model.privacy["releases"] == {"search": 1}


def test_the_parts_of_a_list_are_together_within_the_budget():
    search = searched(kind="list", settings=PURE)
    assert sum(plan.accountant.epsilon for plan in search.plans) <= 2.0
    assert isinstance(search.plans[0].accountant, PureAccountant)


def test_a_reason_of_a_fit_that_is_not_released_voids_the_search(monkeypatch):
    made = []

    def fit(_, fitted):
        model = fitted()
        made.append(1)
        why = ["a part is not private"] if len(made) == 1 else []
        return replace(model, privacy={**model.privacy, "why_not_private": why})

    with_fits(monkeypatch, fit)
    monkeypatch.setattr(HeldOut, "score", lambda *_: float(len(made)))
    model = run.tune_dataset(with_tries(searched(), 2), rows())
    assert len(made) == 2  # of which the second one is released
    assert not model.privacy["private"]
    assert model.privacy["why_not_private"] == ["a part is not private"]


def test_the_rows_and_parts_of_a_search_are_those_of_all_candidates(monkeypatch):
    dry_run = RunState.dry_run

    def told(state, *others):
        dry_run(state, *others)
        first = state.facts.problem.l2 == L2[0]["l2"]
        return SimpleNamespace(
            most_rows=None if first else 1000, foreign_parts=() if first else ("a:B",)
        )

    monkeypatch.setattr(RunState, "dry_run", told)
    search = searched()
    monkeypatch.setattr(candidate_fits.CandidateFits, "best", lambda self: self._tried(0))
    privacy = run.tune_dataset(search, rows()).privacy
    assert privacy["most_rows"] == 1000
    assert privacy["parts_not_from_dpcore"] == ["a:B"]


@pytest.mark.parametrize("kind", ["random", "list"])
def test_a_part_that_a_loser_asks_after_its_first_release(monkeypatch, kind):
    # A candidate of two had its own query behind another one, and was named where it won alone.

    def fit(run, fitted):
        model, plan = fitted(), run.plan
        late = {"parts_not_from_dpcore": ["late:Part"], "most_rows": 500}
        said = {**model.privacy, **late} if plan.settings.l2 == 0.1 else model.privacy
        return replace(model, privacy=said)

    with_fits(monkeypatch, fit)
    monkeypatch.setattr(HeldOut, "choose", lambda *_: 0)
    kept, tried = [], candidate_fits.CandidateFits._tried

    def both(self):
        kept.extend(tried(self, place) for place in (1, 0))
        return kept[1]

    search = searched([{"l2": 0.001}, {"l2": 0.1}], PURE, kind=kind)
    if kind == "random":  # Which were tried is not to show: such a try fails.
        monkeypatch.setattr(candidate_fits.CandidateFits, "best", both)
    privacy = run.tune_dataset(search, rows()).privacy
    late = (["late:Part"], 500) if kind == "list" else ([], 2**27)
    assert (privacy["parts_not_from_dpcore"], privacy["most_rows"]) == late
    assert kind == "list" or (kept[0] is None and kept[1] is not None)


@pytest.mark.parametrize("kind", ["random", "list"])
def test_a_search_of_another_version_is_named(monkeypatch, kind):
    # As where dpcore-tuning is not of the core's version.
    others = {"is_ours": lambda name: not name.startswith("dpcore_tuning")}
    known = vars(import_module("dpcore.privacy.first_party"))
    monkeypatch.setattr("dpcore.privacy.statement.first_party", SimpleNamespace(**known | others))
    search = searched(settings=PURE, kind=kind)
    monkeypatch.setattr(candidate_fits.CandidateFits, "best", lambda self: None)
    assert run.tune_dataset(search, rows()).privacy["parts_not_from_dpcore"] == [
        "dpcore_tuning.scores:HeldOutLosses",
        "dpcore_tuning.search:Search",
    ]


KEPT = []
"""What an optimizer of somebody's own keeps from fit to fit: a module-wide warm start."""


@pytest.mark.parametrize("kind", ["random", "list"])
def test_an_algorithm_that_is_not_dpcores_is_named_by_a_random_search(kind):
    search = searched(settings={"epsilon": 50.0}, kind=kind)
    first = search.plans[0].optimizer

    class Warm(type(first)):
        """Releases each fit's coefficients with those of all fits before."""

        def minimize(self, problem, session):
            KEPT.append(super().minimize(problem, session).w)
            return Solution(np.sum(KEPT, axis=0), "Done.")

    warm = Warm(**{each.name: getattr(first, each.name) for each in fields(first) if each.init})
    plans = tuple(replace(plan, optimizer=warm) for plan in search.plans)
    model = run.tune_dataset(replace(search, plans=plans), rows())
    assert len(KEPT) > 0 and model.w.any()  # what the twin, of no such name, would promise of
    (told, named) = model.privacy["sentence"], model.privacy["parts_not_from_dpcore"]
    assert any(part.endswith("Warm") for part in named) == (kind == "random")
    assert ("keeps nothing from one fit to the next" in told) == (kind == "random")


def test_an_algorithm_whose_fits_of_a_list_fail_is_named():
    search = searched(settings={"epsilon": 50.0}, kind="list")
    first = search.plans[0].optimizer

    class Fails(type(first)):
        """Ends in an error, which an answer of its own may have had for a row."""

        def minimize(self, problem, session):
            super().minimize(problem, session)
            raise RuntimeError

    fails = Fails(**{each.name: getattr(first, each.name) for each in fields(first) if each.init})
    plans = tuple(replace(plan, optimizer=fails) for plan in search.plans)
    model = run.tune_dataset(replace(search, plans=plans), rows())
    assert any(part.endswith("Fails") for part in model.privacy["parts_not_from_dpcore"])
