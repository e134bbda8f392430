"""Steps of somebody's own: no row is shown to them, no more than their share is theirs, and what
they release, and with which parts, is stated."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpcore import fit
from dpcore.errors import BudgetExceededError, InvalidInputError, OptimizerError
from dpcore.fitting import run
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.steps.facts import Phase
from dpcore.fitting.steps.step import OneRelease, Outcome, Section
from dpcore.plugin import Gaussian
from dpcore.plugin.parts import dataset_from_arrays
from dpcore.plugin.steps import mechanism_for
from dpcore_tables.statistics import CategoricalColumn, Histogram

DRAW = np.random.default_rng(5)
X = DRAW.uniform(0, 1, (300, 2))
Y = np.where(X[:, 0] > 0.3, 1, -1)
PHASES = (Phase.PROBLEM, Phase.RESULT)


@dataclass(frozen=True)
class Other(Histogram):
    """A query of somebody's own."""


@dataclass(frozen=True)
class Unpromising(Gaussian):
    """A mechanism that says of itself that it promises nothing."""

    private = False


@dataclass(frozen=True)
class Count:
    """A step: how many rows are of each class, asked ``times`` times; ``keep`` is shown all."""

    phase: Any = Phase.PROBLEM
    times: int = 1
    keep: Any = field(default=lambda view, session: {})
    query: type = Histogram
    mechanism: Any = None
    name: str = "mine"

    def check(self, facts):
        self.keep(facts, None)
        mechanism = mechanism_for(facts.accountant, Fraction(1, 10))
        query = self.query(CategoricalColumn((), facts.schema.label.names), norm="l2")
        if self.mechanism is not None:
            mechanism = self.mechanism(mechanism.noise_multiplier)
        return Asked(Fraction(1, 10), query, mechanism, lambda *_: None, step=self)


@dataclass(frozen=True, eq=False)
class Asked(OneRelease):
    step: Any = field(kw_only=True)

    def run(self, session, view):
        for _ in range(self.step.times):
            session.release(self.query, self.mechanism)
        return Outcome(Section(self.step.keep(view, session)))


def fitted(*steps, **options):
    told = {"epsilon": 2.0, "delta": 1e-6, "params": {"steps": "2"}, "accountant": "gdp"}
    data = dataset_from_arrays(X, Y, bounds=(0, 1), classes=(-1, 1))
    return run.Run(make_plan(Settings("dp-gd", also=steps, **told)), data, **options).model()


@pytest.mark.parametrize("phase", PHASES)
def test_a_step_releases_no_more_than_its_share(phase):
    # The filter has room for it: the share of the optimizer, or that of the other step.
    with pytest.raises(
        BudgetExceededError, match="mine asked for a release that costs more than is left"
    ) as error:
        fitted(Count(phase, times=2), Count(phase, name="other"))
    assert "Charged, and spent" in error.value.__notes__[0]


@pytest.mark.parametrize("phase", PHASES)
def test_a_session_that_a_step_keeps_releases_nothing_after_it(phase):
    kept = []
    step = Count(phase, keep=lambda view, session: kept.append(session) or {})
    fitted(step)
    with pytest.raises(InvalidInputError, match="was closed"):
        kept[-1].release(Histogram(CategoricalColumn((), (-1, 1)), norm="l2"), Gaussian(50.0))


@pytest.mark.parametrize("phase", PHASES)
def test_the_parts_of_its_releases_are_stated_whenever_they_were_made(phase):
    model = fitted(Count(phase, query=Other, mechanism=Unpromising))
    named = {part.rpartition(":")[2] for part in model.privacy["parts_not_from_dpcore"]}
    assert {"Count", "Asked", "Other", "Unpromising"} <= named
    assert not model.privacy["private"]
    assert "promise no privacy were released" in model.privacy["why_not_private"][0]


@pytest.mark.parametrize("phase", PHASES)
def test_an_error_of_a_step_is_told_by_type_and_place(phase):
    def fails(view, session):
        if session is not None:
            raise ValueError("a secret")
        return {}

    with pytest.raises(OptimizerError, match="The step mine failed: ValueError in .*py:") as error:
        fitted(Count(phase, keep=fails))
    assert "secret" not in str(error.value)
    assert error.value.__cause__ is None and error.value.__context__ is None


def test_a_step_of_somebodys_own_alters_no_solution():
    @dataclass(frozen=True, eq=False)
    class Alters(Asked):
        def run(self, session, view):
            solution = replace(view.solution, w=view.solution.w + 1000.0)
            return Outcome(Section({}), solution=solution)

    class Altering(Count):
        def check(self, facts):
            asked = super().check(facts)
            return Alters(asked.share, asked.query, asked.mechanism, asked.follow, step=self)

    model = fitted(Altering(Phase.RESULT))
    assert "mine" in model.sections and np.abs(model.w).max() < 500


def test_a_section_names_its_step_and_one_that_is_none_is_told_as_a_failure():
    model = fitted(Count(keep=lambda view, session: {"n": 1}))
    assert model.sections["mine"]["part"].endswith(":Count")
    with pytest.raises(OptimizerError, match="The step mine failed"):
        fitted(Count(keep=lambda view, session: 7))


def test_data_that_no_file_can_hold_are_left_out_with_a_warning(caplog):
    model = fitted(Count(keep=lambda view, session: {"day": object()}))
    assert "left out" in model.sections["mine"]["data"]["left_out"]
    assert "the data of the step mine were left out: a object" in caplog.text


def test_a_step_by_itself_is_one_and_a_request_that_is_none_is_refused():
    model = fit(X, Y, classes=(-1, 1), bounds=(0, 1), epsilon=2.0, algo="dp-gd", also=Count())
    assert "mine" in model.sections
    with pytest.raises(InvalidInputError, match="check of the step nothing returned no request"):
        fitted(AsksNothing())


@dataclass(frozen=True)
class AsksNothing:
    name = "nothing"
    phase = Phase.RESULT

    def check(self, facts):
        return None


def test_a_phase_that_is_none_is_refused():
    with pytest.raises(InvalidInputError, match="to declare its phase, one of"):
        fitted(Count("result"))
    with pytest.raises(InvalidInputError, match="its rows, one of encoded, waiting, held-out, and"):
        fitted(OfOtherRows())


@dataclass(frozen=True)
class OfOtherRows(AsksNothing):
    rows = "all"


@dataclass(frozen=True, eq=False)
class Understated(Asked):
    """A request that states none of its releases, or one of a hundredth of its cost."""

    stated_with: Any = field(default=None, kw_only=True)

    @property
    def releases(self):
        return () if self.stated_with is None else ((self.query, self.stated_with),)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("factor", [None, 10.0])
def test_a_step_releases_no_more_than_it_stated_beforehand(phase, factor):
    """The filter is charged what a step states: the rest of its share was spent twice, by the step
    and by the optimizer."""

    @dataclass(frozen=True)
    class Sly(Count):
        def check(self, facts):
            asked = vars(super().check(facts))
            noise = asked["mechanism"].noise_multiplier
            lesser = None if factor is None else Gaussian(factor * noise)
            return Understated(**asked, stated_with=lesser)

    with pytest.raises(BudgetExceededError, match="mine asked for a release|The release needs"):
        fitted(Sly(phase))
