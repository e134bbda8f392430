"""The cost of runs in the filter of a ledger, against numbers worked out by hand."""

import math
from fractions import Fraction

import pytest

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import GdpAccountant, PureAccountant
from dpcore_accounting.rdp import RdpAccountant
from dpcore_accounting.single import SingleReleaseAccountant
from dpcore_ledger.cost import Run, cost_of, times_of
from dpcore_ledger.terms import Terms

ROWS, OTHER = "add-or-remove-one", "replace-one"


def number(ticks: int) -> float:
    return float(Fraction(ticks, 2**120))


def run(accountant, relation=ROWS, unit=None):
    return Run(accountant, relation, unit)


def test_a_run_of_the_ledgers_own_unit_costs_its_budget():
    own = ZcdpAccountant.from_budget(1.0, 1e-8)
    cost = cost_of(run(own), Terms.of(4.0, 1e-6))
    assert (cost.ticks, cost.aside_ticks, cost.times) == (own.budget_ticks, 0, 1)


def test_a_gaussian_run_is_concentrated():
    """mu-GDP is mu^2 / 2-zCDP: N(0, 1) and N(mu, 1) have the Renyi divergence alpha mu^2 / 2."""
    own = GdpAccountant.from_budget(1.0, 1e-8)
    cost = cost_of(run(own), Terms.of(4.0, 1e-6))
    assert number(cost.ticks) == pytest.approx(own.budget / 2, rel=1e-9)
    assert number(cost.ticks) >= own.budget / 2
    assert cost.times is None


def test_a_pure_run_in_a_concentrated_ledger_costs_what_randomised_response_does():
    own = PureAccountant.from_budget(0.5, 0.0)
    cost = cost_of(run(own), Terms.of(4.0, 1e-6))
    assert number(cost.ticks) == pytest.approx(0.5 * math.tanh(0.25), rel=1e-9)


def test_what_the_filter_does_not_know_is_one_release_of_epsilon_and_delta():
    own = SingleReleaseAccountant.from_budget(0.5, 1e-8)
    cost = cost_of(run(own), Terms.of(4.0, 1e-6))
    assert number(cost.ticks) == pytest.approx(0.5 * math.tanh(0.25), rel=1e-9)
    assert number(cost.aside_ticks) == pytest.approx(1e-8, rel=1e-9)
    with pytest.raises(InvalidInputError, match="aside"):
        cost_of(run(own), Terms.of(4.0, 1e-6, aside=0.0))


def test_two_orders_of_renyi_are_two_units():
    terms = Terms.of(4.0, 1e-6, accountant="rdp", aside=0.0)
    same = RdpAccountant.from_budget(4.0, 1e-6)
    assert cost_of(run(same), terms).times == 1
    other = RdpAccountant.from_budget(1.0, 1e-8)
    assert other.order != same.order
    with pytest.raises(InvalidInputError):
        cost_of(run(other), terms)


@pytest.mark.parametrize(
    ("accountant", "own", "factor"),
    [
        ("zcdp", ZcdpAccountant.from_budget(1.0, 1e-8), 4),
        ("gdp", GdpAccountant.from_budget(1.0, 1e-8), 4),
        ("pure", PureAccountant.from_budget(1.0, 0.0), 2),
    ],
)
def test_a_run_over_added_rows_is_two_steps_of_a_replacement(accountant, own, factor):
    terms = Terms.of(9.0, 1e-6, accountant=accountant, relation="replace-one")
    cost = cost_of(run(own), terms)
    assert (cost.ticks, cost.times) == (own.budget_ticks * factor, factor)


def test_two_steps_of_a_gaussian_run_in_a_concentrated_ledger():
    own = GdpAccountant.from_budget(1.0, 1e-8)
    terms = Terms.of(9.0, 1e-6, relation="replace-one")
    assert number(cost_of(run(own), terms).ticks) == pytest.approx(2 * own.budget, rel=1e-9)


def test_two_steps_of_epsilon_and_delta():
    """Vadhan 2017, Lemma 2.2: (2 epsilon, (1 + e^epsilon) delta)."""
    own = SingleReleaseAccountant.from_budget(0.5, 1e-8)
    cost = cost_of(run(own), Terms.of(9.0, 1e-6, relation="replace-one"))
    assert number(cost.aside_ticks) == pytest.approx(1e-8 * (1 + math.exp(0.5)), rel=1e-9)
    assert number(cost.ticks) == pytest.approx(math.tanh(0.5), rel=1e-9)


def test_a_unit_that_grows_by_a_row_is_out_and_in_again():
    own = ZcdpAccountant.from_budget(1.0, 1e-8)
    assert times_of(run(own, unit="patient"), Terms.of(4.0, 1e-6)) == 2


@pytest.mark.parametrize(
    ("relation", "unit", "of_ledger", "its_unit"),
    [
        ("replace-one", None, ROWS, None),
        (ROWS, None, ROWS, "patient"),
        (ROWS, "ward", ROWS, "patient"),
        ("replace-one", "patient", "replace-one", None),
        (ROWS, "patient", "replace-one", None),
        ("replace-special", None, "replace-one", None),
    ],
)
def test_a_change_that_the_run_says_nothing_of_is_refused(relation, unit, of_ledger, its_unit):
    own = ZcdpAccountant.from_budget(1.0, 1e-8)
    terms = Terms.of(4.0, 1e-6, relation=of_ledger, unit=its_unit)
    with pytest.raises(InvalidInputError, match="says nothing of such a change"):
        times_of(run(own, relation, unit), terms)


def test_a_gaussian_ledger_holds_gaussian_runs_alone():
    terms = Terms.of(4.0, 1e-6, accountant="gdp")
    with pytest.raises(InvalidInputError, match="--accountant zcdp"):
        cost_of(run(ZcdpAccountant.from_budget(1.0, 1e-8)), terms)


def test_terms_come_back_as_they_were():
    for accountant in ("zcdp", "gdp", "pure", "rdp"):
        terms = Terms.of(4.0, 1e-6, accountant=accountant, unit="patient")
        assert Terms.from_dict(terms.to_dict()) == terms


def test_two_steps_of_a_pure_run_cost_twice_one_or_more_in_a_gaussian_ledger():
    """Which the proof for parts under replace-one needs of every charge (``ledger.parts``).
    Above 600 a closed form, twice one up to its rounding, is far above both."""
    terms = {name: Terms.of(9.0, 1e-6, accountant="gdp", relation=name) for name in (ROWS, OTHER)}
    for epsilon in (1e-6, 1e-3, 0.1, 1.0, 5.0, 40.0, 599.0):
        one, two = (
            cost_of(run(PureAccountant.from_budget(epsilon, 0.0)), terms[name]).ticks
            for name in (ROWS, OTHER)
        )
        assert two >= 2 * one
