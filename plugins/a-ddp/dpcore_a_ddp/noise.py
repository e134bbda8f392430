"""The noise of a round: public values, from a public budget and a planned number of rounds.

Nothing here is a guarantee. Whatever the noise, every user's own filter counts what was released.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import GdpAccountant

__all__ = ["advanced_split", "analytic_gaussian", "basic_split"]

_LEAST_MU_SQUARED = 1e-24


def basic_split(epsilon: float, delta: float, rounds: int) -> tuple[float, float]:
    """Return a round's share under basic composition: epsilons and deltas add up."""
    return epsilon / rounds, delta / rounds


def advanced_split(epsilon: float, delta: float, rounds: int) -> tuple[float, float]:
    """Return a round's share under advanced composition (Dwork & Roth 2014, Theorem 3.20): half of
    delta for the rounds and half for the composition. One round takes the whole budget."""
    if rounds == 1:
        return epsilon, delta

    def total(share: float) -> float:
        root = math.sqrt(2 * rounds * math.log(2 / delta))
        return root * share + rounds * share * math.expm1(share)

    low, high = 0.0, min(epsilon, 500.0)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if total(middle) <= epsilon else (low, middle)
    return low, delta / (2 * rounds)


def analytic_gaussian(epsilon: float, delta: float) -> float:
    """Return the least noise multiplier of an (epsilon, delta)-DP Gaussian release, for any epsilon
    > 0 (Balle & Wang 2018, Theorem 8)."""
    if delta == 0:
        raise InvalidInputError(
            "A round's noise is Gaussian, and none is (epsilon, 0)-DP (Balle & Wang 2018, Theorem "
            "8): choose a --delta (delta=) greater than 0, with --accountant zcdp (accountant=)."
        )
    mu_squared = float(GdpAccountant.mu_squared_down(Fraction(epsilon), Fraction(delta)))
    if mu_squared < _LEAST_MU_SQUARED:
        raise InvalidInputError(
            f"The planned budget of epsilon={epsilon:g}, delta={delta:g} is too small for one "
            "round. Raise epsilon or delta: without them it is the median of the users' own."
        )
    return math.nextafter(1 / math.sqrt(mu_squared), math.inf)
