"""Steps beside the optimizer of a run: one filter, rehearsed before anything is charged."""

import ast
import inspect
import re
import textwrap
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from dpcore.errors import BudgetExceededError, InvalidInputError
from dpcore.fitting import run
from dpcore.fitting.balanced import BalancedWeights
from dpcore.fitting.plan import make_plan
from dpcore.fitting.settings import Settings
from dpcore.fitting.steps import Outcome, Phase, Section
from dpcore.plugin.parts import BestAccountant, dataset_from_arrays

DRAW = np.random.default_rng(3)
X = DRAW.uniform(0, 1, (3000, 2))
Y = np.where(X[:, 0] > 0.3, 1, -1)
SHARE = Fraction(1, 5)


@dataclass(frozen=True)
class CountClasses:
    """A step of somebody's own: how many rows are of each class."""

    phase: Phase = Phase.RESULT
    times: int = 1
    name: str = "late"

    def check(self, view):
        return Counts(self, BalancedWeights(SHARE).check(view))


class Counts:
    share, stated = SHARE, {"share": float(SHARE)}

    def __init__(self, step, asked):
        self.step, self.query, self.mechanism = step, asked.query, asked.mechanism
        self.phase, self.name, self.problem = step.phase, step.name, asked.problem

    def over(self, view):
        return view.encoded().engine

    def over_none(self, view):
        return replace(view, table=view.without_rows(), engine=None).encoded().engine

    def rehearse(self, session, view):
        session.release(self.query, self.mechanism)

    def run(self, session, view):
        counts = [session.release(self.query, self.mechanism) for _ in range(self.step.times)]
        return Outcome(view, section=Section({"counts": counts[-1]}))


def fitted(*steps, **options):
    settings = Settings("dp-gd", epsilon=2.0, delta=1e-6, params={"steps": "5"}, also=steps)
    data = dataset_from_arrays(X, Y, bounds=(0, 1), classes=(-1, 1))
    return run.fit_dataset(make_plan(settings), data, **options)


def share_told(error):
    """Return the spent share of the budget, as the note of an error has it."""
    (note,) = error.__notes__
    spent, budget = re.match(r"Charged, and spent: (\S+) of (\S+) ", note).groups()
    return float(spent) / float(budget)


def test_one_step_more_is_charged_within_the_budget_and_in_the_model():
    model = fitted(CountClasses())
    counts = np.array(model.sections["late"]["data"]["counts"])
    # 100 counts more or less are more than 10 deviations.
    assert np.abs(counts - [(Y == -1).sum(), (Y == 1).sum()]).max() < 100
    assert list(model.privacy["releases"])[-1] == "histogram"
    assert model.privacy["spent"] <= model.privacy["budget"]
    cost = model.ledger[-1]["cost"] / model.privacy["budget"]
    assert model.ledger[-1]["kind"] == "histogram" and cost == pytest.approx(0.2, rel=1e-3)


@pytest.mark.parametrize("phase", [Phase.PROBLEM, Phase.RESULT])
def test_what_was_not_rehearsed_is_refused_by_the_filter(phase):
    # The broken twin asks six times what it had set aside: of 1.2 budgets it has a part.
    with pytest.raises(BudgetExceededError) as caught:
        fitted(CountClasses(phase, times=6))
    assert 0 < share_told(caught.value) <= 1


def test_charges_that_are_told_have_the_step_that_ended_the_run():
    class Interrupted(Counts):
        def run(self, session, view):
            super().run(session, view)
            raise KeyboardInterrupt

    class Step(CountClasses):
        def check(self, view):
            return Interrupted(self, BalancedWeights(SHARE).check(view))

    with pytest.raises(KeyboardInterrupt) as caught:
        fitted(Step())
    assert share_told(caught.value) > 0.99


def test_a_step_that_refuses_does_so_before_anything_is_charged():
    class Refuses(CountClasses):
        def check(self, view):
            raise InvalidInputError("No.")

    with pytest.raises(InvalidInputError, match=r"^No\.$") as caught:
        fitted(CountClasses(Phase.PROBLEM), Refuses())
    assert not hasattr(caught.value, "__notes__")


def test_steps_run_in_the_order_of_their_phases():
    late, early = CountClasses(), CountClasses(Phase.PROBLEM, name="early")
    sessions = []
    model = fitted(late, early, on_release=sessions.append)
    kinds = [entry.kind for entry in sessions[-1].ledger]
    assert kinds[0] == kinds[-1] == "histogram" and kinds.count("histogram") == 2
    assert model.privacy["steps"] == {name: {"share": 0.2} for name in ("late", "early")}


def test_a_step_of_somebodys_own_changes_nothing_of_the_run():
    @dataclass(frozen=True)
    class Raises(CountClasses):
        """A step that hands on a plan with ten times the budget."""

        def check(self, view):
            counts = super().check(view)
            more = BestAccountant.from_budget(20.0, 1e-6, None)

            def run(session, view):
                plan = replace(view.ready.plan, accountant=more)
                return Outcome(replace(view, ready=replace(view.ready, plan=plan, of_each=plan)))

            counts.run = run
            return counts

    model = fitted(Raises(Phase.PROBLEM, name="early"), CountClasses())
    assert model.privacy["epsilon"] == 2.0 and model.privacy["accountant"] != "best"
    assert model.sections.keys() == {"late"}


def test_a_step_that_costs_more_than_it_states_is_refused_before_anything():
    class Cheap(CountClasses):
        def check(self, view):
            asked = super().check(view)
            asked.share = 0.1
            return asked

    for phase in (Phase.PROBLEM, Phase.RESULT):
        with pytest.raises(InvalidInputError, match="0.1 of the budget, and its releases cost mo"):
            fitted(Cheap(phase))


def test_a_step_is_taken_as_it_was_when_it_was_checked():
    class Turns(CountClasses):
        """A step whose request has another name, share and problem at each reading."""

        def check(self, view):
            return Turning(self, BalancedWeights(SHARE).check(view))

    class Turning(Counts):
        readings = 0
        share = property(lambda self: self.turned(SHARE, Fraction(1, 100)))
        problem = property(lambda self: None, lambda self, _: None)

        def turned(self, first, then):
            self.readings += 1
            return first if self.readings == 1 else then

    model = fitted(Turns())
    assert model.privacy["steps"] == {"late": {"share": 0.2}}


def test_a_step_under_the_name_of_ours_or_before_the_schema_is_refused():
    class Borrowed(CountClasses):
        __module__ = "dpcore.fitting.balanced"

    with pytest.raises(InvalidInputError, match="to bear the name of its own module"):
        fitted(Borrowed())
    with pytest.raises(InvalidInputError, match="to have the phase PROBLEM or RESULT"):
        fitted(CountClasses(Phase.SCHEMA))


def test_a_fit_is_sixty_lines():
    (fit,) = ast.parse(textwrap.dedent(inspect.getsource(run.fit_dataset))).body
    assert fit.end_lineno <= 60
