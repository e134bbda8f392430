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

**A Poisson sample**, under add-or-remove-one and replace-special: the bound of Zhu & Wang 2019,
"Poisson Subsampled Renyi Differential Privacy", without the factor 3 that noise of any distribution
needs. A row is drawn with probability p, and moves an integer vector by v: |v|_1 <= D1, |v|_2 <=
D2. Given the other rows that were drawn, let f be the distribution of the noisy sum without the
row, and g = f(. - v) that with it. By joint convexity the divergences of the released distributions
are at most those of M = (1 - p) f + p g and f.

* M from f, at a whole order alpha, by the binomial theorem:

      E_f[(M/f)^alpha] = sum_k C(alpha, k) (1 - p)^(alpha - k) p^k E_f[(g/f)^k],

  where E_f[(g/f)^k] is 1 for k = 0 and 1, and at most exp((k - 1) D_k) from 2 on, D_k being the
  Renyi divergence of all rows.
* f from M is no more, for every noise that is symmetric about 0. Reflected at the middle of the two
  sums, f becomes g and g becomes f; so outcomes come in pairs, to which f gives shares q <= 1/2 and
  1 - q, g the same the other way round, and M gives m and 1 - m with q <= m <= 1 - q. With
  m = q e^u and 1 - m = (1 - q) e^-v the moments of the pair differ by

      2 q e^(u/2) sinh(b u) - 2 (1 - q) e^(-v/2) sinh(b v),   b = alpha - 1/2.

  For b = 1/2 that is m - q less m - q, so 0. sinh(b x) / sinh(x / 2) increases in x for b >= 1/2,
  and u >= v since m (1 - m) >= q (1 - q): so it is >= 0. (Mironov, Talwar & Zhang 2019, Theorem 5,
  say it of densities.)

Between whole orders ln E is convex in alpha, and sampling costs no more than taking every row.
Under replace-one it is no bound: there the row drawn is another on the other table. Renyi
divergences add up over releases, also over those chosen from earlier ones.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dpcore.errors import UnsupportedEventError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    PoissonSampledDpEvent,
    RenyiDpEvent,
    SkellamDpEvent,
    cached_by_value,
    exp_up,
    float_up,
    log_down,
    log_up,
)

__all__ = [
    "is_sampled_skellam",
    "sampled_skellam_renyi_up",
    "skellam_delta_up",
    "skellam_renyi_up",
]


_LARGEST_ORDER = 2**16
"""Beyond it a sample is charged as all rows: the sum would have as many terms."""


def skellam_renyi_up(event: SkellamDpEvent, order: Fraction) -> Fraction:
    """Return an upper bound of the event's Renyi divergence at any ``order`` > 1."""
    values = Fraction(event.variance), Fraction(event.l1_bound), Fraction(event.l2_bound)
    below = math.floor(order)
    share = order - below
    at_below, at_above = (_moment(n, *values) for n in (below, below + 1))
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
    in floats, may be the best one for this sum: all its values are public and fixed beforehand.

    Parameters
    ----------
    hits : releases that move, 0 or more.
    mu : variance of the whole sum's noise, in squared steps; a lower bound.
    d1, d2 : l1 and l2 sensitivity of one release, in steps; upper bounds.
    """
    if hits == 0:
        return Fraction(0)
    floats = float(mu), float(d1), float(d2), float(epsilon)
    t = RenyiDpEvent.best_order(lambda t: -_log_delta(t, hits, *floats))
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


def is_sampled_skellam(event: PoissonSampledDpEvent) -> bool:
    """Return whether these bounds are about the event."""
    covered = event.relation is not NeighboringRelation.REPLACE_ONE
    return covered and type(event.event) is SkellamDpEvent


def sampled_skellam_renyi_up(event: PoissonSampledDpEvent, order: Fraction) -> Fraction:
    """Return an upper bound of the Renyi divergence at ``order`` > 1.

    Raises UnsupportedEventError under replace-one and for other noise than Skellam.
    """
    if not is_sampled_skellam(event) or not isinstance(event.event, SkellamDpEvent):
        raise UnsupportedEventError(
            "The sampled Skellam's Renyi bound is for Skellam noise under add-or-remove-one and "
            "replace-special; use skellam-composition."
        )
    p, everyone = event.sampling_probability, skellam_renyi_up(event.event, order)
    if p == 1.0 or order > _LARGEST_ORDER:
        return everyone
    below = math.floor(order)
    share = order - below
    log_a = (1 - share) * _log_moment_up(event.event, p, below)
    if share:
        log_a += share * _log_moment_up(event.event, p, below + 1)
    return min(everyone, log_a / (order - 1))


@cached_by_value(maxsize=4096)
def _log_moment_up(event: SkellamDpEvent, p: float, order: int) -> Fraction:
    """Return an upper bound of ln E_f[(M/f)^order] at a whole order; that of all rows where the sum
    has no float."""
    if order == 1:
        return Fraction(0)
    mu, d1, d2 = Fraction(event.variance), Fraction(event.l1_bound), Fraction(event.l2_bound)
    squared = d2 * d2
    normal, small, fixed, most = (
        float_up(x)
        for x in (squared / mu / 2, squared / mu / mu / 4, 3 * d1 / mu / mu / 2, 3 * d1 / mu / 2)
    )
    import numpy as np

    from dpcore_accounting.sampled_moments import log_moment_of_whole_order

    k = np.arange(2, order + 1, dtype=np.float64)
    with np.errstate(over="ignore"):
        grown = (k - 1) * (k * normal + np.minimum((2 * k - 1) * small + fixed, most))
    sampled = log_moment_of_whole_order(grown, p)
    whole = (order - 1) * skellam_renyi_up(event, Fraction(order))
    return min(Fraction(sampled), whole) if math.isfinite(sampled) else whole
