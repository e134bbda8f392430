"""The cost of Skellam noise: Agarwal, Kairouz & Liu 2021, "The Skellam Mechanism for Differentially
Private Federated Learning" (arXiv:2110.04995), Theorem 3.5.

An integer vector that moves by at most D1 in l1 and D2 in l2 between neighbours, plus symmetric
Skellam noise of variance mu in each coordinate, has for every whole order alpha > 1 a Renyi
divergence of at most

    alpha D2^2 / (2 mu) + min(((2 alpha - 1) D2^2 + 6 D1) / (4 mu^2), 3 D1 / (2 mu)).

It increases with D1 and D2, so upper bounds of them will do, which need not be whole. Between whole
orders (alpha - 1) times the divergence is convex, and 0 at order 1 (van Erven & Harremoes 2014,
"Renyi divergence and Kullback-Leibler divergence", Corollary 2): the chord bounds it. As alpha goes
to 1 the chord tends to the divergence of order 2, which is about twice that of a Gaussian: so this
is no useful bound of zCDP. It holds for one release of the whole sum; any relation, through D1, D2.
"""

import math
from fractions import Fraction

from dpcore.accountants.conversion import golden_maximum
from dpcore.exact.rounding import log_down
from dpcore.plugin.parts import SkellamDpEvent, exp_up, log_up

__all__ = ["skellam_delta_up", "skellam_renyi_up"]


def skellam_renyi_up(event: SkellamDpEvent, order: Fraction) -> Fraction:
    """Return an upper bound of the event's Renyi divergence at any ``order`` > 1."""
    figures = Fraction(event.variance), Fraction(event.l1_bound), Fraction(event.l2_bound)
    below = math.floor(order)
    share = order - below
    at_below, at_above = (_moment(n, *figures) for n in (below, below + 1))
    return ((1 - share) * at_below + share * at_above) / (order - 1)


def _moment(order: int, mu: Fraction, d1: Fraction, d2: Fraction) -> Fraction:
    """Return the theorem's bound at a whole order, times order - 1."""
    squared = d2 * d2
    small = ((2 * order - 1) * squared + 6 * d1) / (4 * mu * mu)
    return (order - 1) * (order * squared / (2 * mu) + min(small, 3 * d1 / (2 * mu)))


def skellam_delta_up(
    hits: int,
    mu: Fraction | float,
    d1: Fraction | float,
    d2: Fraction | float,
    epsilon: Fraction | float,
) -> Fraction:
    """Return an upper bound of the delta at ``epsilon`` of ``hits`` releases with Skellam noise.

    Renyi divergences add up over releases, also those chosen from earlier ones (Mironov 2017,
    Proposition 1); at a whole order alpha they give

        delta = exp((alpha - 1) (tau - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1)

    (Canonne, Kamath & Steinke 2020, Proposition 12). It holds at every order, so the order, sought
    in floats, may be the best one for this sum: all its figures are public and fixed beforehand.

    Parameters
    ----------
    hits : releases that move, 0 or more.
    mu : variance of the whole sum's noise, in squared steps; a lower bound.
    d1, d2 : l1 and l2 sensitivity of one release, in steps; upper bounds.
    """
    if hits == 0:
        return Fraction(0)
    floats = float(mu), float(d1), float(d2), float(epsilon)
    t = golden_maximum(lambda t: -_log_delta(t, hits, *floats))
    whole = max(1, math.floor(t))
    exact = Fraction(mu), Fraction(d1), Fraction(d2), Fraction(epsilon)
    return min(_delta_at(n, hits, *exact) for n in (whole + 1, whole + 2))


def _log_delta(t: float, hits: int, mu: float, d1: float, d2: float, epsilon: float) -> float:
    """Return about the logarithm of delta at order 1 + t, as if the theorem held at every order."""
    small = ((2 * t + 1) * d2 * d2 + 6 * d1) / (4 * mu * mu)
    tau = hits * ((1 + t) * d2 * d2 / (2 * mu) + min(small, 1.5 * d1 / mu))
    return t * (tau - epsilon) - math.log(t) - (1 + t) * math.log1p(1 / t)


def _delta_at(
    order: int, hits: int, mu: Fraction, d1: Fraction, d2: Fraction, epsilon: Fraction
) -> Fraction:
    t = Fraction(order - 1)
    log_factor = t * log_up(t) - order * log_down(Fraction(order))
    log_delta = hits * _moment(order, mu, d1, d2) - t * epsilon + log_factor
    return exp_up(log_delta) if log_delta < 0 else Fraction(1)
