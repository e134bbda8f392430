"""A run whose accountant is not fully adaptive is held to the schedule that it stated."""

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import pytest

from dpcore.errors import InvalidInputError, UnsupportedEventError
from dpcore.fitting.planning.fixed_schedule import fixed_schedule, with_planned_accountant
from dpcore.plugin import FixedSchedule, Gaussian, NeighboringRelation, RowCount, Settings
from dpcore.plugin.commands import make_plan
from dpcore.plugin.parts import (
    ApproximateDpEvent,
    ComposedDpEvent,
    DominatingPairDpEvent,
    DpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    LocalEngine,
    Logistic,
    PoissonSampledDpEvent,
    PureDpEvent,
    RandomizedSensitivityGaussian,
    RenyiDpEvent,
    SampledWithoutReplacementDpEvent,
    SeededNoise,
    SkellamDpEvent,
    TableSession,
    ZcdpDpEvent,
)
from dpcore_accounting.advanced_composition import AdvancedCompositionAccountant
from dpcore_accounting.events.objective_perturbation import ObjectivePerturbationDpEvent
from dpcore_accounting.samples import PoissonSample
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


def sampled(m, p=0.1, relation=ADD):
    return PoissonSampledDpEvent(p, GaussianDpEvent(m), relation)


def fixed(m, size=3, n=30, relation=REPLACE):
    return SampledWithoutReplacementDpEvent(n, size, GaussianDpEvent(m), relation)


def sampled_of(event, p=0.1):
    return PoissonSampledDpEvent(p, event, ADD)


@dataclasses.dataclass(frozen=True)
class OfAPlugin(DpEvent):
    """An event that dpcore knows nothing of: it equals itself."""

    value: int


TAKEN = [
    (GaussianDpEvent(2.0), GaussianDpEvent(2.0)),
    (GaussianDpEvent(2.5), GaussianDpEvent(2.0)),
    (sampled(2.0), sampled(2.0)),
    (sampled(2.0, 0.05), sampled(1.5)),
    (fixed(2.0), fixed(2.0)),
    (fixed(3.0), fixed(2.0)),
    (PureDpEvent(0.5), PureDpEvent(1.0)),
    (LaplaceDpEvent(2.0), LaplaceDpEvent(1.0)),
    (sampled_of(LaplaceDpEvent(2.0)), sampled_of(LaplaceDpEvent(1.0))),
    (SkellamDpEvent(9.0, 1.0, 1.0), SkellamDpEvent(8.0, 2.0, 1.0)),
    (ZcdpDpEvent(0.1), ZcdpDpEvent(0.2)),
    (ApproximateDpEvent(0.5, 1e-9), ApproximateDpEvent(1.0, 1e-9)),
    (RenyiDpEvent((2.0, 3.0), (0.5, 1.0)), RenyiDpEvent((2.0, 3.0), (1.0, 1.0))),
    (DominatingPairDpEvent((3, 1), (1, 3)), DominatingPairDpEvent((3, 1), (1, 3))),
    (OfAPlugin(3), OfAPlugin(3)),
    (
        RandomizedSensitivityGaussian((1.0, 0.5), (1, 1), 2.0),
        RandomizedSensitivityGaussian((1.0, 0.6), (1, 1), 1.0),
    ),
    (
        ComposedDpEvent((GaussianDpEvent(2.0), PureDpEvent(0.1))),
        ComposedDpEvent((GaussianDpEvent(1.0), PureDpEvent(0.1))),
    ),
]
REFUSED = [
    (GaussianDpEvent(1.9), GaussianDpEvent(2.0)),
    (GaussianDpEvent(2.0), sampled(2.0)),
    (sampled(2.0), GaussianDpEvent(2.0)),
    (sampled(1.9), sampled(2.0)),
    (sampled(2.0, 0.2), sampled(2.0)),
    (sampled(2.0, relation=REPLACE), sampled(2.0)),
    (fixed(2.0, size=4), fixed(2.0)),
    (fixed(2.0, n=29), fixed(2.0)),
    (fixed(1.9), fixed(2.0)),
    (fixed(2.0, relation=NeighboringRelation.REPLACE_SPECIAL), fixed(2.0)),
    (PureDpEvent(1.0 + 2.0**-52), PureDpEvent(1.0)),
    (ExPostDpEvent(1.0), PureDpEvent(1.0)),
    (LaplaceDpEvent(0.1), LaplaceDpEvent(1.0)),
    # Once taken for any other: neither has a noise multiplier of a normal distribution.
    (sampled_of(LaplaceDpEvent(0.1)), sampled_of(LaplaceDpEvent(1.0))),
    (SkellamDpEvent(9.0, 2.0, 1.0), SkellamDpEvent(9.0, 1.0, 1.0)),
    (SkellamDpEvent(8.0, 1.0, 1.0), SkellamDpEvent(9.0, 1.0, 1.0)),
    (ApproximateDpEvent(1.0, 2e-9), ApproximateDpEvent(1.0, 1e-9)),
    (RenyiDpEvent((2.0,), (1.0,)), RenyiDpEvent((2.0, 3.0), (1.0, 1.0))),
    (RenyiDpEvent((2.0, 3.0), (0.1, 1.1)), RenyiDpEvent((2.0, 3.0), (1.0, 1.0))),
    (RenyiDpEvent((2.5,), (1.0,)), RenyiDpEvent((2.0,), (1.0,))),
    (DominatingPairDpEvent((2, 1), (1, 2)), DominatingPairDpEvent((3, 1), (1, 3))),
    (ObjectivePerturbationDpEvent((0.5,), 0.1), ObjectivePerturbationDpEvent((1.0,), 0.1)),
    (
        ComposedDpEvent((GaussianDpEvent(2.0), GaussianDpEvent(1.0))),
        ComposedDpEvent((GaussianDpEvent(2.0),)),
    ),
]


