"""Interactive mechanisms bear out their events; those with a fault do not."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import (
    ClippedGradientSum,
    Gaussian,
    NeighboringRelation,
    Solution,
    noise_multiplier,
)
from dpcore.plugin.parts import ExPostDpEvent, GaussianDpEvent, GridScale, Sensitivity
from dpcore_lab.checks import check_interactive, check_mechanisms_and_queries
from dpcore_lab.checks.kinds import kind_of
from dpcore_lab.outcomes.frequencies import assert_as_private_as
from dpcore_lab.replay import positives
from dpcore_lab.replay.recording import started_in
from dpcore_lab.replay.transcripts import Script
from dpcore_lab.run_sizes.checks import _interactive, _parts
from dpcore_lab.run_sizes.request import LikeRequest, LikeRun

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE


def base(problem):
    return ClippedGradientSum(problem, np.ones(problem.n_features), 1.0)


class Course:
    """The state of ``Several``: a Gaussian release for the base and each question."""

    epsilon = None

    def __init__(self, mechanism, exact, noise):
        self.mechanism, self.noise, self.asked = mechanism, noise, 0
        self.drawn = None
        self.first = self.release(exact)

    @property
    def halted(self):
        return self.asked >= self.mechanism.most_questions

    def release(self, exact):
        m = self.mechanism
        scale = Gaussian(m.noise_multiplier).scale(m.question)
        self.drawn = self.fresh(scale, exact.shape)
        return np.ldexp((exact + self.drawn).astype(float), -m.question.grid_bits)

    def fresh(self, scale, shape):
        return self.noise.gaussian(scale, shape)

    def reply(self, exact):
        if self.halted:
            raise InvalidInputError("The mechanism has halted.")
        self.asked += 1
        return self.release(exact)


@dataclass(frozen=True, eq=False)
class Several:
    """Answers the base and six questions with normal noise, each of a ``noise_multiplier``."""

    base: object
    question: object
    noise_multiplier: float = 2.0
    most_questions: int = 6
    course: type = Course
    answers: int = 7
    reference = None
    kind = "several"

    @classmethod
    def of(cls, problem, **fields):
        query = base(problem)
        return cls(query, query.sensitivity(ADD), **fields)

    def event(self, sensitivity, reference):
        each = float(Gaussian(self.noise_multiplier).exact_multiplier(sensitivity))
        return GaussianDpEvent(each / np.sqrt(self.answers) * (1 - 1e-12))

    def begin(self, exact, sensitivity, reference, noise):
        return self.course(self, exact, noise)


class OneNoise(Course):
    """The noise of the first answer serves the third too."""

    def fresh(self, scale, shape):
        if self.asked == 2:
            return self.kept
        self.kept = self.kept if self.asked else super().fresh(scale, shape)
        return super().fresh(scale, shape) if self.asked else self.kept


class Pooled(Course):
    """The noise of ten answers serves all."""

    def fresh(self, scale, shape):
        self.pool = self.pool if self.asked else self.noise.gaussian(scale, (10, *shape))
        return self.pool[self.asked % 10]


class OwnNoise(Course):
    def fresh(self, scale, shape):
        return np.floor(np.random.default_rng().normal(size=shape) * 1e6).astype(np.int64)


class NoNoise(Course):
    def fresh(self, scale, shape):
        return super().fresh(scale, shape) * 0


@pytest.mark.slow
def test_honest_ones_pass():
    tested = check_interactive(Several.of)
    assert "times the claim" in tested.power


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"course": OneNoise}, "further apart"),
        ({"course": NoNoise}, "further apart"),
        pytest.param(
            {"answers": 1, "noise_multiplier": 1.0}, "further apart", marks=pytest.mark.slow
        ),
        ({"answers": 3}, "further apart"),
        ({"course": OwnNoise}, "from elsewhere"),
        ({"course": Pooled, "most_questions": 30, "answers": 31}, "one noise"),
    ],
)
def test_a_broken_one_is_caught(fields, reason):
    with pytest.raises(AssertionError, match=reason):
        check_interactive(lambda problem: Several.of(problem, **fields))


@dataclass(frozen=True, eq=False)
class StatesAnother(Several):
    """States half the cost when it is asked again."""

    seen: list = field(default_factory=list)

    def event(self, sensitivity, reference):
        self.seen.append(1)
        return GaussianDpEvent(float(len(self.seen)))


def test_an_event_that_is_not_known_beforehand_is_caught():
    with pytest.raises(AssertionError, match="another event when it is asked again"):
        check_interactive(StatesAnother.of)


class Walk:
    """The state of ``Sparse``: the first answer above a noisy threshold ends it."""

    def __init__(self, mechanism, noise):
        self.mechanism, self.noise, self.asked, self.halted = mechanism, noise, 0, False
        self.epsilon, self.first = mechanism.epsilon, None
        steps = mechanism.question.bound * 2.0**mechanism.question.grid_bits
        self.scales = [GridScale.at_least(k / mechanism.epsilon, steps, 0) for k in (2.0, 4.0)]
        self.threshold = mechanism.line + int(noise.unwrapped_laplace(self.scales[0], 1)[0])

    def reply(self, exact):
        if self.halted:
            raise InvalidInputError("The mechanism has halted.")
        self.asked += 1
        above = int(exact.item()) + self.drawn() >= self.threshold
        self.halted = above or self.asked == self.mechanism.most_questions
        return bool(above)

    def drawn(self):
        return int(self.noise.unwrapped_laplace(self.scales[1], 1)[0])


class Bare(Walk):
    """Lyu, Su & Li 2017, Figure 1, variant 5: no noise on the answers."""

    def drawn(self):
        return 0


@dataclass(frozen=True, eq=False)
class Sparse:
    """The sparse vector technique, which says which of eight questions is above ``line``."""

    base: object
    question: object = field(default_factory=lambda: Sensitivity("l1", 1.0, ADD, 8))
    epsilon: float = 0.5
    most_questions: int = 8
    walk: type = Walk
    line: int = 0
    reference = None
    kind = "sparse"

    @classmethod
    def of(cls, problem, **fields):
        return cls(base(problem), **fields)

    def event(self, sensitivity, reference):
        return ExPostDpEvent(self.epsilon)

    def begin(self, exact, sensitivity, reference, noise):
        return self.walk(self, noise)


@pytest.mark.parametrize("line", [0, 700_077])
def test_a_test_without_noise_is_caught(line):
    with pytest.raises(AssertionError, match="further apart"):
        check_interactive(lambda problem: Sparse.of(problem, walk=Bare, line=line))


class GoesOn(Walk):
    """Ends at the ``positives``-th answer above the threshold, not at the first."""

    positives = 5

    def reply(self, exact):
        above = super().reply(exact)
        self.positives -= above
        self.halted = self.positives == 0 or self.asked == self.mechanism.most_questions
        return above


class GoesOnForLong(GoesOn):
    positives = 16


@pytest.mark.slow
def test_five_positives_at_the_price_of_the_first_are_caught():
    fields = {"line": 4000 * 256, "epsilon": 2.0, "most_questions": 30}
    assert check_interactive(lambda problem: Sparse.of(problem, **fields)).not_tested
    with pytest.raises(AssertionError, match="further apart"):
        check_interactive(lambda problem: Sparse.of(problem, walk=GoesOn, **fields))


@pytest.mark.parametrize("walk", [Walk, GoesOnForLong])
def test_positives_show_in_many_questions_together(monkeypatch, walk):
    for name, few in (("_LEARNED", 1500), ("_TESTED", 6000)):
        monkeypatch.setattr(positives, name, few)
    sparse = Sparse(None, walk=walk, epsilon=2.0, most_questions=16)
    one = sparse.question
    script = Script(one, None, one, 1, 1, 8)
    event = sparse.event(one, None)
    here, there = positives.positives_that_tell(sparse, script, event, 0, 17)
    if walk is GoesOnForLong:
        with pytest.raises(AssertionError, match="further apart"):
            assert_as_private_as(event, [(here, there)], "sparse")
    else:
        assert_as_private_as(event, [(here, there)], "sparse")


class Beyond(Walk):
    def reply(self, exact):
        self.epsilon *= 1.5
        return super().reply(exact)


def test_a_loss_beyond_the_cap_is_caught():
    with pytest.raises(AssertionError, match="more than its cap"):
        check_interactive(lambda problem: Sparse.of(problem, walk=Beyond))


@dataclass(frozen=True, kw_only=True)
class Asks:
    """Starts ``Several``, and asks it one question."""

    course: type = Course

    slots: ClassVar[dict] = {}
    relations: ClassVar[tuple] = ("add-or-remove-one",)
    needs: ClassVar[tuple] = ()

    def minimize(self, problem, session):
        share = session.accountant.remaining / 3.01
        each = noise_multiplier(session.accountant, Gaussian.nominal_event, share)
        query = base(problem)
        known = query.sensitivity(problem.relation)
        several = Several(query, known, each, 2, self.course, 3)
        exchange = session.start(several)
        return Solution(exchange.value + exchange.ask(query), "Done.")


class TakesFive(Course):
    """Honest, for answers of the five features of a run."""

    def release(self, exact):
        assert exact.shape == (5,)
        return super().release(exact)


@pytest.fixture
def few_transcripts(monkeypatch):
    monkeypatch.setattr("dpcore_lab.replay.transcripts._MOST_RUNS", 200)


@pytest.mark.parametrize("course", [TakesFive, OwnNoise])
def test_the_check_of_an_optimizer_plays_what_it_starts(course, few_transcripts):
    if course is TakesFive:
        assert "Several" in check_mechanisms_and_queries(Asks(course=course)).what
        return
    with pytest.raises(AssertionError, match="drawn from elsewhere"):
        check_mechanisms_and_queries(Asks(course=course))


@pytest.mark.parametrize("course", [Course, NoNoise])
def test_what_is_started_at_the_sizes_of_a_run_is_played(course, few_transcripts, tmp_path):
    schema = tmp_path / "schema.toml"
    schema.write_text('width = 8\n[columns]\ny = { kind = "label", classes = ["a", "b"] }\n')
    like = LikeRun.of(LikeRequest(str(schema), 300), Asks(course=course))
    session, _ = like.recorded()
    assert [sizes for _, sizes in started_in(session)] == [(like.problem.n_features,) * 2]
    check = {kind: check for kind, _, _, check in _parts(like, session)}["interactive"]
    if course is Course:
        assert "transcripts 200" in check().ranges
        return
    with pytest.raises(AssertionError, match="further apart"):
        check()


def test_what_is_made_of_a_problem_is_played_at_the_sizes_of_a_run(few_transcripts, tmp_path):
    class Wide(Several):
        def begin(self, exact, sensitivity, reference, noise):
            assert exact.size == 9
            return super().begin(exact, sensitivity, reference, noise)

    schema = tmp_path / "schema.toml"
    schema.write_text('width = 8\n[columns]\ny = { kind = "label", classes = ["a", "b"] }\n')
    like = LikeRun.of(LikeRequest(str(schema), 300))
    few = {"most_questions": 2, "answers": 3}
    assert _interactive(lambda problem: Wide.of(problem, **few), like).what
    with pytest.raises(AssertionError, match="further apart"):
        _interactive(lambda problem: Wide.of(problem, course=NoNoise, **few), like)


@pytest.mark.parametrize("refused", [InvalidInputError, ValueError])
def test_one_for_several_classes_or_units_alone_is_played(refused):
    def of_classes(problem):
        if problem.n_margins < 3:
            raise refused("For several classes.")
        return Sparse(ClippedGradientSum(problem, np.ones(problem.w_shape), 1.0), walk=Beyond)

    def of_units(problem):
        if problem.rows_per_unit is None:
            raise refused("For units of several rows.")
        return Sparse.of(problem, walk=Beyond)

    for make in (of_classes, of_units):
        assert kind_of(make) == "interactive"
        with pytest.raises(AssertionError, match="more than its cap"):
            check_interactive(make)


def test_what_takes_no_problem_says_why():
    def none(problem):
        raise InvalidInputError(f"Not of {problem.n_margins} margins.")

    with pytest.raises(InvalidInputError, match="Not of 1 margins"):
        check_interactive(none)
