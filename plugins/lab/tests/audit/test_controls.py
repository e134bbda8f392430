"""Broken mechanisms that the audit must call violations, each beside an honest twin that it must
not. Seeded: honest ones fail with probability 1e-6 over the choice of a seed."""

import numpy as np
import pytest

from dpcore.plugin import Gaussian, Laplace, NeighboringRelation
from dpcore.plugin.parts import SeededNoise, Sensitivity
from dpcore_accounting.selections.permute_and_flip import PermuteAndFlip
from dpcore_dp_agd.published import PublishedNoisyMin
from dpcore_lab.audit.claim import Claim, Counts
from dpcore_lab.audit.recorded import Release
from dpcore_lab.audit.releases import audit_release
from dpcore_lab.audit.two_world import audit_worlds

DELTA = 1e-5
ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


def release(mechanism, here, there, bound=1.0, relation=ADD, grid_bits=20, norm="l2"):
    """Return a release at two answers, in the unit of the bound."""
    steps = [np.array(end, dtype=np.int64) << grid_bits for end in (here, there)]
    spread = bound if norm == "linf" else None
    known = Sensitivity(norm, bound, relation, grid_bits, spread)
    return Release("test", mechanism, known, *steps, share=1.0)


def audited(release, runs=16_000):
    return audit_release(release, Claim(1.0, DELTA), runs, SeededNoise(8))


@pytest.mark.slow
def test_the_authors_noisy_min_is_a_violation():
    # The one candidate whose loss grew: 20 times the claim for 21 candidates.
    here, there = np.zeros(21), -np.eye(21)[0]
    found = audited(release(PublishedNoisyMin(1.0), here, there, norm="linf"))
    assert found.is_violation and found.finding.epsilon > 1
    sound = audited(release(PermuteAndFlip(1.0), here, there, norm="linf"))
    assert not sound.is_violation


@pytest.mark.slow
def test_half_the_sensitivity_under_replace_one_is_a_violation():
    far = [3, -1], [3, 1]
    halved = release(Gaussian(1.1), *far, bound=1.0, relation=REPLACE)
    assert audited(halved).finding.is_violation
    whole = release(Gaussian(1.1), *far, bound=2.0, relation=REPLACE)
    found = audited(whole)
    assert not found.is_violation and found.finding.epsilon > 0.9 * found.finding.claim.epsilon


@pytest.mark.parametrize(
    ("epsilon", "runs"), [(4.0, 12_000), pytest.param(2.0, 36_000, marks=pytest.mark.slow)]
)
def test_a_gaussian_release_is_audited_at_nine_tenths(epsilon, runs):
    from dpcore.plugin.parts import GdpAccountant

    mu = float(GdpAccountant.from_budget(epsilon, DELTA).budget) ** 0.5
    found = audited(release(Gaussian(1 / mu), [0, 0], [0, 1]), runs)
    assert 0.9 * epsilon < found.finding.epsilon <= epsilon


def test_a_laplace_release_is_audited():
    found = audited(release(Laplace(0.5), [0, 0], [0, 1], norm="l1"))
    assert 0.9 * 2 < found.finding.epsilon <= 2 and not found.is_violation


class Overflows(Gaussian):
    """An answer that is larger by one is no number."""

    __slots__ = ()

    def release(self, exact, sensitivity, noise):
        drawn = super().release(exact, sensitivity, noise)
        return np.where(exact.any(), np.nan, drawn)


def test_an_answer_that_is_no_number_is_a_violation():
    found = audited(release(Overflows(1.1), [0, 0], [0, 1]), 400)
    assert found.is_violation and "no numbers" in found.fault


@pytest.mark.parametrize("told", [np.nan, np.inf, -np.inf])
def test_outcomes_that_are_no_numbers_tell_two_tables_apart(told):
    def draw(pair, world, first, runs):
        outcomes = np.random.default_rng((world, first)).normal(size=(runs, 2))
        outcomes[:, 0] = told if world else outcomes[:, 0]
        return outcomes

    found = audit_worlds(Claim(1.0, DELTA), draw, 1, 1_000)
    assert found.is_violation and found.epsilon > 3


class Forgets(Gaussian):
    """Now and then the noise is left out."""

    __slots__ = ()

    def release(self, exact, sensitivity, noise):
        drawn = super().release(exact, sensitivity, noise)
        if noise.words(1)[0] % np.uint64(400) == 0:
            drawn[0] = np.ldexp(float(exact[0]), -sensitivity.grid_bits)
        return drawn


def test_forgotten_noise_is_a_violation():
    # Once in 400: of 6,000 draws about 15, none with probability 3e-7.
    found = audited(release(Forgets(1.1), [0, 0], [0, 1], grid_bits=40), 6_000)
    assert "no noise" in found.fault and found.is_violation
    assert not audited(release(Gaussian(1.1), [0, 0], [0, 1], grid_bits=40), 6_000).is_violation


def svt_3(q, rng, runs):
    """Lyu, Su & Li 2017, algorithm 3, c = 1, Delta = 1, epsilon = 1, threshold 0: whether the first
    queries are below, and the noisy answer that is given for the last."""
    rho, nu = rng.laplace(0, 2, (runs, 1)), rng.laplace(0, 2, (runs, len(q)))
    below = (q + nu)[:, :-1] < rho
    last = (q + nu)[:, -1:]
    return below.all(axis=1) & (last >= rho)[:, 0] & (last <= 0)[:, 0]


