"""Costs of Gaussian noise of randomised sensitivity: upper bounds, in directed rounding.

Let the answer move by at most ``d_j`` with probability ``q_j``. Both bounds below are sums
``sum_j q_j f(d_j / sigma)`` of the same function of one Gaussian release, for every neighbouring
relation under which the ``d_j`` hold:

* Renyi: ``exp((alpha - 1) D_alpha) <= sum_j q_j exp(alpha (alpha - 1) d_j^2 / (2 sigma^2))`` (Chen,
  Lee & Kifer 2019, Lemma 3 and Proposition 3);
* the curve itself: ``delta(epsilon) <= sum_j q_j delta_Gauss(d_j / sigma; epsilon)``, since the
  hockey-stick divergence is jointly convex as every f-divergence is (Csiszar 1967). It is never
  above what follows from the first at any order, whose conversion is linear in those exponentials.

The distribution of the *mixture* of normals in one dimension is no bound: the release may tell j.
Both sums hold of a pair of distributions too: N(d_j / sigma, 1) and N(0, 1) with j shown, drawn
alike on both sides, has the mean for its curve. So that pair dominates the release, and several
releases compose as their pairs do (Zhu, Dong & Wang 2022, Theorem 10).

A function that grows in ``d`` may be summed over few points. Where it is convex between two of
them, the weight of a ``d_j`` there is split so that the mean stays; where it is concave, all weight
between two of them goes to its mean: either can only raise the sum (Jensen). d delta_Gauss / d mu =
phi(epsilon / mu - mu / 2) grows up to mu^2 = 2 epsilon and falls from there on, so that the curve
is convex, then concave, and that place is a point. The Renyi bound's function is convex.
"""

from fractions import Fraction
from itertools import pairwise

from dpcore.plugin.parts import (
    GdpAccountant,
    RandomizedSensitivityGaussian,
    cached_by_value,
    exp_up,
    float_up,
    log_up,
    sqrt_up,
)

__all__ = [
    "mixture_curve_up",
    "mixture_log_moment_up",
    "mixture_renyi_up",
    "mixture_shifts_up",
]

_FINE, _COARSE = Fraction(99, 100), Fraction(9, 10)
_FINE_POINTS, _COARSE_POINTS, _MOST_POINTS = 48, 30, 400
_FEW = 64
_NOWHERE = Fraction(0), Fraction(2) ** 2000
"""Where a function that is known to grow alone is convex or concave."""

Atoms = tuple[tuple[Fraction, Fraction], ...]
"""Pairs of distance and probability."""


def mixture_renyi_up(event: RandomizedSensitivityGaussian, order: Fraction) -> Fraction:
    """Return an upper bound of the Renyi divergence at ``order`` > 1."""
    return mixture_log_moment_up(event, order) / (order - 1)


@cached_by_value(maxsize=64)
def mixture_log_moment_up(event: RandomizedSensitivityGaussian, order: Fraction) -> Fraction:
    """Return an upper bound of ``(order - 1) D``, D the Renyi divergence at ``order`` > 1."""
    scale = order * (order - 1) / (2 * Fraction(event.sigma) ** 2)
    atoms = _spread(event.deltas, event.weights)
    largest = scale * atoms[0][0] ** 2
    # Relative to the largest term nothing overflows.
    return largest + log_up(Fraction(sum(q * exp_up(scale * d * d - largest) for d, q in atoms)))


@cached_by_value(maxsize=64)
def mixture_curve_up(event: RandomizedSensitivityGaussian, epsilon: Fraction) -> Fraction:
    """Return an upper bound, at most 1, of the delta at ``epsilon`` >= 0."""
    sigma, root_up = Fraction(event.sigma), sqrt_up(2 * epsilon)
    # x over an upper bound of its root is a lower one of it.
    root_down = 2 * epsilon / root_up if epsilon else root_up
    turn = sigma * root_down, sigma * root_up
    atoms = _spread(event.deltas, event.weights, turn)
    total = sum(q * GdpAccountant.delta_up(d / sigma, epsilon) for d, q in atoms if d > 0)
    return min(Fraction(1), Fraction(total))


@cached_by_value(maxsize=256)
def mixture_shifts_up(event: RandomizedSensitivityGaussian) -> tuple[tuple[float, float], ...]:
    """Return few shifts of normal distributions, rounded up, and their shares, nearest, that come
    to no less than those of the event, at every epsilon."""
    atoms = _atoms(event.deltas, event.weights)
    if len(atoms) > _FEW:
        atoms = _spread(event.deltas, event.weights, _NOWHERE)
    sigma, least = Fraction(event.sigma), atoms[0][0] / 2**200
    return tuple((float_up(max(d, least) / sigma), float(share)) for d, share in atoms)


def _atoms(deltas: tuple[float, ...], weights: tuple[int, ...]) -> Atoms:
    """Return each distance that is given, the largest first."""
    shares = dict.fromkeys(sorted(set(deltas), reverse=True), 0)
    for delta, weight in zip(deltas, weights, strict=True):
        shares[delta] += weight
    total = sum(weights)
    return tuple((Fraction(delta), Fraction(w, total)) for delta, w in shares.items())


@cached_by_value(maxsize=64)
def _spread(
    deltas: tuple[float, ...],
    weights: tuple[int, ...],
    turn: tuple[Fraction, Fraction] | None = None,
) -> Atoms:
    """Return few atoms, the largest distance first, whose sum is at least that of all given.

    ``turn`` : bounds of where the function goes over from convex to concave, if it does.
    """
    mass: dict[Fraction, Fraction] = {}
    left = sorted(zip(map(Fraction, deltas), map(Fraction, weights), strict=True))
    for upper, lower in pairwise(_points(deltas, turn)):
        inside = []
        while left and left[-1][0] > lower:
            inside.append(left.pop())
        for d, q in _moved(inside, lower, upper, turn):
            mass[d] = mass.get(d, Fraction(0)) + q
    total = sum(weights)
    return tuple((d, mass[d] / total) for d in sorted(mass, reverse=True) if mass[d])


def _moved(
    inside: list[tuple[Fraction, Fraction]],
    lower: Fraction,
    upper: Fraction,
    turn: tuple[Fraction, Fraction] | None,
) -> list[tuple[Fraction, Fraction]]:
    """Return distances and weights in the place of those that are above ``lower``, up to
    ``upper``."""
    weight = sum((q for _, q in inside), Fraction(0))
    mean = sum((q * d for d, q in inside), Fraction(0))
    if turn is None or upper <= turn[0]:
        share = (mean - weight * lower) / (upper - lower)
        return [(upper, share), (lower, weight - share)]
    if lower >= turn[1] and weight:
        return [(Fraction(float_up(mean / weight)), weight)]
    return [(upper, weight)]


def _points(
    deltas: tuple[float, ...], turn: tuple[Fraction, Fraction] | None = None
) -> list[Fraction]:
    """Return distances from the largest down to 0, dense near the top, where most of a sum is."""
    least, largest = Fraction(min(deltas)), Fraction(max(deltas))
    points = [largest]
    for count in range(_MOST_POINTS):
        if count >= _FINE_POINTS + _COARSE_POINTS and points[-1] <= least:
            break
        # Short fractions: any points would do.
        ratio = _FINE if count < _FINE_POINTS else _COARSE
        points.append(Fraction(float(points[-1] * ratio)))
    points += [point for point in turn or () if 0 < point < largest]
    return [*sorted(set(points), reverse=True), Fraction(0)]
