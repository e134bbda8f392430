"""Samples in a replay: every row keeps its coin, on neighbours of another size too."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from honest import Honest

from dpcore.plugin import FixedSchedule, Gaussian, Solution
from dpcore.plugin.parts import (
    GaussianDpEvent,
    GdpAccountant,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
)
from dpcore_a_ddp.fixed_size_sample import FixedSizeSample
from dpcore_accounting.samples import PoissonSample
from dpcore_lab.checks import (
    check_never_overspends,
    check_outputs_released,
    check_sensitivity_on_neighbours,
    check_tiny_budget_refused,
)
from dpcore_lab.checks.parts import foreign_parts
from dpcore_lab.replay import recorded as runs


@dataclass(frozen=True, kw_only=True)
class Unamplified(GdpAccountant):
    """Charges a sampled release as if every row took part, which is never too little."""

    events: ClassVar[tuple] = (
        GaussianDpEvent,
        PoissonSampledDpEvent,
        SampledWithoutReplacementDpEvent,
    )

    def _leaf_cost(self, event):
        return super()._leaf_cost(getattr(event, "event", event))


@pytest.fixture(autouse=True)
def unamplified(monkeypatch):
    def accountant_of(optimizer, epsilon, delta, problem=None):
        return Unamplified.from_budget(epsilon, delta)

    monkeypatch.setattr(runs, "accountant_of", accountant_of)


@dataclass(frozen=True, kw_only=True)
class Sampled(Honest):
    """The honest one over a tenth of the rows, or over a third of a fixed size."""

    fixed: bool = False

    def step(self, problem, session, w, multiplier, n):
        query = self.query(problem, w, multiplier)
        if self.fixed:
            sample = FixedSizeSample(query, max(1, problem.n // 3), problem.n)
        else:
            sample = PoissonSample(query, 0.4)
        return w - self.rate * session.release(sample, Gaussian(multiplier)) / n


@dataclass(frozen=True, kw_only=True)
class SampledFixed(Sampled):
    fixed: bool = True
    relations: ClassVar[tuple] = ("replace-one",)


@pytest.mark.parametrize("optimizer", [Sampled(steps=6), SampledFixed(steps=6)])
def test_samples_are_replayed(optimizer):
    # Other coins in the replay would move a sum by many clips.
    check_outputs_released(optimizer)
    check_sensitivity_on_neighbours(optimizer)


def test_too_small_a_clip_is_caught_under_the_same_coins():
    class Loose:
        """Claims half of what a row can move."""

        def __init__(self, query):
            self.inner, self.kind, self.loss = query, query.kind, query.loss
            self.start, self.answer_block = query.start, query.answer_block

        def sensitivity(self, relation):
            import dataclasses

            true = self.inner.sensitivity(relation)
            return dataclasses.replace(true, bound=true.bound / 4)

    @dataclass(frozen=True, kw_only=True)
    class Understated(Sampled):
        relations: ClassVar[tuple] = ("add-or-remove-one",)

        def query(self, problem, w, multiplier):
            return Loose(super().query(problem, w, multiplier))

    with pytest.raises(AssertionError, match="moved by more"):
        check_sensitivity_on_neighbours(Understated(steps=6))
    assert any(
        part.endswith(":test_too_small_a_clip_is_caught_under_the_same_coins.<locals>.Loose")
        for part in foreign_parts(Understated(steps=6))
    )


def test_a_run_that_looks_at_its_sample_is_caught():
    @dataclass(frozen=True, kw_only=True)
    class Peeks(Sampled):
        def minimize(self, problem, session):
            rows = session._engine._table.n_rows
            w = np.zeros(problem.n_features)
            for _ in range(1 + rows % 2):
                w = self.step(problem, session, w, 50.0, 400)
            return Solution(w, "Done.")

    with pytest.raises(AssertionError):
        check_outputs_released(Peeks(steps=2))


@dataclass(frozen=True, kw_only=True)
class Planned(Sampled):
    """States its schedule, and takes the noise that fits it."""

    accountant: ClassVar[str] = "best"
    needs: ClassVar[tuple] = ("fixed-schedule",)

    def schedule(self, problem, noise_multiplier):
        inner = GaussianDpEvent(noise_multiplier)
        return {PoissonSampledDpEvent(0.4, inner, problem.relation): self.steps}

    def minimize(self, problem, session):
        multiplier = FixedSchedule.noise_multiplier(
            session.accountant, lambda m: self.schedule(problem, m)
        )
        w = np.zeros(problem.n_features)
        for _ in range(self.steps):
            w = self.step(problem, session, w, multiplier, problem.n_public or 400)
        return Solution(w, "Done.")


@pytest.mark.slow
@pytest.mark.parametrize(
    "check", [check_outputs_released, check_never_overspends, check_tiny_budget_refused]
)
def test_a_planned_run_passes_the_checks_with_what_was_chosen_for_it(check, monkeypatch):
    monkeypatch.undo()
    check(Planned(steps=5))


def test_an_overspent_sample_is_caught_by_the_recount(monkeypatch):
    # A tenth of the noise that is needed.
    @dataclass(frozen=True, kw_only=True)
    class Understated(Unamplified):
        def _leaf_cost(self, event):
            return super()._leaf_cost(event) / 100

    def accountant_of(optimizer, epsilon, delta, problem=None):
        return Understated.from_budget(epsilon, delta)

    monkeypatch.setattr(runs, "accountant_of", accountant_of)
    with pytest.raises(AssertionError, match="over the budget"):
        check_never_overspends(Planned(steps=5))
