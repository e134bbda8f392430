"""Each check of an optimizer catches the cheat it is there for."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest
from honest import Honest

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import BudgetExceededError, InvalidInputError
from dpcore.plugin import ClippedGradientSum, Gaussian, Solution
from dpcore_lab.checks import (
    check_bad_parameters_refused,
    check_huge_epsilon_limit,
    check_mechanisms_and_queries,
    check_never_overspends,
    check_outputs_released,
    check_repeatable_when_seeded,
    check_sensitivity_on_neighbours,
    check_tiny_budget_refused,
    parametrize_with_checks,
)
from dpcore_lab.replay.canonical import canonical


class ExactNorm(Honest):
    """Normalises by the norm of the exact gradient."""

    def step(self, problem, session, w, multiplier, n):
        exact = session._engine.answer(self.query(problem, w, multiplier)).astype(float)
        gradient = session.release(self.query(problem, w, multiplier), Gaussian(multiplier))
        return w - gradient / (1 + np.linalg.norm(exact))


class KeepsData(Honest):
    """Keeps a reference to the rows and starts from their mean."""

    def minimize(self, problem, session):
        solution = super().minimize(problem, session)
        block = session._engine._table.blocks[0]
        return Solution(solution.w + 1e-9 * block.margins(np.ones(5)).mean(), "Done.")


class OwnNoise(Honest):
    """Draws noise of its own."""

    def step(self, problem, session, w, multiplier, n):
        moved = super().step(problem, session, w, multiplier, n)
        return moved + 1e-6 * np.random.default_rng().normal(size=w.size)


class SpendsOn(Honest):
    """After a refusal it goes on with a fresh accountant."""

    def minimize(self, problem, session):
        solution = super().minimize(problem, session)
        budget = session.accountant
        session._account._filter = ZcdpAccountant.from_budget(budget.epsilon, budget.delta)
        Honest.minimize(self, problem, session)
        return solution


class RaisesBudget(Honest):
    """Swaps the accountant for one of a larger budget."""

    def minimize(self, problem, session):
        delta = session.accountant.delta
        session._account._filter = ZcdpAccountant.from_budget(100.0, delta)
        return super().minimize(problem, session)


class StepsByRows(Honest):
    """Steps by one over the exact number of rows."""

    def step(self, problem, session, w, multiplier, n):
        return super().step(problem, session, w, multiplier, session._engine._table.n_rows)


class BranchesOnExact(Honest):
    """Stops when the exact gradient is short: the number of releases leaks."""

    def step(self, problem, session, w, multiplier, n):
        exact = session._engine._table.blocks[0].margins(w)
        if np.abs(exact).mean() > 0.2:
            raise BudgetExceededError("early")
        return super().step(problem, session, w, multiplier, n)


class TellsInStatus(Honest):
    """Puts an exact value into the status."""

    def minimize(self, problem, session):
        solution = super().minimize(problem, session)
        return Solution(solution.w, f"Done with {session._engine._table.n_rows} rows.")


class HalfQuery(ClippedGradientSum):
    def sensitivity(self, relation):
        declared = super().sensitivity(relation)
        return dataclasses.replace(declared, bound=declared.bound / 2)


class HalfSensitivity(Honest):
    """Brings a query that declares half its sensitivity."""

    def query(self, problem, w, multiplier):
        return HalfQuery(problem, w, 0.3, noise_multiplier=multiplier)


class Lazy(Honest):
    """Never gets anywhere."""

    def step(self, problem, session, w, multiplier, n):
        super().step(problem, session, w, multiplier, n)
        return w


class SpendsBeforeLooking(Honest):
    """Asks first, then finds its parameters senseless."""

    def __post_init__(self):
        pass

    def minimize(self, problem, session):
        session.release(ClippedGradientSum(problem, np.zeros(5), 1.0), Gaussian(50.0))
        if not np.isfinite(self.rate):
            raise InvalidInputError("rate")
        return super().minimize(problem, session)


class Swallows(Honest):
    """Stops after a number of steps that follows from the rows, and catches whatever is raised."""

    def minimize(self, problem, session):
        w = np.zeros(problem.n_features)
        share = session.accountant.budget / 400
        multiplier = float(np.sqrt(1 / (2 * share))) if share else 1e300
        for _ in range(200 - session._engine._table.n_rows // 50):
            try:
                w = self.step(problem, session, w, multiplier, problem.n_public or 400)
            except Exception:
                if not session.ledger:
                    raise
                break
        return Solution(w, "Done.")


class DiffersOnManyRows(Honest):
    """Has another rate for more than 5,000 rows."""

    def step(self, problem, session, w, multiplier, n):
        many = session._engine._table.n_rows > 5000
        moved = super().step(problem, session, w, multiplier, n)
        return (w + moved) / 2 if many else moved


@dataclass(frozen=True)
class NoNoise(Gaussian):
    """Gives the exact answer and states the event of the Gaussian mechanism."""

    def release(self, exact, sensitivity, noise):
        return np.ldexp(exact.astype(float), -sensitivity.grid_bits)


class BringsNoNoise(Honest):
    """Brings a mechanism without noise."""

    def step(self, problem, session, w, multiplier, n):
        gradient = session.release(self.query(problem, w, multiplier), NoNoise(multiplier))
        return w - self.rate * (gradient / n + problem.l2 * w)


NoNoiseInDisguise = type(
    "Gaussian", (NoNoise,), {"__module__": Gaussian.__module__, "__qualname__": "Gaussian"}
)


class BringsItInDisguise(Honest):
    """Brings the same under the name of dpcore's own."""

    def step(self, problem, session, w, multiplier, n):
        mechanism = NoNoiseInDisguise(multiplier)
        gradient = session.release(self.query(problem, w, multiplier), mechanism)
        return w - self.rate * (gradient / n + problem.l2 * w)


