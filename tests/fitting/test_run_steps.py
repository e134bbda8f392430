"""Steps beside the optimizer of a run: one filter, a dry run before anything is charged."""

import ast
import inspect
import itertools
import re
import textwrap
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from dpcore.errors import BudgetExceededError, InvalidInputError
from dpcore.fitting import run
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.rows.run_rows import RunRows
from dpcore.fitting.steps.budget_share import ShareOfBudget
from dpcore.fitting.steps.facts import Phase
from dpcore.fitting.steps.pre_fit_release import mechanism_for
from dpcore.fitting.steps.step import Outcome, Section
from dpcore.plugin import Gaussian, Geometric, NeighboringRelation, Problem, RowCount
from dpcore.plugin.parts import SeededNoise, Sensitivity, dataset_from_arrays
from dpcore.plugin.steps import StepSession
from dpcore.privacy.first_party import is_ours, part_of
from dpcore_tables.weights.balanced import BalancedWeights

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
    share: object = SHARE

    def check(self, facts):
        asked = BalancedWeights(share=SHARE).check(facts)
        return Counts(asked.query, asked.mechanism, self.share, self.times)


@dataclass(frozen=True)
class Counts:
    query: object
    mechanism: object
    share: object
    times: int = 1
    stated = None

    @property
    def releases(self):
        return ((self.query, self.mechanism),)

    def run(self, session, view):
        counts = [session.release(self.query, self.mechanism) for _ in range(self.times)]
        return Outcome(Section({"counts": counts[-1]}))


def fitted(*steps, **options):
    settings = Settings("dp-gd", epsilon=2.0, delta=1e-6, params={"steps": "5"}, also=steps)
    data = dataset_from_arrays(X, Y, bounds=(0, 1), classes=(-1, 1))
    return run.Run(make_plan(settings), data, **options).model()


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
def test_what_the_dry_run_did_not_ask_is_refused_by_the_filter(phase):
    # The broken twin asks six times what it had set aside: of 1.2 budgets it has a part.
    with pytest.raises(BudgetExceededError) as caught:
        fitted(CountClasses(phase, times=6))
    assert 0 < share_told(caught.value) <= 1


@pytest.mark.parametrize("mechanism", [Gaussian(50.0), Geometric(50.0)])
def test_the_deviation_that_steps_are_told_is_that_of_the_noise(mechanism):
    problem = Problem(
        loss=Settings(loss="logistic").make_loss(),
        l2=0.0,
        n_features=2,
        row_norm=1.0,
        raw_norm_bound=1.0,
        relation=NeighboringRelation.REPLACE_ONE,
        rows_per_unit=2,
    )
    query = RowCount(mechanism.needs)
    # Two rows that are replaced move the count by as much as the session charges for a unit.
    moved = Sensitivity(mechanism.needs, 4.0, problem.relation, grid_bits=0)
    drawn = mechanism.release(np.zeros(4000, dtype=np.int64), moved, SeededNoise(1))
    told = StepSession.deviation_of(mechanism, query, problem)
    # Of 4,000 deviates the deviation is known within 1.8 %: seeded, so that it is always the same.
    assert np.ldexp(drawn, -moved.grid_bits).std() == pytest.approx(told, rel=0.05)


def test_charges_that_are_told_have_the_step_that_ended_the_run():
    class Interrupted(Counts):
        def run(self, session, view):
            super().run(session, view)
            raise KeyboardInterrupt

    class Step(CountClasses):
        def check(self, facts):
            asked = super().check(facts)
            return Interrupted(asked.query, asked.mechanism, asked.share)

    with pytest.raises(KeyboardInterrupt) as caught:
        fitted(Step())
    assert share_told(caught.value) > 0.99


def test_a_step_that_refuses_does_so_before_anything_is_charged():
    class Refuses(CountClasses):
        def check(self, view):
            raise InvalidInputError("No.")

    with pytest.raises(InvalidInputError, match=r"^No\.$") as caught:
        fitted(CountClasses(Phase.PROBLEM), Refuses(name="other"))
    assert not hasattr(caught.value, "__notes__")


