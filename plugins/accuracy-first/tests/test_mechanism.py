"""Noise reduction with above-threshold: its cost, its boundary, and sparse-vector bugs."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import ExPostDpEvent, PureDpEvent, SeededNoise, Sensitivity
from dpcore_accuracy_first.noise_chain.mechanism import NoiseReduction
from dpcore_accuracy_first.queries.gram import GramMatrix
from dpcore_lab.checks import check_interactive
from dpcore_lab.outcomes.frequencies import assert_as_private_as

REPLACE = NeighboringRelation.REPLACE_ONE
BASE = Sensitivity("l1", 4.0, REPLACE, grid_bits=8)
ASKED = Sensitivity("l1", 1.0, REPLACE, grid_bits=8)
STEPS = 2**8


def mechanism(levels=(0.1, 0.2, 0.4), tests=1.0, threshold=0.0):
    return NoiseReduction(None, levels, tests, threshold, ASKED)


def outcome(made, base, questions, noise):
    """Return (tests made, accepted, values) of a run; questions in units."""
    walk = made.begin(np.array(base, dtype=np.int64), BASE, None, noise)
    values = [walk.first]
    for asked, question in enumerate(questions, start=1):
        reply = walk.reply(np.array([round(question * STEPS)], dtype=np.int64))
        if reply.value is None:
            return asked, reply.accepted, values
        values.append(reply.value)
    return len(questions), False, values


def test_the_cap_is_the_tests_and_the_last_level():
    event = mechanism().event(BASE, None)
    assert isinstance(event, ExPostDpEvent)
    assert event.epsilon == pytest.approx(1.4, rel=1e-12) and event.epsilon <= 1.4 * (1 + 1e-15)


def test_the_loss_of_an_outcome_grows_with_the_levels_that_were_released():
    walk = mechanism(threshold=1e9).begin(np.zeros(2, np.int64), BASE, None, SeededNoise(1))
    losses = [float(walk.epsilon)]
    for _ in range(3):
        reply = walk.reply(np.zeros(1, np.int64))
        losses.append(float(walk.epsilon))
    assert losses == pytest.approx([1.1, 1.2, 1.4, 1.4], rel=1e-12)
    assert walk.halted and not reply.accepted and reply.value is None


def test_a_reference_doubles_the_noise_of_the_tests():
    plain, both = mechanism()._test(None), mechanism()._test(ASKED)
    assert both.threshold.steps == 2 * plain.threshold.steps
    assert both.question.steps == 2 * plain.question.steps
    assert plain.question.steps == 2 * plain.threshold.steps == 4 * STEPS
    assert both.epsilon <= 1 and plain.epsilon <= 1


class Scripted:
    """A noise source whose tests have no noise, to look at the comparison itself."""

    def __init__(self):
        self.inner = SeededNoise(1)
        self.words, self.geometric = self.inner.words, self.inner.geometric

    def unwrapped_laplace(self, scale, size):
        return np.zeros(size, dtype=object)


@pytest.mark.parametrize(("question", "accepted"), [(-1, True), (0, True), (1, False)])
def test_a_value_at_the_threshold_passes(question, accepted):
    # A test of ``>`` where the proof has ``>=`` moves the mass of the boundary to the other side.
    walk = mechanism(threshold=-3.0).begin(np.zeros(1, np.int64), BASE, None, Scripted())
    reply = walk.reply(np.array([3 * STEPS + question], dtype=np.int64))
    assert reply.accepted is accepted


def test_a_threshold_between_two_steps_is_the_next_one():
    walk = mechanism(threshold=0.1 / STEPS).begin(np.zeros(1, np.int64), BASE, None, Scripted())
    assert not walk.reply(np.array([0], dtype=np.int64)).accepted


def test_huge_noise_is_compared_without_wrapping():
    made = NoiseReduction(None, (1.0,), 1e-13, 0.0, ASKED)
    accepted = [outcome(made, [0], [0.0], SeededNoise(seed))[1] for seed in range(200)]
    assert 60 < sum(accepted) < 140


@pytest.mark.parametrize(
    ("levels", "tests", "threshold"),
    [((), 1.0, 0.0), ((0.2, 0.1), 1.0, 0.0), ((0.1, 0.1), 1.0, 0.0), ((0.1,), 0.0, 0.0),
     ((float("nan"),), 1.0, 0.0), ((0.1,), 1.0, float("inf"))],
)  # fmt: skip
def test_values_out_of_range_are_refused(levels, tests, threshold):
    with pytest.raises(InvalidInputError):
        mechanism(levels, tests, threshold)


def test_the_base_needs_an_l1_sensitivity():
    with pytest.raises(InvalidInputError, match="l1"):
        mechanism().event(Sensitivity("l2", 1.0, REPLACE), None)


# Outcomes on two neighbours: all questions move by the sensitivity, half of them either way.
M = 3
HERE, THERE = [0.0] * (2 * M), [1.0] * M + [-1.0] * M
RUNS = 1500


@pytest.mark.slow
def test_our_tests_pass_the_audit():
    made = NoiseReduction(None, tuple(np.geomspace(1e-6, 2e-6, 2 * M)), 0.7, 1.0, ASKED)

    def hits(questions, seed):
        noise = SeededNoise(seed)
        ends = np.array([outcome(made, [0], questions, noise)[:2] for _ in range(RUNS)])
        return np.array([(ends[:, 0] == t) & (ends[:, 1] == 1) for t in range(1, 2 * M + 1)]).T

    pairs = [(hits(HERE, 1), hits(THERE, 2)), (hits([1, -1, 0], 3), hits([0, 0, -1], 4))]
    assert_as_private_as(PureDpEvent(0.7 + 4e-6), pairs, "noise reduction")


def svt(variant, questions, epsilon, seed, runs=40_000, threshold=0.0):
    """Return the answers (runs, questions) of a sparse-vector variant of Lyu, Su & Li 2017, Figure
    1, for one positive answer, and the numbers that variant 3 gives away."""
    rng = np.random.default_rng(seed)
    noise = rng.laplace(scale=2 / epsilon, size=(runs, len(questions)))
    if variant == 5:
        noise[:] = 0.0
    if variant == 6:
        noise = rng.laplace(scale=2 / epsilon, size=(runs, len(questions)))
    noisy = np.array(questions) + noise
    above = noisy >= threshold + rng.laplace(scale=2 / epsilon, size=(runs, 1))
    return above, noisy


def test_a_variant_without_noise_on_the_answers_is_caught():
    sets = [
        [((~above[:, 0]) & above[:, 1])[:, None] for above, _ in [svt(5, q, 1.0, seed)]][0]
        for seed, q in enumerate([[0.0, 1.0], [1.0, 0.0]])
    ]
    with pytest.raises(AssertionError, match="SVT5"):
        assert_as_private_as(PureDpEvent(1.0), [tuple(sets)], "SVT5")


def test_a_variant_that_goes_on_after_a_success_is_caught():
    def pattern(questions, seed):
        above, _ = svt(6, questions, 1.0, seed)
        return ((~above[:, :M]).all(axis=1) & above[:, M:].all(axis=1))[:, None]

    with pytest.raises(AssertionError, match="SVT6"):
        assert_as_private_as(PureDpEvent(1.0), [(pattern(HERE, 1), pattern(THERE, 2))], "SVT6")


@pytest.mark.slow
def test_a_variant_that_gives_the_noisy_answer_away_is_caught():
    # Silence on four questions and then a number at most 0: the threshold's noise was below it.
    def pattern(questions, seed):
        above, noisy = svt(3, [*questions, 0.0], 1.0, seed, runs=2_000_000)
        silent = ~above[:, :-1].any(axis=1)
        return (silent & above[:, -1] & (noisy[:, -1] <= 0))[:, None]

    with pytest.raises(AssertionError, match="SVT3"):
        assert_as_private_as(
            PureDpEvent(1.0), [(pattern([0.0] * 4, 1), pattern([1.0] * 4, 2))], "SVT3"
        )


def test_exact_costs_are_fractions_and_never_above_what_was_asked():
    walk = mechanism((1 / 3, 2 / 3), tests=0.1).begin(
        np.zeros(1, np.int64), BASE, None, SeededNoise(1)
    )
    assert isinstance(walk.epsilon, Fraction)
    assert walk.epsilon <= Fraction(1 / 3) + Fraction(0.1)


@pytest.mark.slow
def test_it_is_as_private_as_its_event_says():
    add = NeighboringRelation.ADD_OR_REMOVE_ONE
    asked = Sensitivity("l1", 1.0, add, grid_bits=8)

    def make(problem, kind=NoiseReduction):
        base = GramMatrix(problem, l1_norm=1.0)
        return kind(base, (0.1, 0.2, 0.4, 0.8), 0.5, 0.0, asked)

    assert check_interactive(make).power

    class Loud(NoiseReduction):
        """Broken on purpose: noise for a tenth of the sensitivity."""

        def begin(self, exact, sensitivity, reference, noise):
            small = replace(sensitivity, bound=sensitivity.bound / 10)
            return super().begin(exact, small, reference, noise)

    with pytest.raises(AssertionError, match="further apart"):
        check_interactive(lambda problem: make(problem, Loud))


def test_an_answer_in_one_column_gets_noise_of_its_own_in_each_entry():
    # Noise of shape (4,) beside an answer of shape (4, 1) would be that of one entry for all.
    column = np.zeros((4, 1), dtype=np.int64)
    first = mechanism().begin(column, BASE, None, SeededNoise(3)).first
    assert first.shape == (4,) and len({*first.tolist()}) == 4
