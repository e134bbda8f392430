"""A crude audit: do outcomes on two neighbours differ in frequency by more than an event allows?

A failed audit is proof, up to the stated rate of false alarms; a passed one proves little. It is
there for noise that is missing, too small, of the wrong sign or shared between coordinates.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin.parts import (
    ApproximateDpEvent,
    ComposedDpEvent,
    DominatingPairDpEvent,
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PureDpEvent,
    RandomizedSensitivityGaussian,
    RenyiDpEvent,
    SkellamDpEvent,
    ZcdpDpEvent,
)
from dpcore_accounting.events.objective_perturbation import ObjectivePerturbationDpEvent
from dpcore_lab.recount.ledger import UnknownEventError, renyi_divergence

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpcore.plugin.parts import DpEvent

__all__ = ["FALSE_ALARM", "assert_as_private_as", "intervals", "largest_probability"]

FALSE_ALARM = 1e-6
"""The chance, over the noise, that an honest mechanism fails its audit: all outcomes together."""


def assert_as_private_as(
    event: DpEvent,
    pairs: Sequence[tuple[np.ndarray, np.ndarray]],
    what: str,
    alarm: float = FALSE_ALARM,
) -> None:
    """Raise AssertionError if the frequencies of some outcome contradict the event.

    ``pairs`` : for each pair of neighbours, two bool arrays of shape (n_draws, n_outcomes) that say
    which draw fell into which set of outcomes; each set and its complement are compared, both ways.
    Every interval is Clopper & Pearson's (1934), at a level that makes all of them hold together
    with probability 1 - ``alarm``.
    """
    n_intervals = sum(here.shape[1] + there.shape[1] for here, there in pairs)
    level = alarm / (2 * n_intervals)
    for here, there in pairs:
        bounds = [intervals(hits.sum(axis=0), hits.shape[0], level) for hits in (here, there)]
        for (low, high), (other_low, other_high) in (bounds, bounds[::-1]):
            for least, most in ((other_low, high), (1 - other_high, 1 - low)):
                allowed = [largest_probability(event, float(p)) for p in most]
                assert (least <= np.array(allowed) + 1e-12).all(), (
                    f"{what}: an outcome's frequencies on two neighbours are further apart than "
                    f"{event} allows."
                )


def largest_probability(event: DpEvent, p: float) -> float:
    """Return the most that outcomes of probability ``p`` can have on a neighbour.

    Gaussian: the trade-off curve of two normals (Dong, Roth & Su 2022, Gaussian DP). Pure and
    Laplace: epsilon-DP of the outcomes and of their complement. Bounded range (Dong, Durfee &
    Rogers 2020): the odds move by a factor of at most exp(epsilon), since that bounds the ratio of
    any two outcomes' factors, and so of two sums' over outcomes. Composed: one part after the
    other, each a step between hybrids of the two runs. Randomised sensitivity: the largest one.
    Objective perturbation: the best line of its curve.
    Skellam, zCDP: the best of the whole Renyi orders (Mironov 2017, Proposition 10), both of the
    outcomes and of their complement, and of their variance (``_by_variance``); a stated curve: of
    its own. An (epsilon, delta) release: its definition, of both. A dominating pair: the outcomes
    of the largest ratios (Neyman & Pearson 1933), either way round.
    """
    match event:
        case GaussianDpEvent(noise_multiplier=m):
            return _largest_normal(m, p)
        case SkellamDpEvent() | ZcdpDpEvent():
            return _largest_renyi(event, p, range(2, 40))
        case RenyiDpEvent(orders=orders):
            return _largest_renyi(event, p, orders)
        case ApproximateDpEvent(epsilon=epsilon, delta=delta):
            return _largest_approximate(epsilon, delta, p)
        case DominatingPairDpEvent():
            return max(_largest_of_pair(*w, p) for w in ((event.p, event.q), (event.q, event.p)))
        case LaplaceDpEvent(noise_multiplier=m):
            return _largest_pure(1 / m, p)
        case PureDpEvent(epsilon=epsilon) | ExPostDpEvent(epsilon=epsilon):
            return _largest_pure(epsilon, p)
        case ExponentialMechanismDpEvent(epsilon=epsilon):
            return p / (p + math.exp(-epsilon) * (1 - p)) if p > 0 else 0.0
        case RandomizedSensitivityGaussian(deltas=deltas, sigma=s):
            return largest_probability(GaussianDpEvent(s / max(deltas)), p)
        case ObjectivePerturbationDpEvent(shifts=shifts, log_determinant=c):
            return _largest_perturbed(shifts, c, p)
        case ComposedDpEvent(events=events):
            for part in events:
                p = largest_probability(part, p)
            return p
    raise UnknownEventError(f"The audit does not know {type(event).__name__}.")


def _largest_normal(noise_multiplier: float, p: float) -> float:
    from scipy.special import ndtr, ndtri

    return float(ndtr(ndtri(p) + 1 / noise_multiplier))


def _largest_approximate(epsilon: float, delta: float, p: float) -> float:
    least = math.exp(-epsilon) * (1 - p - delta)
    return min(1.0, math.exp(min(epsilon, 700.0)) * p + delta, 1 - max(0.0, least))


def _largest_perturbed(shifts: Sequence[float], log_determinant: float, p: float) -> float:
    """Return it of an objective perturbation: p' <= e^epsilon p + delta(epsilon) for every epsilon
    of the logarithm of the determinant and above."""
    from scipy.special import ndtr

    mu, rest = np.array(shifts), np.linspace(0, 12, 1201)[:, None]
    delta = ndtr(mu / 2 - rest / mu) - np.exp(rest) * ndtr(-rest / mu - mu / 2)
    bounds = np.exp(log_determinant + rest[:, 0]) * p + delta.sum(axis=1)
    return min(1.0, float(bounds.min()))


def _largest_of_pair(there: Sequence[int], here: Sequence[int], p: float) -> float:
    """Return the most that a distribution has where another has ``p``: outcomes of the largest
    ratios first, the last of them in part."""
    a, b = (np.array(weights, float) / float(sum(weights)) for weights in (there, here))
    with np.errstate(divide="ignore"):
        order = np.argsort(-a / b)
    a, b = (np.concatenate(([0.0], np.cumsum(distribution[order]))) for distribution in (a, b))
    free = a[b == 0.0].max()
    return max(float(free), float(np.interp(p, b, a)))


def _largest_renyi(event: DpEvent, p: float, orders: Iterable[float]) -> float:
    most = _by_variance(p, math.expm1(min(renyi_divergence(event, 2.0), 700.0)))
    for order in orders:
        power = (order - 1) / order
        factor = math.exp(min(renyi_divergence(event, order), 700.0))
        most = min(most, (factor * p) ** power, 1 - (1 - p) ** (1 / power) / factor)
    return most


def _by_variance(p: float, chi: float) -> float:
    """Return the largest q that two distributions can give where one has ``p``, chi the chi-square
    divergence of either from the other at most: e^D - 1, D the Renyi divergence of order 2.

    What chi allows of the distributions it allows of the two coins that the outcomes make of them
    (van Erven & Harremoes 2014, Theorem 9). For coins it is (q - p)^2 over the variance of one:
    (q - p)^2 is at most chi p (1 - p), and chi q (1 - q), whose q is the larger root of a
    quadratic. It is the bound of Hammersley (1950) and of Chapman & Robbins (1951), for an
    indicator.
    """
    variance = p * (1 - p)
    larger_root = (p + chi / 2 + math.sqrt(chi * chi / 4 + chi * variance)) / (1 + chi)
    return min(1.0, p + math.sqrt(chi * variance), larger_root)


def _largest_pure(epsilon: float, p: float) -> float:
    return min(math.exp(min(epsilon, 700.0)) * p, 1 - math.exp(-epsilon) * (1 - p))


def intervals(hits: np.ndarray, draws: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds of the probabilities behind ``hits`` of ``draws``, each wrong at ``level``."""
    from scipy.special import betainccinv, betaincinv

    missed = draws - hits
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), missed + 1, level), 0.0)
    high = np.where(missed > 0, betainccinv(hits + 1, np.maximum(missed, 1), level), 1.0)
    return low, high
