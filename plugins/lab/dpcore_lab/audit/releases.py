"""The audit of each release by itself: noise drawn on the exact answers of two neighbours.

Whoever knows all rows but one knows both answers. Of normal noise the likelihood ratio of the two
is a function of the position along their difference (Neyman & Pearson 1933), and the middle is the
threshold at which mu-GDP shows most; so nothing is learned and all draws are counted. Of any other
noise, and of selections, the set of outcomes is learned from half of the draws (``draws``).

A release is held to its own cost. Where that is below epsilon 1, its noise multiplier is brought
down to a cost of 4 first: the same code at a setting at which fewer draws tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcore.plugin.parts import (
    ApproximateDpEvent,
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    GdpAccountant,
    LaplaceDpEvent,
    NoiseSource,
    PoissonSampledDpEvent,
    PureDpEvent,
    RandomizedSensitivityGaussian,
)
from dpcore_lab.audit.claim import ALARM, BEYOND, Claim
from dpcore_lab.audit.draws import Draws
from dpcore_lab.audit.recorded import Release, releases_of
from dpcore_lab.audit.statistic import Statistic
from dpcore_lab.audit.transcripts import Transcripts
from dpcore_lab.audit.two_world import Finding, audit_worlds, count_again

if TYPE_CHECKING:
    from dpcore.plugin.parts import DpEvent
    from dpcore_lab.audit.fits import Fits

__all__ = ["Audited", "audit_release", "audit_releases", "claim_of", "noise_of"]

_LEAST_EPSILON, _LOUD = 1.0, 4.0
_FEWER = 3_000
"""Draws, at most, of what takes milliseconds each: transcripts, and minimisers."""
_LARGEST_SHARE = 1 + 1e-9


@dataclass(frozen=True)
class Audited:
    """A release with what was found of it.

    ``own`` : the epsilon of its cost in the run; the finding's claim is 4 where that is below 1.
    ``fault`` : why its cost is false without any statistics, empty where nothing is.
    """

    release: Release | Transcripts
    own: float
    finding: Finding
    fault: str = ""
    drawn: int = 0
    """Releases whose noise was looked at for exact answers."""

    @property
    def is_violation(self) -> bool:
        return self.finding.is_violation or bool(self.fault)


def _gaussian(event: GaussianDpEvent, delta: float) -> Claim:
    return _of_mu(1 / event.noise_multiplier, delta)


def _randomized(event: RandomizedSensitivityGaussian, delta: float) -> Claim:
    """Of the draw of its random choice at which the answers are furthest apart."""
    return _of_mu(max(event.deltas) / event.sigma, delta)


def _of_mu(mu: float, delta: float) -> Claim:
    return Claim(
        GdpAccountant.epsilon_up(Fraction(mu) ** 2, Fraction(delta)), delta, mu * (1 + 1e-12)
    )


def _sampled(event: PoissonSampledDpEvent, delta: float) -> Claim:
    """Of a Gaussian release that a row joins by a coin (``claim``)."""
    p, gaussian = event.sampling_probability, cast(GaussianDpEvent, event.event)
    whole = _of_mu(1 / gaussian.noise_multiplier, delta / p)
    epsilon = math.log1p(p * math.expm1(whole.epsilon)) * (1 + 1e-12)
    return Claim(epsilon, delta, whole.mu, p)


_CLAIMS: dict[type[DpEvent], Callable[[Any, float], Claim]] = {
    GaussianDpEvent: _gaussian,
    RandomizedSensitivityGaussian: _randomized,
    LaplaceDpEvent: lambda event, _: Claim(1 / event.noise_multiplier, 0.0),
    PureDpEvent: lambda event, _: Claim(event.epsilon, 0.0),
    ExPostDpEvent: lambda event, _: Claim(event.epsilon, 0.0),
    ExponentialMechanismDpEvent: lambda event, _: Claim(event.epsilon, 0.0),
    ApproximateDpEvent: lambda event, _: Claim(event.epsilon, event.delta),
    PoissonSampledDpEvent: _sampled,
}
"""The claim of an event by itself; of any other it is that of the whole run."""


def audit_releases(fits: Fits, runs: int) -> list[Audited]:
    """Return what ``runs`` draws of each release, over both answers, say of its cost."""
    seed = fits.request.seed
    releases = releases_of(fits, 0 if seed is None else seed)
    return [
        audit_release(release, fits.claim, runs, noise_of(seed, k), len(releases))
        for k, release in enumerate(releases)
    ]


def audit_release(
    release: Release | Transcripts,
    whole: Claim,
    runs: int,
    noise: NoiseSource,
    releases: int = 1,
) -> Audited:
    """Return what draws of a release say of its cost. ``whole`` : the run's claim. ``releases`` :
    how many share ``ALARM``, each in two tests, of its noise and its cost."""
    own = claim_of(release.event, whole)
    if isinstance(release, Transcripts):
        pairs, draw = len(release.pairs), partial(_said, release, noise)
        fewer = min(runs, _FEWER)
        return Audited(release, own.epsilon, audit_worlds(own, draw, pairs, fewer, 2 * releases))
    release = _louder(release, own, whole.delta)
    claim, draws = claim_of(release.event, whole), Draws(release, noise)
    pairs = max(1, len(release.tables))
    if claim.mu is not None:
        counted = (0, max(1, runs // 2))
        finding = count_again(claim, draws, 0, _along(release), counted, 2 * releases)
    else:
        fewer = min(runs, _FEWER) if pairs > 1 else runs
        finding = audit_worlds(claim, draws, pairs, fewer, 2 * releases)
    fault = draws.fault(ALARM / (2 * releases))
    if release.share > _LARGEST_SHARE:
        fault = f"its exact answers differ by {release.share:.6g} times its sensitivity"
    return Audited(release, own.epsilon, finding, fault, draws.drawn)


def _said(
    release: Transcripts, noise: NoiseSource, pair: int, world: int, first: int, runs: int
) -> np.ndarray:
    return release.outcomes(pair, world, runs, noise)


def claim_of(event: DpEvent, whole: Claim) -> Claim:
    """Return what a release of this cost claims, in a run of ``whole``."""
    of_event = _CLAIMS.get(type(event))
    return whole if of_event is None else of_event(event, whole.delta)


def _along(release: Release) -> Statistic:
    """Return the set of outcomes beyond the middle of the two answers, along their difference; of
    a sample those beyond ``BEYOND`` of the row's answer."""
    if isinstance(release.event, PoissonSampledDpEvent):
        return Statistic(np.zeros(1), np.ones(1), np.eye(2)[0], BEYOND, True, True, np.inf)
    change = (release.there - release.here).ravel().astype(np.float64)
    square = float(change @ change) or 1.0
    n = change.size
    line = np.concatenate((change / square, np.zeros(n)))
    return Statistic(np.zeros(n), np.ones(n), line, 0.5, True, False, np.inf)


def _louder(release: Release, own: Claim, delta: float) -> Release:
    """Return the release with less noise, at a cost of 4, where its own is below 1 and it has a
    noise multiplier."""
    mechanism = release.mechanism
    if own.epsilon >= _LEAST_EPSILON or not hasattr(mechanism, "noise_multiplier"):
        return release
    factor = own.epsilon / _LOUD
    if own.mu is not None:
        loud = math.log1p(math.expm1(_LOUD) / own.sampled)
        most = GdpAccountant.mu_squared_down(Fraction(loud), Fraction(delta / own.sampled))
        factor = own.mu / float(most) ** 0.5
    less = mechanism.noise_multiplier * factor
    return replace(release, mechanism=replace(mechanism, noise_multiplier=less))


def noise_of(seed: int | None, k: int) -> NoiseSource:
    """Return the noise of a run's k-th release that is audited."""
    return NoiseSource.of_seed(None if seed is None else (seed << 8) + k)
