"""The accountant chosen for a schedule, and a run that is held to it."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from dpcore.accountants.registered import registered_accountants
from dpcore.errors import BudgetExceededError, InvalidInputError, UnsupportedEventError
from dpcore.fitting.planning.compatibility import check_fits
from dpcore.fitting.planning.fixed_schedule import with_planned_accountant
from dpcore.plugin import (
    ClippedGradientSum,
    FixedSchedule,
    Gaussian,
    NeighboringRelation,
    Settings,
    Solution,
)
from dpcore.plugin.commands import Run, make_plan
from dpcore.plugin.parts import (
    GaussianDpEvent,
    Logistic,
    PoissonSampledDpEvent,
)
from dpcore_accounting.samples import PoissonSample
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
ALL = registered_accountants()


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
        multiplier = FixedSchedule.noise_multiplier(
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
    model = Run(plan_of("best"), dataset_from_arrays(rows.X, rows.y)).model()
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