def test_steps_run_in_the_order_of_their_phases():
    late, early = CountClasses(), CountClasses(Phase.PROBLEM, name="early")
    sessions = []
    model = fitted(late, early, on_release=sessions.append)
    kinds = [entry.kind for entry in sessions[-1].ledger]
    assert kinds[0] == kinds[-1] == "histogram" and kinds.count("histogram") == 2
    assert model.privacy["steps"] == {name: {"share": 0.2} for name in ("late", "early")}


def test_a_step_of_somebodys_own_changes_nothing_of_the_run():
    class Weighs(CountClasses):
        """A step that hands on weights of classes, as a step of dpcore may."""

        def check(self, facts):
            return Weighing(*vars(super().check(facts)).values())

    class Weighing(Counts):
        def run(self, session, view):
            super().run(session, view)
            return Outcome(class_weights=(20.0, 1.0), stated={"share": 0.0})

    model = fitted(Weighs(Phase.PROBLEM, name="early"), CountClasses())
    assert not model.class_weights and model.sections.keys() == {"late"}
    assert model.privacy["steps"]["early"] == {"share": 0.2}
    # The control: the run takes such a change from a step of its own.
    assert fitted(BalancedWeights()).class_weights


def test_a_step_that_costs_more_than_it_states_is_refused_before_anything():
    for phase in (Phase.PROBLEM, Phase.RESULT):
        with pytest.raises(InvalidInputError, match="0.1 of the budget, and its releases cost mo"):
            fitted(CountClasses(phase, share=0.1))


@pytest.mark.parametrize("phase", [Phase.PROBLEM, Phase.RESULT])
def test_a_step_has_its_share_and_nothing_that_others_left(phase):
    @dataclass(frozen=True)
    class Idle(CountClasses):
        """A step that states a release, and makes none."""

        def check(self, facts):
            asked = BalancedWeights(share=self.share).check(facts)
            return Nothing(asked.query, asked.mechanism, self.share)

    class Nothing(Counts):
        def run(self, session, view):
            return Outcome()

    # Three tenths are left by somebody else: a second release of a fifth has no place in them.
    with pytest.raises(BudgetExceededError, match="late asked for a release that costs"):
        fitted(Idle(phase, name="idle", share=0.3), CountClasses(phase, times=2))
    left = fitted(Idle(phase, name="idle", share=0.3), CountClasses(phase)).privacy
    assert left["steps"]["idle"] == {"share": 0.3} and left["spent"] <= left["budget"]


def test_the_schedule_of_a_share_refuses_what_is_more_and_its_twin_does_not():
    plan = make_plan(Settings("dp-gd", epsilon=2.0, delta=1e-6, accountant="zcdp"))
    mechanism = mechanism_for(plan.accountant, Fraction(1, 10))
    event = mechanism.nominal_event(mechanism.noise_multiplier)
    held = ShareOfBudget(plan.accountant, [event], "counts")
    held.take(event)
    with pytest.raises(BudgetExceededError, match="costs more than is left of those"):
        held.take(event)
    # A broken twin, which looks at the whole budget alone, takes nine of them.
    twin = ShareOfBudget(plan.accountant, 9 * [event], "counts")
    for _ in range(9):
        twin.take(event)


def test_no_view_and_no_door_holds_a_row_or_answers_exactly():
    class Looks(CountClasses):
        def check(self, facts):
            seen.append(facts)
            return Looking(*vars(super().check(facts)).values())

    class Looking(Counts):
        def run(self, session, view):
            seen.extend([view, session])
            return super().run(session, view)

    seen = []
    fitted(Looks(Phase.PROBLEM, name="early"), Looks())
    answering = [each for each in seen if {"answer", "engine", "dataset"} & set(dir(each))]
    assert len(seen) == 6 and answering == []
    with pytest.raises(InvalidInputError, match="was closed"):
        seen[-1].release(*BalancedWeights(share=SHARE).check(seen[0]).releases[0])
    # The twin that the check finds: a view of an earlier version, with the rows.
    assert {"dataset"} & set(dir(RunRows(dataset=None)))