class NotASum(ClippedGradientSum):
    """Its rows are divided by how many there are, rounded."""

    def answer_block(self, block):
        return super().answer_block(block) // block.n_rows


class BringsAMean(Honest):
    """Brings a query that is no sum over rows."""

    def query(self, problem, w, multiplier):
        return NotASum(problem, w, self.clip, noise_multiplier=multiplier)


class Comparison(Gaussian):
    """A mechanism kept for comparison."""

    private = False


class ReleasesComparisons(Honest):
    """Releases a part that promises nothing, and promises privacy itself."""

    def step(self, problem, session, w, multiplier, n):
        gradient = session.release(self.query(problem, w, multiplier), Comparison(multiplier))
        return w - self.rate * (gradient / n + problem.l2 * w)


@pytest.mark.slow
@parametrize_with_checks([Honest()])
def test_an_honest_optimizer_passes(optimizer, check):
    check(optimizer)


@pytest.mark.some_fast
@pytest.mark.parametrize(
    ("cheat", "check", "reason"),
    [
        (ExactNorm(), check_outputs_released, "not charged"),
        (ExactNorm(), check_never_overspends, "not charged"),
        (KeepsData(), check_outputs_released, "more than the released values"),
        (OwnNoise(), check_outputs_released, "another question|more than the released"),
        (OwnNoise(), check_repeatable_when_seeded, "outside the session"),
        (SpendsOn(), check_never_overspends, "over the budget"),
        (RaisesBudget(), check_never_overspends, "budget changed"),
        (StepsByRows(), check_outputs_released, "another question"),
        (BranchesOnExact(), check_outputs_released, "stopped early|more releases|more than"),
        (TellsInStatus(), check_outputs_released, "status"),
        (HalfSensitivity(), check_sensitivity_on_neighbours, "declared l2"),
        (Swallows(), check_outputs_released, "more releases"),
        (DiffersOnManyRows(), check_outputs_released, "another question|more than the released"),
        (BringsNoNoise(), check_mechanisms_and_queries, "no noise"),
        (BringsAMean(), check_mechanisms_and_queries, "sum of what its rows contribute"),
        (HalfSensitivity(), check_mechanisms_and_queries, "declared l2"),
        (ReleasesComparisons(), check_mechanisms_and_queries, "parts that are not: .*:Comparison"),
        (Lazy(), check_huge_epsilon_limit, "possible gain"),
        (SpendsBeforeLooking(), check_bad_parameters_refused, "only after a release"),
    ],
)
def test_a_cheat_is_caught(cheat, check, reason):
    with pytest.raises(AssertionError, match=reason):
        check(cheat)


def test_a_part_under_the_name_of_ours_is_refused():
    with pytest.raises(InvalidInputError, match="calls itself dpcore.mechanisms.gaussian:Gauss"):
        check_mechanisms_and_queries(BringsItInDisguise())


class AltersFacts(Honest):
    """Tells the queries of shorter rows."""

    def minimize(self, problem, session):
        object.__setattr__(problem, "row_norm", 1e-6)
        return super().minimize(problem, session)


def test_altered_facts_are_refused_in_a_check_as_in_a_run():
    with pytest.raises(InvalidInputError, match="A query states row_norm=1e-06"):
        check_outputs_released(AltersFacts())


class IgnoresBudget(Honest):
    """Goes round the filter when the budget is hopeless."""

    def minimize(self, problem, session):
        session._engine.answer(self.query(problem, np.zeros(5), 1.0))
        return super().minimize(problem, session)


def test_asking_before_a_hopeless_budget_is_refused_is_caught():
    with pytest.raises(AssertionError, match="hopeless budget"):
        check_tiny_budget_refused(IgnoresBudget())


def test_objects_of_two_classes_have_two_forms_and_one_of_a_class_that_is_renamed():
    kinds = [type(name, (), {}) for name in ("First", "Second")]
    first, second = (canonical(kind()) for kind in kinds)
    assert first != second and canonical(kinds[0]()) == first
    kinds[0].__qualname__ = "Third"
    assert canonical(kinds[0]()) not in (first, second)
