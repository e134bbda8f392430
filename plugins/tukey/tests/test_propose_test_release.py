"""Test and draw together are (epsilon, delta)-DP: every outcome, of all neighbours on a line."""

import math

import naive_depth as naive
import numpy as np
import pytest
import test_boxes as line
from test_boxes import small_grid  # noqa: F401  (a fixture)

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import ApproximateDpEvent, SeededNoise, load_registry
from dpcore_tukey.boxes import Boxes
from dpcore_tukey.part_models import PartModels
from dpcore_tukey.propose_test_release import ProposeTestRelease, TestedModels

EPSILON, DELTA = 6.0, 0.05
RIDGE = load_registry().load("loss", "ridge")()


def models_of(models=line.M, relation=NeighboringRelation.ADD_OR_REMOVE_ONE):
    return PartModels(Problem(RIDGE, 0.0, 1, 1.0, 1.0, relation), models)


def mechanism_of(**changed):
    words = {"epsilon": EPSILON, "delta": DELTA, "test_share": 0.4, "least": line.LEAST}
    return ProposeTestRelease(models_of(), **{**words, **changed})


def outcomes(mechanism, models, threshold):
    """Return the probability of failure and of each point."""
    distribution, scale = mechanism.distribution, float(mechanism.scale.steps)
    h = distribution.distance(line.boxes_of(models), line.Fraction(mechanism.delta))
    passed = naive.passes(h, threshold, scale)
    p = naive.distribution(models, line.LINE, distribution.least, line.weight_of(distribution))
    return [1 - passed, *(passed * float(each) for each in p)]


def worst(mechanism, threshold):
    """Return the largest delta at epsilon over all neighbours, both orders."""
    known = {models: outcomes(mechanism, models, threshold) for models in line.every_line()}
    factor = math.exp(mechanism.epsilon)
    return max(
        naive.hockey_stick(p, known[other], factor)
        for models, p in known.items()
        for other in line.neighbours(models)
    )


@pytest.mark.slow
def test_every_pair_of_neighbours_is_within_epsilon_and_delta():
    mechanism = mechanism_of()
    assert 0.01 * DELTA < worst(mechanism, mechanism.threshold) <= DELTA * (1 + 1e-9)


@pytest.mark.slow
def test_a_test_that_everybody_passes_is_found():
    assert worst(mechanism_of(), -100) > DELTA


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-5, 0.04])
def test_the_parts_add_up_and_the_threshold_is_the_least(epsilon, delta):
    mechanism = mechanism_of(epsilon=epsilon, delta=delta)
    b = mechanism.scale.steps
    assert 1 / b + mechanism.distribution.epsilon + line.Fraction(delta) == line.Fraction(epsilon)
    assert math.isclose(1 / b, 0.4 * (epsilon - delta), rel_tol=1e-12)
    assert naive.passes(0, mechanism.threshold, float(b)) <= delta * (1 + 1e-12)
    assert naive.passes(0, mechanism.threshold - 1, float(b)) > delta * (1 - 1e-12)


def test_the_event_is_the_whole_and_the_question_is_for_the_models():
    mechanism = mechanism_of()
    bound = mechanism.base.sensitivity(NeighboringRelation.ADD_OR_REMOVE_ONE)
    assert mechanism.event(bound, None) == ApproximateDpEvent(EPSILON, DELTA)
    assert mechanism.narrowed(0, "anything") is mechanism.base and mechanism.most_questions == 1


def test_how_often_the_test_is_passed():
    mechanism, noise, seen = mechanism_of(delta=0.3, test_share=0.1), SeededNoise(2), []
    assert mechanism.threshold == 2
    for models in (line.every_line()[0], line.every_line()[60]):
        expected = 1 - outcomes(mechanism, models, mechanism.threshold)[0]
        seen.append(expected)
        boxes = Boxes(np.array(models, np.int64))
        passed = [TestedModels(mechanism, boxes, noise).first for _ in range(100)]
        assert abs(np.mean(passed) - expected) < 5 * math.sqrt(0.25 / 100)
    assert 0.3 < min(seen) < max(seen) < 0.7


def test_a_failed_test_halts_and_a_point_is_drawn_once():
    models, noise = np.zeros((line.M, 1), dtype=np.int64), SeededNoise(4)
    apart = np.array(line.LINE * 2)[: line.M]
    states = [TestedModels(mechanism_of(delta=0.001), Boxes(apart), noise) for _ in range(20)]
    assert any(state.halted and not state.first for state in states)
    for state in (
        next(s for s in states if s.halted),
        TestedModels(mechanism_of(), Boxes(models), noise),
    ):
        if not state.halted:
            assert state.reply(models) == 0.0
        with pytest.raises(InvalidInputError, match="halted"):
            state.reply(models)


@pytest.mark.parametrize(
    "changed",
    [{"delta": 0.0}, {"delta": 0.6}, {"delta": 1e-3, "epsilon": 1e-3}, {"test_share": 1.0}]
    + [{"least": 0}, {"least": 5}, {"least": 2.0}, {"epsilon": math.inf}],
)
def test_what_has_no_proof_is_refused(changed):
    with pytest.raises(InvalidInputError):
        mechanism_of(**changed)


def test_another_query_is_refused():
    with pytest.raises(InvalidInputError, match="PartModels"):
        ProposeTestRelease("models", 1.0, 1e-6, 0.5, 2)
