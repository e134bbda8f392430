"""Brownian noise reduction: its bound, its path, its tests, and what breaks each of them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import ApproximateDpEvent, GridScale, SeededNoise, Sensitivity
from dpcore_accuracy_first.brownian_noise import mechanism as brownian
from dpcore_accuracy_first.brownian_noise import threshold as reduced_threshold
from dpcore_accuracy_first.brownian_noise.boundary import least_clocks
from dpcore_accuracy_first.brownian_noise.mechanism import Brownian, increments
from dpcore_accuracy_first.brownian_noise.threshold import ReducedAboveThreshold, threshold_noise
from dpcore_accuracy_first.objectives.in_l2 import GramInL2
from dpcore_lab.checks import check_interactive

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
BASE = Sensitivity("l2", 4.0, ADD, grid_bits=8)
ASKED = Sensitivity("l1", 1.0, ADD, grid_bits=8)
STEPS = 2**8
LOSSES = tuple(np.geomspace(0.5, 4.0, 12).tolist())


def walk_of(losses=LOSSES, tests=1.0, thresholds=0.0, delta=1e-6, **others):
    count = len(losses)
    return ReducedAboveThreshold(
        None, losses, delta, (tests,) * count, 0.4, (thresholds,) * count, ASKED, **others
    )


def test_clocks_grow_with_the_loss_and_with_delta():
    clocks = least_clocks(LOSSES, 1e-6)
    assert all(0 < a < b for a, b in zip(clocks, clocks[1:], strict=False))
    assert all(a < b for a, b in zip(clocks, least_clocks(LOSSES, 1e-4), strict=True))


def test_a_level_by_itself_has_the_curve_of_normal_distributions():
    # Balle & Wang 2018, Theorem 8, by scipy.
    for loss, clock in zip(LOSSES, least_clocks(LOSSES, 1e-6), strict=True):
        mu = float(clock) ** 0.5
        delta = stats.norm.cdf(mu / 2 - loss / mu)
        delta -= np.exp(loss) * stats.norm.cdf(-mu / 2 - loss / mu)
        assert delta == pytest.approx(1e-6 / len(LOSSES), rel=1e-4)


def of_the_line(losses, delta):
    """The paper's linear boundary: W(u) >= a + b u for some u with probability e^(-2ab) at most
    (Ville 1939), least at the first level."""
    log = np.log(1 / delta)
    first = (np.sqrt(2 * log + 2 * losses[0]) - np.sqrt(2 * log)) ** 2
    b = np.sqrt(log / (2 * first))
    return np.maximum(0.0, np.array(losses) - log / (2 * b)) / (0.5 + b)


def test_a_part_of_delta_for_each_level_takes_less_noise_than_the_papers_line():
    clocks = np.array(least_clocks(LOSSES, 1e-6), dtype=float)
    assert (clocks > 1.2 * of_the_line(LOSSES, 1e-6)).all()


def excess_of(clocks, losses, runs=200_000, counted=None):
    """Return sup over stops of E[(1 - e^(loss - L))^+] about, L the privacy loss where a walk that
    stops at the first level whose loss is passed stops: at most delta. ``counted`` : the level
    whose loss is counted instead."""
    rng = np.random.default_rng(4)
    u = np.array(clocks, dtype=float)
    steps = rng.normal(size=(runs, len(u))) * np.sqrt(np.diff(u, prepend=0.0))
    passed = u / 2 + np.cumsum(steps, axis=1)
    claimed = np.array(losses) if counted is None else np.full(len(u), losses[counted])
    over = passed > claimed
    first = over.argmax(axis=1)
    at = passed[np.arange(runs), first] - claimed[first]
    return float(np.where(over.any(axis=1), -np.expm1(-np.maximum(at, 0.0)), 0.0).mean())


DELTA = 0.01
# 200,000 runs of a value between 0 and 1: Hoeffding's bound is .006 at 1e-6, of a mean of .01 or
# less Bernstein's .0013.
MARGIN = 0.0013


def test_a_walk_that_stops_where_its_loss_is_passed_is_within_delta():
    losses = tuple(np.geomspace(0.5, 8.0, 20).tolist())
    assert excess_of(least_clocks(losses, DELTA), losses) <= DELTA + MARGIN


def test_a_bound_that_takes_delta_at_each_level_by_itself_is_caught():
    # Broken on purpose: pointwise, not at every level together.
    losses = tuple(np.geomspace(0.5, 8.0, 20).tolist())
    pointwise = [least_clocks((loss,), DELTA)[0] for loss in losses]
    assert excess_of(pointwise, losses) > 2 * DELTA + MARGIN


def test_the_loss_of_the_noisiest_level_is_too_small_for_the_last_one():
    # Broken on purpose: the first level that was looked at is what is counted.
    clocks = least_clocks(LOSSES, DELTA)
    assert excess_of(clocks, LOSSES, counted=0) > 10 * DELTA


def test_the_noise_of_a_level_is_what_its_clock_asks_for():
    scales = increments(LOSSES, 1e-6, BASE)
    clocks = least_clocks(LOSSES, 1e-6)
    steps = Fraction(4 * STEPS)
    for t, clock in enumerate(clocks):
        variance = sum(scale.steps**2 for scale in scales[t:])
        assert variance >= steps**2 / clock
        assert float(variance * clock / steps**2) == pytest.approx(1, rel=1e-6)


def test_brownian_releases_its_levels_in_turn_and_counts_the_last():
    made = Brownian(None, LOSSES, 1e-6, BASE)
    assert made.event(BASE, None) == ApproximateDpEvent(4.0, 1e-6)
    state = made.begin(np.array([3000, -(10**6)]), BASE, None, SeededNoise(1))
    values, losses = [state.first], [state.epsilon]
    while not state.halted:
        values.append(state.reply(np.zeros(2, dtype=np.int64)))
        losses.append(state.epsilon)
    assert losses == list(map(Fraction, LOSSES)) and len(values) == made.most_questions + 1
    assert values[-1] == pytest.approx([3000 / STEPS, -(10**6) / STEPS], abs=40)
    with pytest.raises(InvalidInputError, match="halted"):
        state.reply(np.zeros(2, dtype=np.int64))


def test_what_wraps_at_one_level_wraps_at_all():
    state = Brownian(None, LOSSES, 1e-6, BASE).begin(
        np.array([2**63 - 1]), BASE, None, SeededNoise(1)
    )
    values = [state.first, *(state.reply(np.zeros(1, dtype=np.int64)) for _ in LOSSES[1:])]
    assert np.abs(values).max() <= 2.0**55


def test_the_cap_is_the_last_level_and_its_test():
    event = walk_of().event(BASE, None)
    assert isinstance(event, ApproximateDpEvent) and event.delta == 1e-6
    assert event.epsilon == pytest.approx(5.0, rel=1e-12) and event.epsilon <= 5.0 * (1 + 1e-15)


def test_a_walk_costs_the_level_that_it_reached_and_that_ones_test():
    tests = tuple(np.linspace(0.5, 1.0, len(LOSSES)).tolist())
    made = replace(walk_of(thresholds=1e9), tests=tests)
    walk = made.begin(np.zeros(2, np.int64), BASE, None, SeededNoise(1))
    found = [float(walk.epsilon)]
    while not walk.halted:
        reply = walk.reply(np.zeros(1, np.int64))
        found.append(float(walk.epsilon))
    both = [a + b for a, b in zip(LOSSES, tests, strict=True)]
    assert found == pytest.approx([*both, both[-1]], rel=1e-9)
    assert not reply.accepted and reply.value is None


@pytest.mark.parametrize(("question", "accepted"), [(-1, True), (0, True), (1, False)])
def test_a_value_at_the_threshold_passes(monkeypatch, question, accepted):
    monkeypatch.setattr(reduced_threshold, "_one_sided", lambda scale, noise: 0)
    walk = walk_of(thresholds=-3.0).begin(np.zeros(1, np.int64), BASE, None, SeededNoise(1))
    reply = walk.reply(np.array([3 * STEPS + question], dtype=np.int64))
    assert reply.accepted is accepted


def test_the_thresholds_noise_is_geometric_at_every_level_and_falls():
    scales, runs = [GridScale(9), GridScale(5), GridScale(5), GridScale(2)], 1200
    noise = SeededNoise(3)
    drawn = np.array([threshold_noise(scales, noise) for _ in range(runs)])
    assert (np.diff(drawn, axis=1) <= 0).all() and (drawn[:, 1] == drawn[:, 2]).all()
    for level, scale in enumerate(scales):
        distribution = stats.geom(-np.expm1(-1 / float(scale.steps)), loc=-1)
        most = int(distribution.ppf(1 - 20 / runs))
        counts = np.bincount(np.minimum(drawn[:, level], most), minlength=most + 1)
        means = runs * np.append(distribution.pmf(np.arange(most)), distribution.sf(most - 1))
        assert stats.chisquare(counts, means * counts.sum() / means.sum()).pvalue > 1e-7


@pytest.mark.parametrize(
    "change",
    [{"losses": (2.0, 1.0)}, {"losses": (0.0, 1.0)}, {"delta": 0.0}, {"delta": 1.0},
     {"tests": (2.0, 1.0)}, {"tests": (1.0,)}, {"share": 0.0}, {"share": 1.0},
     {"thresholds": (0.0, float("inf"))}],
)  # fmt: skip
def test_values_out_of_range_are_refused(change):
    with pytest.raises(InvalidInputError):
        replace(walk_of((1.0, 2.0)), **change)


def test_the_base_needs_an_l2_sensitivity():
    for made in (walk_of(), Brownian(None, LOSSES, 1e-6, BASE)):
        with pytest.raises(InvalidInputError, match="l2"):
            made.event(ASKED, None)


def descent(problem, kind=Brownian):
    base = GramInL2(problem)
    return kind(base, (0.1, 0.2, 0.4, 0.8), 1e-6, base.sensitivity(ADD))


def reduced(problem, kind=ReducedAboveThreshold, levels=4):
    losses, tests = (0.1, 0.2, 0.4, 0.8)[:levels], (0.3, 0.4, 0.5, 0.5)[:levels]
    return kind(GramInL2(problem), losses, 1e-6, tests, 0.4, (0.0,) * levels, ASKED)


@pytest.mark.slow
@pytest.mark.parametrize("make", [descent, reduced])
def test_they_are_as_private_as_their_events_say(make):
    check_interactive(make)


@pytest.mark.slow
def test_a_path_whose_increments_are_reused_is_caught(monkeypatch):
    # Broken on purpose: each level adds the same deviates again, so that two levels give the
    # answer away: (2 first - second) has no noise.
    def reused(noise, scales, size):
        drawn = noise.unwrapped_gaussian(scales[-1], size)
        return np.stack([drawn * (len(scales) - t) for t in range(len(scales))])

    monkeypatch.setattr(brownian, "normal_path", reused)
    with pytest.raises(AssertionError, match="further apart"):
        check_interactive(descent)


@pytest.mark.slow
def test_tests_with_noise_for_a_hundredth_of_the_sensitivity_are_caught():
    class Loud(ReducedAboveThreshold):
        """Broken on purpose."""

        def begin(self, exact, sensitivity, reference, noise):
            less = replace(self, question=replace(ASKED, bound=0.01))
            return ReducedAboveThreshold.begin(less, exact, sensitivity, reference, noise)

    with pytest.raises(AssertionError, match="further apart"):
        check_interactive(lambda problem: reduced(problem, Loud, levels=2))


def test_a_bound_that_lies_leaves_no_other_scales():
    class Small(float):
        as_integer_ratio = lambda self: (1, 9)  # noqa: E731

    add = NeighboringRelation.ADD_OR_REMOVE_ONE
    asked = [Sensitivity("l2", 3.0, add, grid_bits=4) for _ in range(2)]
    object.__setattr__(asked[0], "bound", Small(3.0))
    first, honest = (increments((0.25, 0.5), 1e-6, each) for each in asked)
    assert first == honest != increments.__wrapped__((0.25, 0.5), 1e-6, asked[0])
