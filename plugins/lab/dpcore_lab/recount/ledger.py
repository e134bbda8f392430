"""A second count of a ledger, by other formulas than the accountants': Renyi orders in floats."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from dpcore.plugin.parts import (
    ApproximateDpEvent,
    ComposedDpEvent,
    DominatingPairDpEvent,
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PoissonSampledDpEvent,
    PureDpEvent,
    RandomizedSensitivityGaussian,
    RenyiDpEvent,
    SampledWithoutReplacementDpEvent,
    SkellamDpEvent,
    ZcdpDpEvent,
)
from dpcore_accounting.events.objective_perturbation import ObjectivePerturbationDpEvent
from dpcore_lab.recount.normal import shift_of
from dpcore_lab.recount.privacy_losses import epsilon_of_losses
from dpcore_lab.recount.sampled import (
    epsilon_by_hits,
    epsilon_composed,
    is_sampled,
    sampled_divergence,
)
from dpcore_lab.recount.stated import (
    divergence_between_orders,
    divergence_of_distributions,
    epsilon_of_distributions,
    last_order,
    own_delta,
    pure_epsilon,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpcore.plugin.parts import DpEvent

__all__ = ["UnknownEventError", "recounted_epsilon", "renyi_divergence"]


class UnknownEventError(AssertionError):
    """The checks have no second count of an event of this class: nothing is said of its claim."""


def renyi_divergence(event: DpEvent, alpha: float) -> float:
    """Return a bound of the Renyi divergence of one release at order ``alpha`` > 1.

    Gaussian: Mironov 2017, Prop. 7. Laplace: Mironov 2017, Prop. 6. Pure: the two-point
    distribution that dominates every epsilon-DP release (Kairouz, Oh & Viswanath 2015). Bounded
    range: alpha epsilon^2 / 8 (Cesar & Rogers 2021), and no more than pure. Randomised sensitivity:
    Chen, Lee & Kifer 2019, Lemma 3. Skellam: Agarwal, Kairouz & Liu 2021, Theorem 3.5. An (epsilon,
    delta) release: as a pure one, its delta counted apart. A stated curve: the smallest chord of
    any two of its points; ``inf`` above them.
    """
    match event:
        case GaussianDpEvent(noise_multiplier=m):
            return alpha / (2 * m * m)
        case SkellamDpEvent(variance=mu, l1_bound=d1, l2_bound=d2):
            return _skellam(mu, d1, d2, alpha)
        case LaplaceDpEvent(noise_multiplier=m):
            return _laplace(m, alpha)
        case PureDpEvent(epsilon=e) | ExPostDpEvent(epsilon=e) | ApproximateDpEvent(epsilon=e):
            return _pure(e, alpha)
        case ExponentialMechanismDpEvent(epsilon=e):
            return min(alpha * e * e / 8, renyi_divergence(PureDpEvent(e), alpha))
        case RandomizedSensitivityGaussian(deltas=deltas, weights=weights, sigma=s):
            terms = [alpha * (alpha - 1) * d * d / (2 * s * s) for d in deltas]
            total = sum(q * math.exp(x - max(terms)) for q, x in zip(weights, terms, strict=True))
            return (max(terms) + math.log(total / sum(weights))) / (alpha - 1)
        case ObjectivePerturbationDpEvent(shifts=shifts, log_determinant=c):
            terms = [alpha * (alpha - 1) * m * m / 2 for m in shifts]
            total = sum(math.exp(x - max(terms)) for x in terms)
            return c + (max(terms) + math.log(total)) / (alpha - 1)
        case ZcdpDpEvent(rho=rho):
            return rho * alpha
        case RenyiDpEvent():
            return divergence_between_orders(event, alpha)
        case DominatingPairDpEvent():
            return divergence_of_distributions(event, alpha)
        case PoissonSampledDpEvent() | SampledWithoutReplacementDpEvent():
            return sampled_divergence(event, alpha)
        case ComposedDpEvent(events=events):
            return sum(renyi_divergence(part, alpha) for part in events)
    raise UnknownEventError(f"The recount does not know {type(event).__name__}.")


def _laplace(noise_multiplier: float, alpha: float) -> float:
    up = math.log(alpha / (2 * alpha - 1)) + (alpha - 1) / noise_multiplier
    down = math.log((alpha - 1) / (2 * alpha - 1)) - alpha / noise_multiplier
    return _log_add(up, down) / (alpha - 1)


def _pure(epsilon: float, alpha: float) -> float:
    log_q = -epsilon - math.log1p(math.exp(-epsilon))
    log_p = -math.log1p(math.exp(-epsilon))
    up = alpha * log_p + (1 - alpha) * log_q
    down = alpha * log_q + (1 - alpha) * log_p
    return _log_add(up, down) / (alpha - 1)


def recounted_epsilon(events: Iterable[DpEvent], delta: float, enough: float = math.inf) -> float:
    """Return the epsilon of all events together, the best of a grid of Renyi orders; where that is
    above ``enough``, by the distributions of privacy losses if that is less (``recount_losses``).

    Conversion: Canonne, Kamath & Steinke 2020, Prop. 12. The accountant under test optimises the
    order, so its budget may be under this by what the grid gives away, below 1e-9. Deltas that
    events have by themselves are taken off first: ``inf`` where they are more.
    """
    events = list(events)
    if not events:
        return 0.0
    match events:
        case [DominatingPairDpEvent(p=p, q=q)]:
            return epsilon_of_distributions(p, q, delta)
        case [ApproximateDpEvent(epsilon=e, delta=d)]:
            # The distributions that every such release is post-processing of.
            share = (1 - d) / (1 + math.exp(-e))
            less = share * math.exp(-e)
            return epsilon_of_distributions((d, share, less, 0.0), (0.0, less, share, d), delta)
    left = delta - math.fsum(map(own_delta, events))
    if left < -1e-12 * delta:
        return math.inf
    found = math.fsum(map(pure_epsilon, events))
    if left > 0:
        found = min(found, _recounted(events, left))
    return found if found <= enough else min(found, epsilon_of_losses(events, delta))


def _recounted(events: list[DpEvent], delta: float) -> float:
    if all(isinstance(event, GaussianDpEvent) for event in events):
        return _epsilon_of_shifts(events, delta)
    match events:
        case [RandomizedSensitivityGaussian() as event]:
            return _one_release(event, delta)
        case [ObjectivePerturbationDpEvent(shifts=shifts, log_determinant=c)]:
            # The sum of the curves is their number times their mean.
            even = RandomizedSensitivityGaussian(shifts, (1,) * len(shifts), 1.0)
            return c + _one_release(even, delta / len(shifts))

    # Any bound that holds is one: whichever the accountant under test went by.
    if not any(map(is_sampled, events)):
        return min(_renyi_epsilon(events, delta), _epsilon_of_shifts(events, delta))
    bounds = (_renyi_epsilon, epsilon_by_hits, epsilon_composed)
    return min(bound(events, delta) for bound in bounds)


def _epsilon_of_shifts(events: list[DpEvent], delta: float) -> float:
    """Return the epsilon of normal distributions whose shifts, added up as vectors, dominate the
    events (Dong, Roth & Su 2022, Corollary 3.3); ``inf`` where they dominate none."""
    shifts = {event: shift_of(event) for event in set(events)}
    squares = [math.inf if (mu := shifts[event]) is None else mu * mu for event in events]
    total = math.fsum(squares)
    if not math.isfinite(total):
        return math.inf
    return _one_release(RandomizedSensitivityGaussian((1.0,), (1,), 1 / math.sqrt(total)), delta)


def _renyi_epsilon(events: list[DpEvent], delta: float) -> float:
    counts = Counter(events)

    def epsilon(log_order: float) -> float:
        alpha = 1 + math.exp(log_order)
        total = sum(renyi_divergence(event, alpha) * k for event, k in counts.items())
        loss = math.log(1 / delta) + (alpha - 1) * math.log1p(-1 / alpha) - math.log(alpha)
        return total + loss / (alpha - 1)

    last = min(25.0, math.log(last_order(counts) - 1))
    # A curve that is the smaller of two has more than one trough: a grid, and the least of each.
    grid = [min(last, -12.0 + k * (last + 12) / 60) for k in range(61)]
    found = [epsilon(order) for order in grid]
    troughs = [k for k in range(61) if found[k] <= min(found[max(0, k - 1) : k + 2])]
    least = [_least(epsilon, grid[max(0, k - 1)], grid[min(60, k + 1)]) for k in troughs]
    return min(*least, found[-1])


def _least(epsilon: Callable[[float], float], low: float, high: float) -> float:
    """Return the least of a function with one trough between two points."""
    while high - low > 1e-7:
        third = (high - low) / 3
        if epsilon(low + third) < epsilon(high - third):
            high -= third
        else:
            low += third
    return epsilon((low + high) / 2)


def _one_release(event: RandomizedSensitivityGaussian, delta: float) -> float:
    """Return the epsilon of one release by the weighted mean of the normals' own curves (Balle &
    Wang 2018, Theorem 8; joint convexity), in floats."""
    import numpy as np
    from scipy.optimize import brentq
    from scipy.special import erfcx

    mu, q = np.array(event.deltas) / event.sigma, np.array(event.weights) / sum(event.weights)

    def log_delta(epsilon: float) -> float:
        a = epsilon / mu - mu / 2
        # delta = phi(a) (R(a) - R(a + mu)), R the Mills ratio.
        gap = erfcx(a / math.sqrt(2)) - erfcx((a + mu) / math.sqrt(2))
        logs = -a * a / 2 + np.log(q * np.maximum(gap, 1e-300) / 2)
        return float(logs.max() + np.log(np.exp(logs - logs.max()).sum())) - math.log(delta)

    high = 1.0
    while log_delta(high) > 0:
        high *= 2
    return brentq(log_delta, 0.0, high, xtol=1e-12) if log_delta(0.0) > 0 else 0.0


def _skellam(mu: float, d1: float, d2: float, alpha: float) -> float:
    """Return the theorem's value at whole orders, and on the chord of order - 1 times it between
    them, which is convex."""
    orders = math.floor(alpha), math.floor(alpha) + 1
    moments = [
        (a - 1)
        * (a * d2**2 / (2 * mu) + min((2 * a - 1) * d2**2 / mu + 6 * d1 / mu, 6 * d1) / (4 * mu))
        for a in orders
    ]
    return (moments[0] + (alpha - orders[0]) * (moments[1] - moments[0])) / (alpha - 1)


def _log_add(a: float, b: float) -> float:
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))
