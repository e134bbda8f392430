"""Costs of a pair of dominating distributions, both ways round: upper bounds, in directed rounding.

An f-divergence is a mixture, with weights >= 0, of the hockey-stick divergences H_g over g > 0
(Sason & Verdu 2016, "f-divergence inequalities", Proposition 3), so a pair that dominates a release
at every g > 0 bounds its Renyi divergence of every order too.
"""

from fractions import Fraction

from dpcore.exact.rounding import exp_up, log_down, log_up, sqrt_down, sqrt_up
from dpcore.privacy.exact_copies import cached_by_value
from dpcore.privacy.stated_events import DominatingPairDpEvent, Shares

__all__ = ["is_pure", "pair_epsilon_up", "pair_renyi_up", "pair_rho_up"]

_FEW = 32  # outcomes up to which a search through the orders is quick
_FIRST_ORDER, _RATIO = Fraction(1, 128), Fraction(5, 4)
"""Less 1; and that of each over that of the one before: rho is up to 1.3 % above the least."""


def is_pure(event: DominatingPairDpEvent) -> bool:
    """Return whether every outcome has a probability > 0 under both distributions."""
    return all(event.p) and all(event.q)


@cached_by_value(maxsize=64)
def _log_ratios_up(event: DominatingPairDpEvent) -> tuple[Fraction, Fraction]:
    """Return upper bounds of the largest ln(p/q) and ln(q/p) of a pure pair, both > 0."""
    forth, back = (log_up(max(a / b for a, b in pairs)) for pairs in event.directions())
    return forth, back


def pair_epsilon_up(event: DominatingPairDpEvent) -> Fraction:
    """Return the epsilon of a pure pair: beyond its largest ratio H_g is 0, and so is that of the
    release."""
    return max(_log_ratios_up(event))


def pair_rho_up(event: DominatingPairDpEvent) -> Fraction:
    """Return a rho of a pure pair. It is length^2 / 8, by Hoeffding's lemma on a log-ratio that
    lies in an interval of that length, or for few outcomes what their divergences of all orders
    come to, where that is less. As in Cesar & Rogers 2021, ln E_Q exp(alpha L) is 0 at alpha = 0
    and 1, and its second derivative is at most length^2 / 4."""
    forth, back = _log_ratios_up(event)
    by_range = (forth + back) ** 2 / 8
    return min(by_range, _largest_slope_up(event)) if len(event.p) <= _FEW else by_range


@cached_by_value(maxsize=64)
def _largest_slope_up(event: DominatingPairDpEvent) -> Fraction:
    """Return an upper bound of D_alpha / alpha over all orders alpha > 1.

    With t = alpha - 1, f(t) = t D is convex (as is the larger of two directions) and 0 at t = 0: so
    between two orders it is at most their chord q t - p, p >= 0, which is at most M t (1 + t) for
    every t > 0 with M = (sqrt(p + q) - sqrt(p))^2, where M t^2 + (M - q) t + p has one root. Up to
    the first order p is 0, and beyond the last one D is at most the largest log-ratio.
    """
    most, found = pair_epsilon_up(event), Fraction(0)
    low, at_low, high = Fraction(0), Fraction(0), _FIRST_ORDER
    while found * (1 + low) < most:
        at_high = max(at_low, pair_renyi_up(event, 1 + high))
        p = low * high * (at_high - at_low) / (high - low)
        q = at_high + p / high
        found = max(found, (sqrt_up(p + q) - sqrt_down(p)) ** 2)
        low, at_low, high = high, at_high, high * _RATIO
    return found


@cached_by_value(maxsize=1024)
def pair_renyi_up(event: DominatingPairDpEvent, order: Fraction) -> Fraction:
    """Return an upper bound of the Renyi divergence of a pure pair at ``order`` > 1:
    ln(sum p^order q^(1 - order)) / (order - 1), the larger of the two directions."""
    forth, back = _log_shares(event)
    return max(_log_moment_up(forth, order), _log_moment_up(back, order)) / (order - 1)


@cached_by_value(maxsize=16)
def _log_shares(event: DominatingPairDpEvent) -> tuple[Shares, Shares]:
    """Return for each outcome an upper bound of ln p and a lower one of ln q; and for (Q, P)."""
    forth, back = (
        tuple((log_up(a), log_down(b)) for a, b in pairs) for pairs in event.directions()
    )
    return forth, back


def _log_moment_up(log_shares: Shares, order: Fraction) -> Fraction:
    exponents = [order * log_p - (order - 1) * log_q for log_p, log_q in log_shares]
    largest = max(exponents)
    # Relative to the largest term nothing overflows.
    return largest + log_up(sum((exp_up(x - largest) for x in exponents), Fraction(0)))
