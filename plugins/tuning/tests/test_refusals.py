"""What a search refuses, before anything is charged."""

from dataclasses import replace
from fractions import Fraction

import pytest
from searches import rows, searched

from dpcore import BalancedWeights, Evaluation, Intervals
from dpcore.errors import DpcoreError, InvalidInputError
from dpcore.plugin import Settings
from dpcore.plugin.commands import LedgerRequest
from dpcore_ledger import TableLedger, Terms
from dpcore_tuning import run, search
from dpcore_tuning.candidates import grid_of, settings_of


@pytest.mark.parametrize(
    ("settings", "asked", "match"),
    [
        ({"accountant": "gdp"}, {}, "no theorem"),
        ({}, {"law": "poisson"}, "--accountant pure"),
        ({}, {"kind": "bayes"}, "one of random, list"),
        ({}, {"held_out": 0.0}, "held-out"),
        ({}, {"measure": "auc"}, "one of error, loss"),
        ({"algo": "nonprivate"}, {}, "promises no privacy"),
        ({"algo": "output-nr"}, {}, "cannot be searched: its epsilon is an output"),
        ({"algo": "a-ddp"}, {}, "cannot be searched: its rows stay with users"),
        ({"multiclass": "ovr"}, {}, "takes no multiclass"),
        ({"accountant": "pure"}, {}, "pure"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_a_charge(settings, asked, match, tmp_path):
    ledger = TableLedger.create(tmp_path / "table.ledger", Terms.of(9.0, 1e-4))
    with pytest.raises(DpcoreError, match=match):
        made = searched(settings=settings, **asked)
        run.tune_dataset(made, rows(), (), (), None, LedgerRequest(ledger.path))
    assert not ledger.state().runs


UNFIT = [
    ({"also": (BalancedWeights(share=Fraction(999, 1000)),)}, {}, "too small"),
    ({"also": (BalancedWeights(share=1),)}, {}, "add up to less than 1"),
    ({"also": (Evaluation(share=0.1),)}, {}, "rows held out"),
    ({"also": (Intervals(share=0.1), BalancedWeights())}, {}, "no intervals where"),
    ({"also": (Intervals(share=0.1),)}, {"kind": "list"}, "no number of rows is public"),
]


@pytest.mark.parametrize(("settings", "asked", "match"), UNFIT)
def test_a_step_that_does_not_fit_is_refused_before_a_draw_and_a_charge(
    settings, asked, match, tmp_path, monkeypatch
):
    ledger = TableLedger.create(tmp_path / "table.ledger", Terms.of(9.0, 1e-4))
    monkeypatch.setattr(
        run.NoiseSource, "of_seed", lambda seed=None: None
    )  # A draw from it is an error.
    made = searched(settings=settings, **asked)
    with pytest.raises(DpcoreError, match=match):
        run.tune_dataset(made, rows(), (), (), None, LedgerRequest(ledger.path))
    assert not ledger.state().runs


def test_an_algorithm_that_opens_a_filter_of_its_own_is_not_searched(monkeypatch):
    # A try would have run within that one, and not within what the theorem leaves it.
    facts = search.optimizer_facts

    def stated(optimizer):
        return replace(facts(optimizer), needed_epsilon=lambda self, problem: 0.1)

    monkeypatch.setattr(search, "optimizer_facts", stated)
    with pytest.raises(InvalidInputError, match="an epsilon that it needs"):
        searched()


@pytest.mark.parametrize(
    ("candidates", "match"),
    [
        ([], "from 1 to"),
        ([{"l2": 1.0}, {"l2": 1.0}], "same"),
        ([{"l2": -1.0}], "l2"),
        ([{"clip": "wide"}], "clip"),
        ([{"clips": 1}], "clips"),
        ([{"l2": 0.1, "clip": "0.2"}, {"clip": -1.0}], "clip"),
    ],
)
def test_a_bad_candidate_is_refused_before_a_charge(candidates, match):
    with pytest.raises(InvalidInputError, match=match):
        searched(candidates)


def test_a_grid_has_every_combination_in_order():
    grid = grid_of({"l2": [1, 2], "clip": [3, 4]})
    assert grid == [{"l2": a, "clip": b} for a in (1, 2) for b in (3, 4)]
    with pytest.raises(InvalidInputError, match="1,000"):
        grid_of({"l2": range(101), "clip": range(10)})
    made = settings_of(Settings(params={"steps": 5}), grid)
    assert (made[3].l2, dict(made[3].params)) == (2, {"steps": 5, "clip": 4})
