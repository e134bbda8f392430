"""Exponential mechanism, permute-and-flip, noisy max: exact distributions by independent
formulas."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    ExponentialMechanismDpEvent,
    NoiseSource,
    PureDpEvent,
    SeededNoise,
    Sensitivity,
)
from dpcore_accounting.selections.exponential import Exponential
from dpcore_accounting.selections.permute_and_flip import PermuteAndFlip
from dpcore_accounting.selections.report_noisy_max import ReportNoisyMax
from dpcore_accounting.selections.utilities import shortfalls

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
MECHANISMS = [Exponential, PermuteAndFlip, ReportNoisyMax]


def scores(change_range=1.0, relation=ADD, grid_bits=0, bound=1.0):
    return Sensitivity("linf", bound, relation, grid_bits, change_range)


def exponential_distribution(utilities, scale):
    weights = [mpmath.exp(mpmath.mpf(u) / scale) for u in utilities]
    return [w / mpmath.fsum(weights) for w in weights]


def permute_and_flip_distribution(utilities, scale):
    """Sum over all orders of the probability that i is the first whose coin falls."""
    best, distribution = max(utilities), [0.0] * len(utilities)
    orders = list(itertools.permutations(range(len(utilities))))
    for order in orders:
        reached = 1.0
        for i in order:
            coin = math.exp((utilities[i] - best) / scale)
            distribution[i] += reached * coin / len(orders)
            reached *= 1 - coin
    return distribution


def one_sided_distribution(utilities, scale, sign):
    """Distribution of argmax(u_i + sign * s * E_i), by quadrature over the winner's deviate."""

    def density_of_win(e, i):
        level = utilities[i] / scale + sign * e
        others = 1.0
        for j, u in enumerate(utilities):
            if j != i:
                room = sign * (level - u / scale)
                below = -math.expm1(-room) if room > 0 else 0.0
                others *= below if sign > 0 else 1 - below
        return math.exp(-e) * others

    kinks = sorted({abs(u - v) / scale for u in utilities for v in utilities} - {0.0})
    edges = [0.0, *kinks, (kinks[-1] if kinks else 0.0) + 50]
    return [
        sum(
            quad(density_of_win, a, b, args=(i,), epsabs=1e-14, epsrel=1e-12)[0]
            for a, b in itertools.pairwise(edges)
        )
        for i in range(len(utilities))
    ]


def noisy_max_distribution(utilities, scale):
    """Sum over the winner's floored Laplace deviate; among equals the lowest index wins."""

    def below(t):
        """P(floor(s L) < t) = P(L < t / s)."""
        return math.exp(t / scale) / 2 if t < 0 else 1 - math.exp(-t / scale) / 2

    distribution = []
    for i, u in enumerate(utilities):
        terms = []
        for z in range(-int(45 * scale), int(45 * scale)):
            term = below(z + 1) - below(z)
            for j, v in enumerate(utilities):
                if j != i:
                    term *= below(u + z - v + (1 if j > i else 0))
            terms.append(term)
        distribution.append(math.fsum(terms))
    return distribution


DISTRIBUTIONS = {
    Exponential: exponential_distribution,
    PermuteAndFlip: permute_and_flip_distribution,
    ReportNoisyMax: noisy_max_distribution,
}
UTILITIES = [[0, -1], [0, -2, 1], [3, 0, 2, -1, 3]]


def sample(mechanism, utilities, n, seed=7, change_range=1.0):
    exact, noise = np.array(utilities, dtype=np.int64), SeededNoise(seed)
    change = scores(change_range)
    return np.array([mechanism.release(exact, change, noise) for _ in range(n)])


def p_value(reference, drawn, distribution):
    return reference.p_value_of_counts(
        np.bincount(drawn, minlength=len(distribution)), distribution
    )


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("utilities", UTILITIES)
def test_selections_follow_the_exact_distribution(reference, mechanism, utilities):
    drawn = sample(mechanism(2.5), utilities, 3000)
    assert (
        p_value(reference, drawn, DISTRIBUTIONS[mechanism](utilities, 2.5)) > reference.FALSE_ALARM
    )


