"""The audit of each release by itself: noise drawn on the exact answers of two neighbours.

Whoever knows all rows but one knows both answers. Of normal noise the likelihood ratio of the two
is a function of the position along their difference (Neyman & Pearson 1933), and the middle is the
threshold at which mu-GDP shows most; so nothing is learned and all draws are counted. Of any other
noise, and of selections, the set of outcomes is learned from half of the draws (``draws``).

A release is held to its own cost. Where that is below epsilon 1, its noise multiplier is brought
down to a cost of 4 first: the same code at a setting at which fewer draws tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.accountants.normal import gaussian_epsilon_up, gaussian_mu_squared_down
from dpcore.audit.claim import ALARM, Claim
from dpcore.audit.draws import Draws
from dpcore.audit.recorded import Release, releases_of
from dpcore.audit.statistic import Statistic
from dpcore.audit.two_world import Finding, audit_worlds, count_again
from dpcore.noise.source import NoiseSource, SeededNoise, SystemNoise
from dpcore.privacy.events import (
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PureDpEvent,
    RandomizedSensitivityGaussian,
)

if TYPE_CHECKING:
    from dpcore.audit.fits import Fits
    from dpcore.privacy.events import DpEvent

__all__ = ["Audited", "audit_release", "audit_releases", "claim_of"]

_LEAST_EPSILON, _LOUD = 1.0, 4.0
_LARGEST_SHARE = 1 + 1e-9


@dataclass(frozen=True)
class Audited:
    """A release with what was found of it.

    ``own`` : the epsilon of its cost in the run; the finding's claim is 4 where that is below 1.
    ``fault`` : why its cost is false without any statistics, empty where nothing is.
    """

    release: Release
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
    return Claim(gaussian_epsilon_up(Fraction(mu) ** 2, Fraction(delta)), delta, mu * (1 + 1e-12))


_CLAIMS: dict[type[DpEvent], Callable[[Any, float], Claim]] = {
    GaussianDpEvent: _gaussian,
    RandomizedSensitivityGaussian: _randomized,
    LaplaceDpEvent: lambda event, _: Claim(1 / event.noise_multiplier, 0.0),
    PureDpEvent: lambda event, _: Claim(event.epsilon, 0.0),
    ExPostDpEvent: lambda event, _: Claim(event.epsilon, 0.0),
    ExponentialMechanismDpEvent: lambda event, _: Claim(event.epsilon, 0.0),
}
"""The claim of an event by itself; of any other it is that of the whole run."""


def audit_releases(fits: Fits, runs: int) -> tuple[list[Audited], list[str]]:
    """Return what ``runs`` draws of each release, over both answers, say of its cost, and the
    releases that are not looked at."""
    seed = fits.request.seed
    releases, left = releases_of(fits, 0 if seed is None else seed)
    known = [release for release in releases if type(release.event) in _CLAIMS]
    left += [
        f"{release.kind} by {type(release.mechanism).__name__}, whose answer has noise of its own"
        for release in releases
        if type(release.event) not in _CLAIMS
    ]
    delta = fits.claim.delta
    found = [
        audit_release(release, delta, runs, _noise(seed, k), len(known))
        for k, release in enumerate(known)
    ]
    return found, left


def audit_release(
    release: Release, delta: float, runs: int, noise: NoiseSource, releases: int = 1
) -> Audited:
    """Return what draws of a release say of its cost. ``delta`` : at which a claim of mu-GDP is
    told. ``releases`` : how many share ``ALARM``, each in two tests, of its noise and its cost."""
    own = claim_of(release.event, delta)
    release = _louder(release, own, delta)
    claim, draws = claim_of(release.event, delta), Draws(release, noise)
    if claim.mu is None:
        finding = audit_worlds(claim, draws, 1, runs, 2 * releases)
    else:
        counted = (0, max(1, runs // 2))
        finding = count_again(claim, draws, 0, _along(release), counted, 2 * releases)
    fault = draws.fault(ALARM / (2 * releases))
    if release.share > _LARGEST_SHARE:
        fault = f"its exact answers are {release.share:.6g} of its sensitivity apart"
    return Audited(release, own.epsilon, finding, fault, draws.drawn)


def claim_of(event: DpEvent, delta: float) -> Claim:
    """Return what a release of this cost claims."""
    return _CLAIMS[type(event)](event, delta)


def _along(release: Release) -> Statistic:
    """Return the set of outcomes beyond the middle of the two answers, along their difference."""
    change = (release.there - release.here).ravel().astype(np.float64)
    square = float(change @ change) or 1.0
    n = change.size
    line = np.concatenate((change / square, np.zeros(n)))
    return Statistic(np.zeros(n), np.ones(n), line, 0.5, True, False, np.inf)


def _louder(release: Release, own: Claim, delta: float) -> Release:
    """Return the release with less noise, at a cost of 4, where its own is below 1."""
    if own.epsilon >= _LEAST_EPSILON:
        return release
    mechanism = release.mechanism
    factor = own.epsilon / _LOUD
    if own.mu is not None:
        most = gaussian_mu_squared_down(Fraction(_LOUD), Fraction(delta))
        factor = own.mu / float(most) ** 0.5
    less = mechanism.noise_multiplier * factor
    return replace(release, mechanism=replace(mechanism, noise_multiplier=less))


def _noise(seed: int | None, k: int) -> NoiseSource:
    return SystemNoise() if seed is None else SeededNoise((seed << 8) + k)
