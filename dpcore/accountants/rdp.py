"""Renyi differential privacy at one order, fixed from the budget before the run."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from dpcore.accountants import conversion as convert
from dpcore.accountants.additive import AdditiveAccountant
from dpcore.accountants.mixture import mixture_renyi_up
from dpcore.accountants.skellam import skellam_renyi_up
from dpcore.events import (
    DpEvent,
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PureDpEvent,
    RandomizedSensitivityGaussian,
    SkellamDpEvent,
)
from dpcore.rounding import exp_down, exp_up, float_up, log_down, log_up

__all__ = ["RdpAccountant"]


def _gaussian(event: GaussianDpEvent, order: Fraction) -> Fraction:
    """order / (2 noise_multiplier**2): Mironov 2017, Proposition 7. An equality."""
    return order / (2 * Fraction(event.noise_multiplier) ** 2)


def _pure_renyi(epsilon: Fraction, order: Fraction) -> Fraction:
    """Renyi divergence of randomised response, the worst epsilon-DP release (Steinke 2024, Tight
    RDP & zCDP Bounds from Pure DP, Theorem 4)."""
    flipped = exp_up(-(2 * order - 1) * epsilon)
    gain = log_up(1 + flipped) - log_down(1 + exp_down(-epsilon))
    return epsilon + gain / (order - 1)


def _pure(event: PureDpEvent | ExPostDpEvent, order: Fraction) -> Fraction:
    return _pure_renyi(Fraction(event.epsilon), order)


def _bounded_range(event: ExponentialMechanismDpEvent, order: Fraction) -> Fraction:
    """The smaller of order epsilon**2 / 8 (Cesar & Rogers 2021, zCDP from bounded range) and that
    of any epsilon-DP release."""
    epsilon = Fraction(event.epsilon)
    return min(order * epsilon * epsilon / 8, _pure_renyi(epsilon, order))


def _laplace(event: LaplaceDpEvent, order: Fraction) -> Fraction:
    """Mironov 2017, Proposition 6, epsilon = 1 / noise_multiplier. The logarithm of a sum of
    exponentials in epsilon is convex, and it is 0 at 0, so over the coordinates of a vector the sum
    is largest where one coordinate takes the whole l1 sensitivity."""
    epsilon = 1 / Fraction(event.noise_multiplier)
    right = (order - 1) / (2 * order - 1) * exp_up(-(2 * order - 1) * epsilon)
    return epsilon + log_up(order / (2 * order - 1) + right) / (order - 1)


_RULES: dict[type[DpEvent], Callable[[Any, Fraction], Fraction]] = {
    GaussianDpEvent: _gaussian,
    SkellamDpEvent: skellam_renyi_up,
    PureDpEvent: _pure,
    ExponentialMechanismDpEvent: _bounded_range,
    LaplaceDpEvent: _laplace,
    RandomizedSensitivityGaussian: mixture_renyi_up,
    # Its cap: an epsilon-DP release like any other.
    ExPostDpEvent: _pure,
}


@lru_cache(maxsize=4096)
def _cost(event: DpEvent, order: Fraction) -> Fraction:
    return _RULES[type(event)](event, order)


@dataclass(frozen=True, kw_only=True)
class RdpAccountant(AdditiveAccountant):
    """Adds up Renyi divergences at one order (Mironov 2017).

    The order is the best one for concentrated costs, a function of epsilon and delta alone, and the
    report uses it too: so it is a fully adaptive filter (Feldman & Zrnic 2021, Theorem 3.1), which
    a minimum over orders taken after the run is not.

    Parameters
    ----------
    order : alpha > 1, exact.
    """

    name: ClassVar[str] = "rdp"
    unit: ClassVar[str] = "RDP at one order"
    fully_adaptive: ClassVar[bool] = True
    conversions: ClassVar[tuple[str, ...]] = ("tight",)
    events: ClassVar[tuple[type[DpEvent], ...]] = tuple(_RULES)

    order: Fraction

    @classmethod
    def _open(cls, epsilon: float, delta: float, conversion: str) -> tuple[Fraction, dict]:
        t = convert.best_order_for_budget(epsilon, delta)
        return convert.renyi_budget_down(epsilon, delta, t), {"order": 1 + t}

    def _leaf_cost(self, event: Any) -> Fraction:
        return _cost(event, self.order)

    def _epsilon(self, spent: Fraction, delta: float) -> float:
        return float_up(convert.epsilon_up(spent, delta, self.order - 1))