class WrongSign(PermuteAndFlip):
    """Broken, as published: argmin(loss + Exp) instead of argmax(-loss + Exp)."""

    def release(self, exact, sensitivity, noise):
        return int(np.argmin(-exact + noise.exponential(self.scale(sensitivity), exact.size)))


class Unscaled(ReportNoisyMax):
    """Broken: floors to a coarser grid than the scores stand on."""

    def release(self, exact, sensitivity, noise):
        return int(np.argmax(exact // 2 * 2 + noise.laplace(self.scale(sensitivity), exact.size)))


@pytest.mark.parametrize("broken, sound", [(WrongSign, PermuteAndFlip), (Unscaled, ReportNoisyMax)])
def test_the_chi_square_catches_broken_twins(reference, broken, sound):
    utilities = UTILITIES[2]
    drawn = sample(broken(2.5), utilities, 3000)
    assert p_value(reference, drawn, DISTRIBUTIONS[sound](utilities, 2.5)) < reference.FALSE_ALARM


@pytest.mark.parametrize("utilities", UTILITIES)
def test_permute_and_flip_is_noisy_max_with_exponential_noise(utilities):
    # Two independent formulas of one distribution (Ding et al. 2021).
    one = one_sided_distribution(utilities, 2.5, +1)
    assert one == pytest.approx(permute_and_flip_distribution(utilities, 2.5), abs=1e-10)
    assert sum(one_sided_distribution(utilities, 2.5, -1)) == pytest.approx(1, abs=1e-10)


def privacy_loss(distribution, one, other, scale):
    pairs = zip(distribution(one, scale), distribution(other, scale), strict=True)
    return max(abs(math.log(p / q)) for p, q in pairs)


def wrong_sign_distribution(utilities, scale):
    return one_sided_distribution(utilities, scale, -1)


def right_sign_distribution(utilities, scale):
    return one_sided_distribution(utilities, scale, +1)


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
@pytest.mark.parametrize(
    "distribution", [exponential_distribution, right_sign_distribution, noisy_max_distribution]
)
def test_the_worst_pair_of_utilities_stays_within_epsilon(distribution, epsilon):
    level, lower = [0] * 21, [-1] + [0] * 20
    assert privacy_loss(distribution, level, lower, 1 / epsilon) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_one_sided_noise_of_the_wrong_sign_costs_20_times_the_claim(epsilon):
    level, lower = [0] * 21, [-1] + [0] * 20
    loss = privacy_loss(wrong_sign_distribution, level, lower, 1 / epsilon)
    assert loss == pytest.approx(20 * epsilon, rel=1e-3)


@pytest.mark.parametrize(
    "distribution", [right_sign_distribution, noisy_max_distribution, exponential_distribution]
)
def test_scores_that_move_either_way_need_twice_the_scale(distribution):
    # Under replace-one one loss may rise by 1 while the others fall by 1: the range is 2.
    epsilon, one, other = 0.5, [2, *[-3] * 4], [1, *[-2] * 4]
    for utilities in ([0] * 5, [-8, *[0] * 4], one):
        moved = [utilities[0] - 1, *[u + 1 for u in utilities[1:]]]
        assert privacy_loss(distribution, utilities, moved, 2 / epsilon) <= epsilon * (1 + 1e-9)
    too_little = max(
        privacy_loss(distribution, [-8, *[0] * 4], [-9, *[1] * 4], 1 / epsilon),
        privacy_loss(distribution, one, other, 1 / epsilon),
    )
    assert too_little > 1.3 * epsilon


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_scale_follows_the_range_of_the_change(mechanism):
    chosen = mechanism(4.0)
    same_way = scores(0.75, ADD, 10, bound=0.75)
    either_way = scores(1.5, REPLACE, 10, bound=0.75)
    assert chosen.scale(same_way).steps == 4 * 768
    assert chosen.scale(either_way).steps == 8 * 768
    assert chosen.event(same_way) == chosen.event(either_way)


@pytest.mark.parametrize("distribution, claim", [
    (exponential_distribution, lambda eps: eps**2 / 8),
    (right_sign_distribution, lambda eps: eps * math.tanh(eps / 2)),
    (noisy_max_distribution, lambda eps: eps * math.tanh(eps / 2)),
])  # fmt: skip
def test_renyi_divergence_of_selections_is_within_the_claim(distribution, claim):
    epsilon = 0.8
    for one in ([0, 0], [0, 0, 0], [2, 0, -1], [0] * 8, [-3] + [0] * 6):
        for i, sign in itertools.product(range(len(one)), (1, -1)):
            other = [u + sign * (j == i) for j, u in enumerate(one)]
            p, q = distribution(one, 1 / epsilon), distribution(other, 1 / epsilon)
            for alpha in (1.01, 2, 8):
                total = sum(
                    float(a) ** alpha * float(b) ** (1 - alpha) for a, b in zip(p, q, strict=True)
                )
                assert math.log(total) / (alpha - 1) <= claim(epsilon) * alpha * (1 + 1e-9)


def test_permute_and_flip_exceeds_the_bounded_range_value():
    # Positive control: eps^2/8 holds for the exponential mechanism and for no other selection.
    epsilon = 0.8
    p, q = (right_sign_distribution(u, 1 / epsilon) for u in ([0, 0], [1, 0]))
    divergence = math.log(sum(a**2 / b for a, b in zip(p, q, strict=True)))
    assert divergence > 1.1 * 2 * epsilon**2 / 8


def test_events():
    change = scores(0.1, ADD, 20)
    assert Exponential.nominal_event(0.25) == ExponentialMechanismDpEvent(4.0)
    assert isinstance(Exponential(3.0).event(change), ExponentialMechanismDpEvent)
    for mechanism in (PermuteAndFlip, ReportNoisyMax):
        assert mechanism.nominal_event(0.25) == PureDpEvent(4.0)
        assert isinstance(mechanism(3.0).event(change), PureDpEvent)
    for mechanism in MECHANISMS:
        epsilon = mechanism(3.0).event(change).epsilon
        assert epsilon <= mechanism.nominal_event(3.0).epsilon
        assert epsilon >= 1 / mechanism(3.0).exact_multiplier(change)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_extreme_utilities_do_not_overflow(mechanism):
    # The gap of 2^64 - 1 does not fit int64; the best wins with probability 1 - exp(-64) or more.
    exact = np.array([-(2**63), 2**63 - 1, -(2**63)], dtype=np.int64)
    for utilities, best in ((exact, 1), (np.array([7], dtype=np.int64), 0)):
        assert mechanism(2.0**40).release(utilities, scores(), NoiseSource.of_seed()) == best
    assert shortfalls(exact).tolist() == [2**64 - 1, 0, 2**64 - 1]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_hundred_thousand_candidates(mechanism):
    # One candidate far above the rest: the rejection needs about 100,000 trials.
    exact = np.zeros(100_000, dtype=np.int64)
    exact[77_777] = 10_000
    assert mechanism(5.0).release(exact, scores(), SeededNoise(1)) == 77_777
    chosen = mechanism(5.0).release(np.zeros(100_000, dtype=np.int64), scores(), SeededNoise(1))
    assert isinstance(chosen, int) and 0 <= chosen < 100_000


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_bad_input_is_refused(mechanism):
    no_range = Sensitivity("l1", 1.0, ADD)
    with pytest.raises(InvalidInputError, match=f"{mechanism.name} .* range .* l1 sensitivity"):
        mechanism(1.0).event(no_range)
    for bad in (np.zeros(0, np.int64), np.zeros((2, 2), np.int64)):
        with pytest.raises(InvalidInputError, match="one candidate or more"):
            mechanism(1.0).release(bad, scores(), NoiseSource.of_seed())
    with pytest.raises(InvalidInputError, match="int64 array of grid steps"):
        mechanism(1.0).release(np.zeros(3), scores(), NoiseSource.of_seed())
