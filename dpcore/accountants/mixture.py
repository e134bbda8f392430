"""Costs of Gaussian noise of randomised sensitivity: upper bounds, in directed rounding.

Let the answer move by at most ``d_j`` with probability ``q_j``. Both bounds below are sums
``sum_j q_j f(d_j / sigma)`` of the same function of one Gaussian release, for every neighbouring
relation under which the ``d_j`` hold:

* Renyi: ``exp((alpha - 1) D_alpha) <= sum_j q_j exp(alpha (alpha - 1) d_j^2 / (2 sigma^2))`` (Chen,
  Lee & Kifer 2019, Lemma 3 and Proposition 3);
* the curve itself: ``delta(epsilon) <= sum_j q_j delta_Gauss(d_j / sigma; epsilon)``, since the
  hockey-stick divergence is jointly convex as every f-divergence is (Csiszar 1967). It is never
  above what follows from the first at any order, whose conversion is linear in those exponentials.

The law of the *mixture* of normals in one dimension is no bound: the release may tell j.

A function that grows and is convex in ``d`` may be summed over few points: the weight of a ``d_j``
between two of them is split so that the mean stays, which can only raise the sum (Jensen). Where it
is not known to be convex, the weight goes to the upper point.
"""

from fractions import Fraction
from functools import lru_cache

from dpcore.accountants.normal import gaussian_delta_up
from dpcore.exact.rounding import exp_up, log_up
from dpcore.privacy.events import RandomizedSensitivityGaussian

__all__ = ["mixture_curve_up", "mixture_log_moment_up", "mixture_renyi_up"]

_FINE, _COARSE = Fraction(99, 100), Fraction(9, 10)
_FINE_POINTS, _COARSE_POINTS = 48, 30

Atoms = tuple[tuple[Fraction, Fraction], ...]
"""Pairs of distance and probability."""


def mixture_renyi_up(event: RandomizedSensitivityGaussian, order: Fraction) -> Fraction:
    """Return an upper bound of the Renyi divergence at ``order`` > 1."""
    return mixture_log_moment_up(event, order) / (order - 1)


@lru_cache(maxsize=64)
def mixture_log_moment_up(event: RandomizedSensitivityGaussian, order: Fraction) -> Fraction:
    """Return an upper bound of ``(order - 1) D``, D the Renyi divergence at ``order`` > 1."""
    scale = order * (order - 1) / (2 * Fraction(event.sigma) ** 2)
    atoms = _spread(event.deltas, event.weights, convex=True)
    largest = scale * atoms[0][0] ** 2
    # Relative to the largest term nothing overflows.
    return largest + log_up(Fraction(sum(q * exp_up(scale * d * d - largest) for d, q in atoms)))


@lru_cache(maxsize=64)
def mixture_curve_up(event: RandomizedSensitivityGaussian, epsilon: Fraction) -> Fraction:
    """Return an upper bound, at most 1, of the delta at ``epsilon`` >= 0."""
    sigma = Fraction(event.sigma)
    # d delta_Gauss / d mu = phi(epsilon / mu - mu / 2), which grows while mu^2 <= 2 epsilon.
    convex = (Fraction(max(event.deltas)) / sigma) ** 2 <= 2 * epsilon
    atoms = _spread(event.deltas, event.weights, convex)
    total = sum(q * gaussian_delta_up(d / sigma, epsilon) for d, q in atoms if d > 0)
    return min(Fraction(1), Fraction(total))


@lru_cache(maxsize=64)
def _spread(deltas: tuple[float, ...], weights: tuple[int, ...], convex: bool) -> Atoms:
    """Return few atoms, the largest distance first, whose sum is at least that of all given."""
    points = _points(Fraction(max(deltas)))
    mass = [Fraction(0)] * len(points)
    k = 0
    for delta, weight in sorted(zip(deltas, weights, strict=True), reverse=True):
        d = Fraction(delta)
        while points[k + 1] > d:
            k += 1
        upper, lower = points[k], points[k + 1]
        share = (d - lower) / (upper - lower) if convex else Fraction(1)
        mass[k] += weight * share
        mass[k + 1] += weight * (1 - share)
    total = sum(weights)
    return tuple((d, m / total) for d, m in zip(points, mass, strict=True) if m)


def _points(largest: Fraction) -> list[Fraction]:
    """Return distances from the largest down to 0, dense near the top, where most of a sum is."""
    points = [largest]
    for ratio, count in ((_FINE, _FINE_POINTS), (_COARSE, _COARSE_POINTS)):
        for _ in range(count):
            # Short fractions: any points would do.
            points.append(Fraction(float(points[-1] * ratio)))
    return [*points, Fraction(0)]
