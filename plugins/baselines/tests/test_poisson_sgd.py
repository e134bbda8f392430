"""sgd-ma and sgd-adv: Poisson samples charged as such, a constant divisor, a value everywhere."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore import fit
from dpcore.errors import DpcoreError, InvalidInputError, UnsupportedEventError
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import GaussianDpEvent, Logistic, PoissonSampledDpEvent
from dpcore_accounting.rdp import RdpAccountant
from dpcore_accounting.samples import PoissonSample
from dpcore_baselines.sgd_adv import SgdAdv
from dpcore_baselines.sgd_ma import SgdMa
from dpcore_lab.checks import check_huge_epsilon_limit, make_rows, parametrize_with_checks
from dpcore_lab.replay.recorded import record_run

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
BOTH = (SgdMa, SgdAdv)


@pytest.mark.slow
@parametrize_with_checks([SgdMa(steps=25), SgdAdv(steps=25)])
def test_it_is_admitted(optimizer, check):
    # A step is like the one before; with a huge epsilon more are needed.
    check(optimizer if check is check_huge_epsilon_limit else replace(optimizer, steps=10))


def problem(n0=400, relation=ADD):
    return Problem(Logistic(), 0.0, 5, 1.5, 2.0, relation, n0=n0, capacity=2**20)


@pytest.mark.parametrize("make", BOTH)
def test_a_step_releases_a_poisson_sample_and_is_charged_as_one(make):
    session, solution = record_run(make(steps=6, sampling_probability=0.25), make_rows(60), ADD)
    assert session.releases == {"gradient": 6}
    for query, _ in session.parts:
        assert type(query) is PoissonSample and query.sampling_probability == 0.25
    for entry in session.ledger:
        assert type(entry.event) is PoissonSampledDpEvent
        assert entry.event.sampling_probability == 0.25 and entry.event.relation is ADD
    # A constant of public facts, whatever the samples were.
    assert solution.details["expected_batch_size"] == 0.25 * 400


@pytest.mark.parametrize("make", BOTH)
def test_an_empty_sample_gets_noise_and_is_charged(make):
    rare = make(steps=5, sampling_probability=2.0**-12, clip=1.0)
    session, solution = record_run(rare, make_rows(20), ADD)
    assert len(session.ledger) == 5 and session.accountant.spent > 0
    assert np.linalg.norm(solution.w) > 0


@pytest.mark.parametrize("make", BOTH)
def test_without_a_public_number_the_rows_are_counted_as_a_charged_release(make):
    session, _ = record_run(make(steps=5), make_rows(60), ADD, n0=None)
    assert session.releases == {"count": 1, "gradient": 5}


@pytest.mark.some_fast
@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.4, 1.6, 8.0])
@pytest.mark.parametrize(("make", "accountant"), [(SgdMa, "rdp"), (SgdAdv, "advanced-composition")])
def test_the_noise_is_on_the_right_side_of_every_budget(make, accountant, epsilon):
    from dpcore.plugin import FixedSchedule
    from dpcore.plugin.parts import load_registry

    def schedule(multiplier):
        return make(steps=30).schedule(problem(), multiplier)

    filter_ = FixedSchedule.planned_accountant(
        load_registry().load("accountant", accountant), epsilon, 1e-8, None, schedule
    )
    multiplier = FixedSchedule.noise_multiplier(filter_, schedule)
    assert filter_.holds(schedule(multiplier))
    assert not filter_.holds(schedule(multiplier * 0.999))


@pytest.mark.parametrize("make", BOTH)
def test_replace_one_is_refused(make):
    X, y = np.zeros((30, 2)), np.arange(30) % 2
    with pytest.raises(DpcoreError, match="has no guarantee under replace-one"):
        fit(X, y, classes=(0, 1), algo=make.name, relation="replace-one")


@pytest.mark.parametrize("accountant", ["zcdp", "gdp", "pure"])
def test_an_accountant_without_a_bound_for_samples_is_refused(accountant):
    # A central limit theorem would say less than there is (1.618 for an exact 1.828): no value.
    X, y = np.zeros((30, 2)), np.arange(30) % 2
    with pytest.raises(DpcoreError):
        fit(X, y, classes=(0, 1), algo="sgd-ma", accountant=accountant)


def test_unsampled_and_sampled_events_are_not_exchanged():
    whole, part = GaussianDpEvent(2.0), PoissonSampledDpEvent(0.01, GaussianDpEvent(2.0), ADD)
    accountant = RdpAccountant.from_budget(1.0, 1e-6)
    assert accountant.cost(part) < accountant.cost(whole)
    with pytest.raises(UnsupportedEventError):
        accountant.cost(PoissonSampledDpEvent(0.01, GaussianDpEvent(2.0), REPLACE))


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"sampling_probability": 1.5}, {"momentum": 1.0}])
@pytest.mark.parametrize("make", BOTH)
def test_parameters_out_of_range_are_refused(make, wrong):
    with pytest.raises(InvalidInputError, match="out of range"):
        make(**wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "accountant"),
    [(SgdMa, "sampling-composition"), (SgdAdv, "advanced-composition")],
)
def test_a_counted_run_fits_the_budget_that_its_schedule_was_found_to_fit(make, accountant):
    # A distribution of rounds is rounded up as they come: in another order it was 2 % larger, and
    # the last of the steps refused, with all of the budget spent.
    X, y = np.zeros((30, 2)), np.arange(30) % 2
    model = fit(X, y, classes=(0, 1), algo=make.name, accountant=accountant)
    assert model.privacy["releases"] == {"count": 1, "gradient": 400}