def svt_1(q, rng, runs):
    """Algorithm 1, which gives no number away: the same set without what it hides."""
    rho, nu = rng.laplace(0, 2, (runs, 1)), rng.laplace(0, 4, (runs, len(q)))
    below = (q + nu)[:, :-1] < rho
    return below.all(axis=1) & ((q + nu)[:, -1:] >= rho)[:, 0]


@pytest.mark.slow
@pytest.mark.parametrize(("svt", "is_violation"), [(svt_3, True), (svt_1, False)])
def test_a_number_from_above_the_threshold_is_a_violation(svt, is_violation):
    # The set has e^(m epsilon / 2) times the probability where the m first queries are 1 lower.
    rng, runs = np.random.default_rng(3), 1_000_000
    here, there = (svt(np.append(np.full(4, first), 0.0), rng, runs) for first in (0.0, 1.0))
    counts = Counts(int(here.sum()), runs, int(there.sum()), runs)
    assert Claim(1.0, 0.0).is_contradicted(counts, 1e-6) == is_violation


def svt_5(q, rng, runs):
    """Algorithm 5: no noise on the queries."""
    return (q >= rng.laplace(0, 2, (runs, 1))).astype(float)


def svt_6(q, rng, runs):
    """Algorithm 6: no bound of how many are above."""
    rho, nu = rng.laplace(0, 2, (runs, 1)), rng.laplace(0, 2, (runs, len(q)))
    return (q + nu >= rho).astype(float)


def svt_capped(q, rng, runs):
    """Algorithm 1 with c = 1: it stops at the first that is above."""
    rho, nu = rng.laplace(0, 2, (runs, 1)), rng.laplace(0, 4, (runs, len(q)))
    above = q + nu >= rho
    return (above & (np.cumsum(above, axis=1) == 1)).astype(float)


@pytest.mark.parametrize(
    ("svt", "is_violation"), [(svt_5, True), (svt_6, True), (svt_capped, False)]
)
def test_other_sparse_vectors_without_a_bound_are_violations(svt, is_violation):
    low, high = np.repeat([-1.0, 1.0], 20), np.repeat([0.0, 0.0], 20)

    def draw(pair, world, first, runs):
        rng = np.random.default_rng([world, first])
        return svt(low if world else high, rng, runs)

    assert audit_worlds(Claim(1.0, 0.0), draw, 1, 10_000).is_violation == is_violation


def test_a_mean_over_the_private_number_of_rows_is_a_violation():
    # Noise for the sum, divided by how many rows there are: one row against two.
    mu = 1 / 3.73  # epsilon 1 at delta 1e-5

    def draw_mean(pair, world, first, runs, by_public=False):
        n = 2 - world
        rng = np.random.default_rng([world, first])
        noisy = n + rng.normal(0, 1 / mu, (runs, 1))
        return noisy / (2 if by_public else n)

    def draw_public(*asked):
        return draw_mean(*asked, by_public=True)

    assert audit_worlds(Claim(1.0, DELTA, mu), draw_mean, 1, 20_000).is_violation
    assert not audit_worlds(Claim(1.0, DELTA, mu), draw_public, 1, 20_000).is_violation


BATCHES = 100


def largest_of(n, rng):
    """Return the largest of so many normal deviates each: the quantile of U^(1/n)."""
    from scipy.special import ndtri

    found = np.full(n.shape, -np.inf)
    found[n > 0] = ndtri(rng.random(n.shape)[n > 0] ** (1 / n[n > 0]))
    return found


def shuffled(there, sigma, rng, runs):
    """The largest of the batches' noisy sums, less those of full batches of -1 each: a row of 1, or
    none, is in the place of one of them, in exactly one batch (Chua et al. 2024)."""
    of_row = (1.0 if there else 2.0) + sigma * rng.normal(size=runs)
    return np.maximum(of_row, sigma * largest_of(np.full(runs, BATCHES - 1), rng))


def poisson(there, sigma, rng, runs):
    """The same of a row that each batch takes by a coin of its own."""
    taken = rng.binomial(BATCHES, 1 / BATCHES, runs)
    of_row = (0.0 if there else 1.0) + sigma * largest_of(taken, rng)
    return np.maximum(of_row, sigma * largest_of(BATCHES - taken, rng))


@pytest.mark.parametrize(("batches", "is_violation"), [(shuffled, True), (poisson, False)])
def test_poisson_accounting_of_shuffled_batches_is_a_violation(batches, is_violation):
    from dpcore_accounting.commands.account import describe_schedule

    rows = describe_schedule(4.0, DELTA, BATCHES, 1 / BATCHES, ADD)
    sigma = next(row["noise_multiplier"] for row in rows if row["accountant"] == "rdp")
    rng, runs = np.random.default_rng(6), 300_000
    here, there = ((batches(world, sigma, rng, runs) >= 3.3).sum() for world in (False, True))
    counts = Counts(int(here), runs, int(there), runs)
    assert Claim(4.0, DELTA).is_contradicted(counts, 1e-6) == is_violation
