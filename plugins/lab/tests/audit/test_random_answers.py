"""Releases whose answers are random ones, or are several: samples, noise in an objective, steps."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import GaussianDpEvent, PoissonSampledDpEvent, SeededNoise
from dpcore_accounting.pld import PldAccountant
from dpcore_accounting.samples import PoissonSample
from dpcore_lab.audit.claim import Claim, Counts
from dpcore_lab.audit.draws import Draws
from dpcore_lab.audit.fits import Fits, Request
from dpcore_lab.audit.recorded import releases_of
from dpcore_lab.audit.releases import audit_release, claim_of

WHOLE = Claim(4.0, 1e-5)
ADD = NeighboringRelation.ADD_OR_REMOVE_ONE


def audited(release, runs):
    return audit_release(release, WHOLE, runs, SeededNoise(8))


@pytest.mark.parametrize(("p", "multiplier"), [(0.05, 0.6), (0.01, 0.5), (0.5, 1.0)])
def test_a_sampled_claim_is_the_accountants_number(p, multiplier):
    event = PoissonSampledDpEvent(p, GaussianDpEvent(multiplier), ADD)
    claim = claim_of(event, WHOLE)
    charged = PldAccountant.from_budget(50.0, 1e-5).compose(event).get_epsilon(1e-5)
    assert claim.epsilon * (1 - 1e-9) <= charged <= claim.epsilon * 1.01


def test_a_sampled_row_shows_its_own_mu():
    # Counts that are expected of a row of mu 2 that joins with probability .1, beyond 1.5 mu.
    from scipy.special import ndtr

    p, mu, n = 0.1, 2.0, 10_000_000
    claim = claim_of(PoissonSampledDpEvent(p, GaussianDpEvent(1 / mu), ADD), WHOLE)
    q = ndtr(-1.5 * mu)
    counts = Counts(round(n * (p * ndtr(-0.5 * mu) + (1 - p) * q)), n, round(n * q), n)
    assert 0.98 * mu < claim.lower_bound(counts) < mu
    assert 0.97 * claim.epsilon < claim.least_epsilon(counts) < claim.epsilon
    assert not claim.is_contradicted(counts, 1e-6)
    assert replace(claim, mu=0.9 * mu).is_contradicted(counts, 1e-6)


@pytest.mark.slow
def test_rows_that_join_without_a_coin_are_a_violation(monkeypatch):
    release = releases_of(Fits(Request("sgd-ma", epsilon=4.0, seed=1)), 1)[-1]
    assert release.place == "last"
    honest = audited(release, 4_000)
    assert not honest.is_violation and honest.finding.claim.sampled == 0.05
    # Half of the places join, by an honest coin, but not at the probability that is charged.
    monkeypatch.setattr(PoissonSample, "places", half_of_the_places)
    assert audited(release, 4_000).finding.is_violation


@pytest.mark.slow
@pytest.mark.parametrize("less", [4, 1_000])
def test_a_sample_with_too_little_noise_is_a_violation(less, monkeypatch):
    # Beyond 1.5 of a row's answer, which were once counted, such a row never is.
    release = releases_of(Fits(Request("sgd-ma", epsilon=4.0, seed=1)), 1)[-1]
    begin = Draws.__init__

    def quiet(self, release, noise):
        multiplier = release.mechanism.noise_multiplier / less
        mechanism = replace(release.mechanism, noise_multiplier=multiplier)
        begin(self, replace(release, mechanism=mechanism), noise)

    monkeypatch.setattr(Draws, "__init__", quiet)
    assert audited(release, 12_000).finding.is_violation


def half_of_the_places(self, table, noise):
    return np.flatnonzero(noise.coins(table.n_rows, 2**63))


@pytest.mark.slow
def test_one_coin_for_all_releases_is_a_violation(monkeypatch):
    # The coins of the first sample, once more: a row that joined it joins all that follow.
    kept = {}

    def reused(self, table, noise):
        return kept.setdefault(table.n_rows, np.arange(table.n_rows))

    release = releases_of(Fits(Request("sgd-adv", epsilon=4.0, seed=1)), 1)[0]
    monkeypatch.setattr(PoissonSample, "places", reused)
    assert audited(release, 2_000).finding.is_violation


@pytest.mark.slow
def test_noise_within_an_objective_is_drawn_anew():
    (release,) = releases_of(Fits(Request("objpert", epsilon=4.0, seed=1)), 1)
    assert len(release.tables) > 1
    found = audited(release, 400)
    assert not found.is_violation and found.finding.claim == WHOLE


class Louder:
    """A mechanism whose event is that of a quieter one."""

    def __init__(self, real, claimed):
        self.real, self.claimed = real, claimed

    def __getattr__(self, name):
        return getattr(self.real, name)

    def event(self, *known):
        return self.claimed.event(*known)


@pytest.mark.slow
def test_whole_transcripts_are_held_to_the_cap():
    # The honest one is called a violation with probability 1e-6.
    (release,) = releases_of(Fits(Request("output-nr", epsilon=1.0, seed=1)), 1)
    honest = audited(release, 400)
    assert not honest.is_violation and honest.finding.epsilon <= 1.0
    mechanism = release.mechanism
    levels = tuple(6 * level for level in mechanism.levels)
    false = Louder(replace(mechanism, levels=levels), mechanism)
    assert audited(replace(release, mechanism=false), 1_500).finding.is_violation


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cov-nr", "cov-bnr"])
def test_steps_of_a_mechanism_are_played_by_script(name):
    (release,) = releases_of(Fits(Request(name, epsilon=4.0, seed=1)), 1)
    assert any(len(set(release._ends(level))) > 1 for level in release._levels())
    assert math.isfinite(release.share)
    assert not audited(release, 24).is_violation


@pytest.mark.parametrize("name", ["rsgd-ar", "psgd"])
def test_a_minimiser_with_added_noise_is_audited_on_its_answer(name):
    # Which releases draw noise within their answer was once read off the query: rsgd-ar and psgd
    # release a table's answer with noise added, were taken for such, and showed 0.
    (release,) = releases_of(Fits(Request(name, "huber-svm", epsilon=4.0, seed=1)), 1)
    assert not release.tables and release.share > 0.5
    found = audited(release, 4_000)
    assert 2.0 < found.finding.epsilon <= found.finding.claim.epsilon and not found.is_violation
