"""The accountant that is chosen for a schedule: the one of the least noise."""

import pytest

import dpcore_accounting.best as best_module
from dpcore.errors import InvalidInputError, UnsupportedEventError
from dpcore.plugin import FixedSchedule, NeighboringRelation
from dpcore.plugin.parts import (
    AdditiveAccountant,
    GaussianDpEvent,
    LaplaceDpEvent,
    PoissonSampledDpEvent,
    PureAccountant,
)
from dpcore_accounting.best import BestAccountant, best_accountant
from dpcore_accounting.pld import PldAccountant

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
ALL = AdditiveAccountant.registered()


def steps(p, count, relation=ADD):
    return lambda m: {PoissonSampledDpEvent(p, GaussianDpEvent(m), relation): count}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schedule", "epsilon", "chosen"),
    [
        (lambda m: {GaussianDpEvent(m): 10}, 1.0, "gdp"),
        (lambda m: {GaussianDpEvent(m): 3, LaplaceDpEvent(m): 2}, 1.0, "pld"),
        (lambda m: {LaplaceDpEvent(m): 1}, 4.0, "pure"),
        (steps(0.01, 1000), 1.0, "pld"),
        (steps(0.01, 1000, REPLACE), 1.0, "pld"),
        (steps(0.1, 10, REPLACE), 8.0, "pld"),
    ],
)
def test_the_best_is_the_one_with_the_least_noise(schedule, epsilon, chosen):
    best = best_accountant(ALL, epsilon, 1e-6, schedule)
    assert (best.name, best.epsilon, best.delta) == (chosen, epsilon, 1e-6)
    least = FixedSchedule.noise_multiplier(best, schedule)
    for accountant_class in ALL:
        try:
            other = FixedSchedule.planned_accountant(
                accountant_class, epsilon, 1e-6, None, schedule
            )
            multiplier = FixedSchedule.noise_multiplier(other, schedule)
        except UnsupportedEventError:
            continue
        # A filter that is adaptive is worth a hundredth of the noise.
        worth = 1.01 if best.fully_adaptive and not other.fully_adaptive else 1.0
        assert multiplier * worth >= least * (1 - 1e-8)


@pytest.mark.slow
def test_an_adaptive_filter_is_left_for_more_than_a_hundredth_of_the_noise(monkeypatch):
    # pld was taken for a Laplace release with 5e-7 less noise, and the run was held to a schedule.
    one = lambda m: {LaplaceDpEvent(m): 1}  # noqa: E731
    pure, pld = (
        FixedSchedule.noise_multiplier(
            FixedSchedule.planned_accountant(c, 4.0, 1e-6, None, one), one
        )
        for c in (PureAccountant, PldAccountant)
    )
    assert pld < pure < 1.01 * pld
    monkeypatch.setattr(best_module, "_WORTH", (1 + pure / pld) / 2)
    assert best_accountant(ALL, 4.0, 1e-6, one).name == "pld"
    monkeypatch.setattr(best_module, "_WORTH", 2 * pure / pld)
    assert best_accountant(ALL, 4.0, 1e-6, one).name == "pure"


def test_a_schedule_that_nothing_holds_is_refused():
    with pytest.raises(InvalidInputError, match="No accountant holds"):
        best_accountant(
            ALL, 1.0, 1e-6, lambda m: {PoissonSampledDpEvent(0.1, LaplaceDpEvent(m), ADD): 1}
        )


def test_the_choice_to_be_made_charges_nothing():
    undecided = BestAccountant.from_budget(1.0, 1e-6)
    assert not undecided.supports(GaussianDpEvent(1.0)) and undecided.spent == 0.0
    for act in (undecided.compose, undecided.cost):
        with pytest.raises(UnsupportedEventError, match="chosen for a schedule"):
            act(GaussianDpEvent(1.0))
    with pytest.raises(InvalidInputError, match="conversion"):
        BestAccountant.from_budget(1.0, 1e-6, "tight")
