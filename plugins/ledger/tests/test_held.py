"""No run releases more than its reservation, whatever its sessions' filter lets through."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

import dpcore
from dpcore.errors import BudgetExceededError, UnsupportedEventError
from dpcore.plugin.ledgers import LedgerEntry
from dpcore.plugin.parts import (
    AdditiveAccountant,
    ApproximateDpEvent,
    GaussianDpEvent,
    PureAccountant,
    PureDpEvent,
    ZcdpDpEvent,
    float_down,
    load_registry,
)
from dpcore_ledger import TableLedger, Terms
from dpcore_ledger.cost import Run
from dpcore_tables.statistics import open_session

ROWS = "add-or-remove-one"
BUDGET = 1.0, 1e-8


@pytest.fixture
def ledger(tmp_path) -> TableLedger:
    return TableLedger.create(tmp_path / "wide.ledger", Terms.of(40.0, 1e-3))


def accountant(name, *budget):
    return load_registry("accountant").load("accountant", name).from_budget(*(budget or BUDGET))


def release(event, part=None):
    return LedgerEntry(0, "gradient", "gaussian", event, 0.0, part)


def reserved(ledger, own):
    return ledger.reserve(Run(own, ROWS, None), {"analyst": ""})


def rho(ticks):
    """Return the release that costs so many units of 2**-120, to the last that a float holds."""
    return ZcdpDpEvent(float_down(Fraction(ticks, AdditiveAccountant.ticks_up(Fraction(1)))))


def test_a_release_beyond_the_reservation_is_refused_and_not_charged(ledger):
    own = accountant("zcdp")
    place = reserved(ledger, own)
    place.charge(release(rho(own.budget_ticks * 2 // 3)))
    with pytest.raises(BudgetExceededError, match="still holds of its run's reservation"):
        place.charge(release(rho(own.budget_ticks // 2)))
    place.charge(release(rho(own.budget_ticks // 4)))  # What is left is held as before.
    place.close("finished")
    (run,) = ledger.state().runs.values()
    assert 0.9 * own.budget_ticks < run.ticks <= own.budget_ticks == run.reserved[0]


@pytest.mark.parametrize(
    ("own", "event"),
    [
        (PureAccountant.from_budget(*BUDGET), GaussianDpEvent(100.0)),
        (accountant("pld"), ZcdpDpEvent(1e-6)),
    ],
)
def test_a_release_of_a_kind_that_the_run_was_not_reserved_for_is_refused(ledger, own, event):
    place = reserved(ledger, own)
    with pytest.raises(UnsupportedEventError):
        place.charge(release(event))
    place.charge(release(PureDpEvent(0.01)))


@dataclass(frozen=True)
class WholeBudget:
    """As a search has it: no filter, but what its one release costs."""

    epsilon: float
    delta: float
    name: str = "search"


def test_a_search_is_one_release_of_what_was_reserved(ledger):
    for event in (ApproximateDpEvent(1.01, 1e-8), ApproximateDpEvent(1.0, 2e-8), rho(1)):
        with pytest.raises(BudgetExceededError):
            reserved(ledger, WholeBudget(0.1, 1e-8)).charge(release(event))
    place = reserved(ledger, WholeBudget(0.1, 1e-8))
    place.charge(release(ApproximateDpEvent(0.1, 1e-8)))
    with pytest.raises(BudgetExceededError):
        place.charge(release(PureDpEvent(1e-6)))


@pytest.mark.parametrize("name", ["zcdp", "gdp", "pure", "rdp"])
@pytest.mark.parametrize("parts", [1, 3, 7])
def test_all_that_equal_parts_consent_to_is_held(ledger, name, parts):
    own = accountant(name)
    place, made = reserved(ledger, own), 0
    for part in (own.split(parts) for _ in range(parts)):
        event = PureDpEvent(float_down(Fraction(1, 10 * parts)))
        while True:
            try:
                part = part.compose(event)
            except BudgetExceededError:
                break
            place.charge(release(event))
            made += 1
    assert made >= parts


def test_each_part_of_the_rows_is_held_with_all_rows(ledger):
    own = accountant("zcdp")
    third = rho(own.budget_ticks // 3)
    place = reserved(ledger, own)
    for part in ("a", "b", None, "c", "a", "b"):
        place.charge(release(third, part))
    for part in ("a", "b", None):
        with pytest.raises(BudgetExceededError):
            place.charge(release(third, part))
    place.charge(release(third, "c"))


X = np.random.default_rng(3).uniform(0, 1, (200, 2))
Y = (X[:, 0] > X[:, 1]).astype(int)


def fit(ledger, **asked):
    told = {"classes": (0, 1), "bounds": (0, 1), "row_norm": None, "ledger": ledger.path}
    return dpcore.fit(X, Y, **{"epsilon": 0.5, "algo": "dp-gd", **told, **asked})


def larger(accountant):
    """A filter of four times the budget: broken on purpose."""
    return replace(accountant, budget_ticks=4 * accountant.budget_ticks)


@pytest.mark.slow
def test_a_run_whose_session_has_a_larger_filter_draws_nothing_beyond_its_reservation(
    ledger, monkeypatch
):
    asked = {"accountant": "zcdp", "params": {"steps": 4}}
    honest = fit(ledger, **asked)
    assert honest.privacy["private"] and honest.privacy["spent"] <= honest.privacy["budget"]
    monkeypatch.setattr(
        "dpcore.fitting.planning.ready.Ready.part_of", lambda self, whole: larger(whole)
    )
    with pytest.raises(BudgetExceededError, match="its run's reservation"):
        fit(ledger, **asked)
    ended = [run for run in ledger.state().runs.values() if "ended by" in run.outcome]
    assert len(ended) == 1 and 0 < ended[0].ticks <= ended[0].reserved[0]


def test_a_session_of_a_larger_filter_is_held_too(ledger, monkeypatch):
    with open_session(X, Y, classes=(0, 1), epsilon=0.5, ledger=ledger.path) as session:
        session.count(share=0.5)
        account = session._session._account
        account._filter = replace(account._filter, whole=larger(account._filter.whole))
        with pytest.raises(BudgetExceededError, match="its run's reservation"):
            session.count(share=0.75)