def test_a_step_is_taken_as_it_was_when_it_was_checked():
    class Turns(CountClasses):
        """A step whose request has another share at each reading."""

        def check(self, facts):
            asked = super().check(facts)
            return Turning(asked.query, asked.mechanism)

    class Turning:
        stated, readings = None, 0

        def __init__(self, query, mechanism):
            self.releases = ((query, mechanism),)

        @property
        def share(self):
            self.readings += 1
            return SHARE if self.readings == 1 else Fraction(1, 100)

        def run(self, session, view):
            return Outcome(Section({"counts": session.release(*self.releases[0])}))

    model = fitted(Turns())
    assert model.privacy["steps"] == {"late": {"share": 0.2}}


def test_a_float_is_read_as_its_shortest_decimal():
    assert StepSession.exact_share(0.1) == Fraction(1, 10) and Fraction(0.1) != Fraction(1, 10)
    assert StepSession.exact_share("1/3") == Fraction(1, 3)
    for share in (None, "half", float("nan"), float("inf"), True):
        with pytest.raises(InvalidInputError, match="a share that is a number"):
            StepSession.exact_share(share)


@pytest.mark.parametrize(
    ("need", "options", "said"),
    [
        ("one-session", {"multiclass": "ovr"}, "The step late needs one fit, .*Leave it out"),
        ("unweighted", {"class_weight": {"1": 2.0}}, "needs rows and classes without weights"),
        ("held-out-rows", {}, "needs rows held out. Leave it out, or give --test-fraction"),
        ("rowshere", {}, "'rowshere', which is no need of a step. Did you mean rows-here"),
        (
            "adaptive-filter",
            {"algo": "sgd-adv", "params": {}},
            "step late is .* to a fixed schedule",
        ),
    ],
)
def test_a_need_that_is_not_met_is_refused_by_name_before_a_charge(need, options, said):
    @dataclass(frozen=True)
    class Needs(CountClasses):
        needs: frozenset = frozenset({need})

    settings = {"params": {"steps": "5"}, **options}
    settings = {"algo": "dp-gd", **settings}
    settings = Settings(epsilon=2.0, delta=1e-6, also=(Needs(),), **settings)
    classes = ("1", "2", "3") if "multiclass" in options else ("1", "2")
    labels = np.array(classes)[np.arange(len(X)) % len(classes)]
    data = dataset_from_arrays(X, labels, bounds=(0, 1), classes=classes)
    with pytest.raises(InvalidInputError, match=said) as caught:
        run.Run(make_plan(settings), data).model()
    assert not hasattr(caught.value, "__notes__")


def test_a_step_under_the_name_of_ours_or_before_the_schema_is_refused():
    class Borrowed(CountClasses):
        __module__ = "dpcore_tables.weights.balanced"

    with pytest.raises(InvalidInputError, match="to bear the name of its own module"):
        fitted(Borrowed())
    with pytest.raises(InvalidInputError, match="to have the phase PROBLEM or RESULT"):
        fitted(CountClasses(Phase.SCHEMA))
    with pytest.raises(InvalidInputError, match="SOLVE is the optimizer's"):
        fitted(CountClasses(Phase.SOLVE))


def test_a_step_whose_class_says_another_module_each_time_is_not_dpcores(monkeypatch):
    class Changing(type):
        asked = itertools.count()
        module = property(
            lambda cls: RowCount.__module__ if not next(cls.asked) % 2 else CountClasses.__module__
        )
        __module__ = module

    class Changes(CountClasses, metaclass=Changing):
        __qualname__ = "CHANGES"

    monkeypatch.setitem(globals(), "CHANGES", Changes)

    assert Changes.__module__ != Changes.__module__
    assert not is_ours(part_of(Changes()).partition(":")[0])
    assert is_ours(part_of(BalancedWeights()).partition(":")[0])


def test_no_function_of_a_fit_has_forty_lines():
    for whole, most in ((run.Run.model, 40), (run._model_of_rows, 40)):
        (fit,) = ast.parse(textwrap.dedent(inspect.getsource(whole))).body
        assert fit.end_lineno <= most
