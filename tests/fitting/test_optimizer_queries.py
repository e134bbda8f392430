"""An optimizer that alters what it is handed before its run: the fit goes on with its own."""

import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import pytest

from dpcore.errors import BudgetExceededError, UnsupportedEventError
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.plugin import Gaussian, RowCount, Solution
from dpcore.plugin.commands import Run
from dpcore.plugin.parts import (
    GaussianDpEvent,
    Registration,
    Registry,
    dataset_from_arrays,
    load_registry,
)
from dpcore.registry.catalogue import KINDS


class Smaller(float):
    """A number that calls itself smaller than any other."""

    def __gt__(self, other):
        return False


def raise_budget(accountant):
    for name in ("budget", "budget_ticks", "epsilon"):
        if name in {own.name for own in fields(accountant)}:
            object.__setattr__(accountant, name, 10**45)


def shrink_rows(problem):
    object.__setattr__(problem, "row_norm", 2.0**-8)


@dataclass(frozen=True, kw_only=True)
class Greedy:
    """Releases as often as it is let."""

    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "greedy"
    slots: ClassVar[dict[str, Any]] = {}
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one",)
    needs: ClassVar[tuple[str, ...]] = ()
    noise: ClassVar[float] = 1.0
    released: ClassVar[list[int]] = []
    norms: ClassVar[list[float]] = []

    def minimize(self, problem, session):
        count = 0
        try:
            for count in range(50):  # noqa: B007
                session.release(RowCount(), Gaussian(self.noise))
        except (BudgetExceededError, UnsupportedEventError):
            pass
        self.released.append(count)
        self.norms.append(problem.row_norm)
        return Solution(np.zeros(problem.n_features), "done")


class AltersInL2(Greedy):
    def default_l2(self, problem, accountant):
        raise_budget(accountant)
        shrink_rows(problem)
        return 0.0


class AltersInSchedule(Greedy):
    needs: ClassVar[tuple[str, ...]] = ("fixed-schedule",)
    noise: ClassVar[float] = 15.0  # Of which the filter would hold a few.
    stated: ClassVar[list[GaussianDpEvent]] = []

    def schedule(self, problem, noise_multiplier):
        shrink_rows(problem)
        self.stated.append(GaussianDpEvent(noise_multiplier))
        return {self.stated[-1]: 40}

    def minimize(self, problem, session):
        for event in self.stated:
            object.__setattr__(event, "noise_multiplier", 0.5)
        return super().minimize(problem, session)


class AltersInNeeds(Greedy):
    targets: ClassVar[tuple[str, ...]] = ()

    def needed_epsilon(self, problem):
        shrink_rows(problem)
        return Smaller(1.0)


class AltersInChoice(Greedy):
    @classmethod
    def choose(cls, settings):
        object.__setattr__(settings, "epsilon", 1e6)
        object.__setattr__(settings, "seed", 3)
        object.__setattr__(settings, "algo", "dp-gd")
        return settings, "it likes to"


DATA = dataset_from_arrays(
    np.random.default_rng(0).random((64, 3)), np.where(np.arange(64) % 2, 1.0, -1.0)
)


@pytest.fixture
def planned(monkeypatch):
    def plan_of(optimizer, **asked):
        module = types.ModuleType("greedy_optimizers")
        module.Given = optimizer
        monkeypatch.setitem(sys.modules, module.__name__, module)
        known = load_registry()
        target = f"{module.__name__}:Given"
        entry = Registration("optimizer", "greedy", target, "s", "", module.__name__, "1")
        entries = [held for kind in KINDS for held in known.entries(kind)]
        optimizer.released.clear()
        settings = Settings(algo="greedy", **{"epsilon": 1.0, "delta": 1e-6, **asked})
        return make_plan(settings, Registry([*entries, entry]))

    return plan_of


@pytest.mark.parametrize("accountant", ["zcdp", "rdp", "gdp"])
def test_default_l2_cannot_raise_the_budget(planned, accountant):
    plan = planned(AltersInL2, accountant=accountant)
    statement = Run(plan, DATA).model().privacy
    released = Greedy.released[-1]
    Run(planned(Greedy, accountant=accountant), DATA).model()
    assert released == Greedy.released[-1] < 2
    assert statement["epsilon"] == 1.0
    assert Run(plan, DATA).ready().problem.row_norm == DATA.row_norm


def test_a_schedule_that_was_stated_cannot_be_altered(planned):
    plan = planned(AltersInSchedule, accountant="advanced-composition")
    Run(plan, DATA).model()
    assert Greedy.released == [0]
    assert Greedy.norms[-1] == DATA.row_norm
    assert min(event.noise_multiplier for event in AltersInSchedule.stated) == 0.5
    loose = Settings(algo="dp-gd", accountant="advanced-composition", epsilon=1.0, delta=1e-6)
    assert make_plan(loose).accountant.holds({GaussianDpEvent(15.0): 2})


def test_needed_epsilon_is_a_plain_number(planned):
    ready = Run(planned(AltersInNeeds, epsilon=1.0), DATA).ready()
    assert ready.problem.row_norm == DATA.row_norm
    assert type(ready.plan.accountant.epsilon) is float


def test_a_choice_sets_no_budget(planned):
    plan = planned(AltersInChoice, epsilon=1.0)
    assert (plan.entry.name, plan.settings.epsilon, plan.settings.seed) == ("dp-gd", 1.0, None)
    assert plan.accountant.epsilon == 1.0
