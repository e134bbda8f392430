"""The accountant chosen for a schedule, and a run that is held to it."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import dpcore.accountants.schedule as schedule_module
from dpcore.accountants.registered import registered_accountants
from dpcore.accountants.schedule import best_accountant
from dpcore.errors import BudgetExceededError, InvalidInputError, UnsupportedEventError
from dpcore.fitting.planning.compatibility import check_fits
from dpcore.fitting.planning.fixed_schedule import with_planned_accountant
from dpcore.fitting.run import fit_dataset
from dpcore.losses.logistic import Logistic
from dpcore.plugin import (
    ClippedGradientSum,
    Gaussian,
    NeighboringRelation,
    Settings,
    Solution,
    schedule_noise_multiplier,
)
from dpcore.plugin.commands import make_plan
from dpcore.plugin.parts import (
    BestAccountant,
    GaussianDpEvent,
    LaplaceDpEvent,
    PoissonSampledDpEvent,
    PureAccountant,
    planned_accountant,
)
from dpcore_accounting.pld import PldAccountant
from dpcore_accounting.samples import PoissonSample
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
ALL = registered_accountants()


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
    least = schedule_noise_multiplier(best, schedule)
    for accountant_class in ALL:
        try:
            other = planned_accountant(accountant_class, epsilon, 1e-6, None, schedule)
            multiplier = schedule_noise_multiplier(other, schedule)
        except UnsupportedEventError:
            continue
        # A filter that is adaptive is worth a hundredth of the noise.
        worth = 1.01 if best.fully_adaptive and not other.fully_adaptive else 1.0
        assert multiplier * worth >= least * (1 - 1e-8)


def test_an_adaptive_filter_is_left_for_more_than_a_hundredth_of_the_noise(monkeypatch):
    # pld was taken for a Laplace release with 5e-7 less noise, and the run was held to a schedule.
    one = lambda m: {LaplaceDpEvent(m): 1}  # noqa: E731
    pure, pld = (
        schedule_noise_multiplier(planned_accountant(c, 4.0, 1e-6, None, one), one)
        for c in (PureAccountant, PldAccountant)
    )
    assert pld < pure < 1.01 * pld
    monkeypatch.setattr(schedule_module, "_WORTH", (1 + pure / pld) / 2)
    assert best_accountant(ALL, 4.0, 1e-6, one).name == "pld"
    monkeypatch.setattr(schedule_module, "_WORTH", 2 * pure / pld)
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


@dataclass(frozen=True, kw_only=True)
class Sgd:
    """Gradient descent over samples, its noise calibrated to whatever was chosen for it."""

    rounds: int = 12
    probability: float = 0.2
    clip: float = 1.0

    slots: ClassVar[dict] = {}
    relations: ClassVar[tuple] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple] = ("fixed-schedule",)

    def schedule(self, problem, noise_multiplier):
        inner = GaussianDpEvent(noise_multiplier)
        return {PoissonSampledDpEvent(self.probability, inner, problem.relation): self.rounds}

    def minimize(self, problem, session):
        multiplier = schedule_noise_multiplier(
            session.accountant, lambda m: self.schedule(problem, m)
        )
        w = np.zeros(problem.n_features)
        for _ in range(self.rounds):
            query = ClippedGradientSum(problem, w, self.clip, noise_multiplier=multiplier)
            w = w - 0.01 * session.release(
                PoissonSample(query, self.probability), Gaussian(multiplier)
            )
        with pytest.raises(BudgetExceededError):
            session.release(PoissonSample(query, self.probability), Gaussian(multiplier))
        return Solution(w, "Done.")


def plan_of(accountant, relation="add-or-remove-one", epsilon=1.0):
    settings = Settings(accountant=accountant, relation=relation, epsilon=epsilon, delta=1e-6)
    return replace(make_plan(settings), optimizer=Sgd())


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
@pytest.mark.parametrize("accountant", ["best", "pld", "rdp", "advanced-composition"])
def test_a_run_is_held_to_the_accountant_chosen_for_it(accountant, relation):
    plan = plan_of(accountant, relation)
    problem = make_problem(make_rows(50), plan.relation, Logistic())
    if accountant == "rdp" and relation == "replace-one":
        with pytest.raises(UnsupportedEventError, match="replace-one"):
            with_planned_accountant(plan, problem)
        return
    planned = with_planned_accountant(plan, problem).accountant
    assert planned.name == (accountant if accountant != "best" else planned.name) != "best"
    check_fits(plan.optimizer, problem, planned)


def test_the_statement_names_what_was_chosen():
    from dpcore.plugin.parts import dataset_from_arrays

    rows = make_rows(60)
    model = fit_dataset(plan_of("best"), dataset_from_arrays(rows.X, rows.y))
    assert model.privacy["accountant"] == "pld"
    assert (model.privacy["epsilon"], model.privacy["delta"]) == (1.0, 1e-6)
    assert model.privacy["releases"] == {"gradient": 12}
    assert model.privacy["spent"] <= model.privacy["budget"]


def test_an_algorithm_without_a_schedule_cannot_leave_the_choice_open():
    plan = make_plan(Settings(algo="dp-agd", accountant="best", delta=1e-6))
    problem = make_problem(make_rows(50), ADD, Logistic())
    with pytest.raises(
        InvalidInputError, match="fully adaptive filter, and best is none; its own is"
    ):
        check_fits(plan.optimizer, problem, plan.accountant)
    with pytest.raises(InvalidInputError, match="states no schedule"):
        with_planned_accountant(plan, problem)


def test_the_ledger_is_the_schedule():
    rows = make_rows(60)
    from dpcore_lab.replay.recorded import record_run

    @dataclass(frozen=True, kw_only=True)
    class Named(Sgd):
        accountant: ClassVar[str] = "best"

    session, _ = record_run(Named(), rows, ADD)
    (event, count), *rest = Counter(entry.event for entry in session.ledger).items()
    assert count == 12 and not rest and event.sampling_probability == 0.2
    assert session.accountant.name == "pld"