@pytest.mark.parametrize(("event", "stated"), TAKEN)
def test_a_release_takes_the_place_of_one_that_costs_no_less(event, stated):
    schedule = FixedSchedule({stated: 2})
    schedule.take(event)
    schedule.take(event)
    with pytest.raises(UnsupportedEventError, match="not on the schedule"):
        schedule.take(event)


@pytest.mark.parametrize(("event", "stated"), REFUSED)
def test_what_was_not_stated_is_refused(event, stated):
    with pytest.raises(UnsupportedEventError, match="not on the schedule"):
        FixedSchedule({stated: 1}).take(event)


def test_an_event_of_a_plugin_takes_the_place_of_itself_alone():
    with pytest.raises(UnsupportedEventError, match="not on the schedule"):
        FixedSchedule({OfAPlugin(3): 1}).take(OfAPlugin(2))


@pytest.mark.parametrize("places", [(PureDpEvent(0.1), PureDpEvent(1.0)), None])
def test_the_cheapest_place_that_will_do_is_taken_first(places):
    small, large = places or (ZcdpDpEvent(0.1), ZcdpDpEvent(1.0))
    for stated in ((small, large), (large, small)):
        schedule = FixedSchedule(dict.fromkeys(stated, 1))
        schedule.take(small)
        schedule.take(large)


def test_the_place_with_the_most_noise_is_taken_first():
    schedule = FixedSchedule({GaussianDpEvent(1.0): 1, GaussianDpEvent(9.0): 1})
    schedule.take(GaussianDpEvent(10.0))
    schedule.take(GaussianDpEvent(1.0))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Adapts:
    """Broken on purpose: says that its schedule is fixed, and lowers its noise on the way."""

    name: ClassVar[str] = "adapts"
    slots: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one",)
    needs: ClassVar[tuple[str, ...]] = ("fixed-schedule",)

    def minimize(self, problem, session):
        raise NotImplementedError

    def schedule(self, problem, noise_multiplier):
        return {sampled(noise_multiplier): 40}

    def ask(self, session, m):
        return session.release(PoissonSample(RowCount(), 0.1), Gaussian(m))


def test_a_session_refuses_what_the_filter_proves_nothing_about():
    rows = make_rows(60)
    problem = make_problem(rows, ADD, Logistic())
    accountant = AdvancedCompositionAccountant.from_budget(2.0, 1e-6)
    plan = dataclasses.replace(
        make_plan(Settings(algo="sgd-ma", accountant="advanced-composition", epsilon=2.0)),
        optimizer=Adapts(),
        accountant=accountant,
    )
    schedule = fixed_schedule(plan, problem)
    engine = LocalEngine(rows.table())
    opened = TableSession(engine, accountant, ADD, SeededNoise(1), schedule=schedule)
    free = TableSession(engine, accountant, ADD, SeededNoise(1))
    assert np.isfinite(Adapts().ask(opened, 1e3)).all()
    spent = opened.accountant.spent
    assert np.isfinite(Adapts().ask(free, 3.0)).all()  # the filter alone takes it for stated
    with pytest.raises(UnsupportedEventError, match="not on the schedule"):
        Adapts().ask(opened, 3.0)
    assert opened.accountant.spent == spent and len(opened.ledger) == 1


def test_one_that_states_no_schedule_is_refused_before_the_data():
    from dpcore import fit

    X, y = np.array([[0.0, 1.0], [1.0, 0.0]] * 20), np.array([0, 1] * 20)
    with pytest.raises(InvalidInputError, match="states no schedule that the advanced-composition"):
        fit(X, y, classes=(0, 1), algo="outpert", accountant="advanced-composition")


@dataclasses.dataclass(frozen=True)
class SaysAnythingIsAdaptive:
    slots: ClassVar[dict[str, object]] = {}
    name: ClassVar[str] = "says-anything"
    theorem: ClassVar[str] = "none"
    accountant: ClassVar[str] = "pure"
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one",)
    needs: ClassVar[tuple[str, ...]] = ("fixed-schedule",)
    targets: ClassVar[tuple[str, ...]] = ("target_risk",)
    adaptive_accountants: ClassVar[tuple[str, ...]] = ("zcdp", "advanced-composition")

    def minimize(self, problem, session):
        raise AssertionError("is not to run")


def test_an_accountant_is_fully_adaptive_by_its_own_word_alone():
    problem = make_problem(make_rows(9), ADD, Logistic())
    usual = make_plan(Settings(algo="sgd-ma", accountant="advanced-composition", epsilon=2.0))
    plan = dataclasses.replace(usual, optimizer=SaysAnythingIsAdaptive())
    with pytest.raises(InvalidInputError, match="states no schedule that the advanced-composition"):
        with_planned_accountant(plan, problem)
    adaptive = make_plan(Settings(algo="dp-agd", accountant="zcdp", epsilon=2.0))
    plan = dataclasses.replace(adaptive, optimizer=SaysAnythingIsAdaptive())
    assert with_planned_accountant(plan, problem) is plan
