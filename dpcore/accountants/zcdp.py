"""Zero-concentrated differential privacy: costs rho add up, whatever the releases are.

"bun-steinke" is Bun & Steinke 2016, Proposition 1.3 (Lemma 3.8 in Lee & Kifer 2018): rho-zCDP is
(rho + 2 sqrt(rho ln(1/delta)), delta)-DP. "tight" is in ``dpcore.privacy.renyi_conversion``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dpcore.accountants.delta_reserve import ReservingAccountant
from dpcore.accountants.dominating_pairs import pair_epsilon_up, pair_rho_up
from dpcore.accountants.native_budget import NativeBudgetAccountant
from dpcore.exact.rounding import exp_down, exp_up, float_up, log_down, sqrt_up
from dpcore.privacy.events import (
    DpEvent,
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PureDpEvent,
)
from dpcore.privacy.exact_copies import cached_by_value
from dpcore.privacy.stated_events import (
    ApproximateDpEvent,
    DominatingPairDpEvent,
    RenyiDpEvent,
    ZcdpDpEvent,
)

__all__ = ["ZcdpAccountant"]


def _gaussian(event: GaussianDpEvent) -> Fraction:
    """1 / (2 noise_multiplier**2): Bun & Steinke 2016, Proposition 1.6. An equality."""
    return 1 / (2 * Fraction(event.noise_multiplier) ** 2)


def _pure_rho(epsilon: Fraction) -> Fraction:
    """epsilon tanh(epsilon/2), the Kullback-Leibler divergence of randomised response, the worst
    epsilon-DP release: Steinke 2024, Tight RDP & zCDP Bounds from Pure DP, Theorem 5
    (differentialprivacy.org/pdp-to-zcdp). It is at most the epsilon**2 / 2 of Bun & Steinke 2016,
    Proposition 3.3."""
    small = exp_down(-epsilon)
    return epsilon * (1 - small) / (1 + small)


def _pure(event: PureDpEvent | ExPostDpEvent | ApproximateDpEvent) -> Fraction:
    return _pure_rho(Fraction(event.epsilon))


def _stated(event: ZcdpDpEvent) -> Fraction:
    return Fraction(event.rho)


def _pair(event: DominatingPairDpEvent) -> Fraction:
    """The smaller of its own and that of any epsilon-DP release."""
    return min(pair_rho_up(event), _pure_rho(pair_epsilon_up(event)))


def _bounded_range(event: ExponentialMechanismDpEvent) -> Fraction:
    """epsilon**2 / 8: Cesar & Rogers 2021, by Hoeffding's lemma on a privacy loss that lies in an
    interval of length epsilon (so for the exponential mechanism, not for permute-and-flip nor noisy
    max). The interval contains 0, so it is epsilon-DP too (Dong, Durfee & Rogers 2020), which costs
    less beyond epsilon = 8."""
    epsilon = Fraction(event.epsilon)
    return min(epsilon * epsilon / 8, _pure_rho(epsilon))


def _laplace(event: LaplaceDpEvent) -> Fraction:
    """epsilon + e**-epsilon - 1 with epsilon = 1 / noise_multiplier: the Kullback-Leibler
    divergence of two Laplace distributions: Harrison & Manurangsi 2026 (arXiv:2510.25746). Flooring
    is post-processing. It is convex in epsilon and 0 at 0, so over the coordinates of a vector the
    sum is largest where one coordinate takes the whole l1 sensitivity."""
    epsilon = 1 / Fraction(event.noise_multiplier)
    return epsilon + exp_up(-epsilon) - 1


_RULES: dict[type[DpEvent], Callable[[Any], Fraction]] = {
    GaussianDpEvent: _gaussian,
    PureDpEvent: _pure,
    ExponentialMechanismDpEvent: _bounded_range,
    LaplaceDpEvent: _laplace,
    # Its cap: an epsilon-DP release like any other.
    ExPostDpEvent: _pure,
    ZcdpDpEvent: _stated,
    DominatingPairDpEvent: _pair,
    # But for its delta, which the reserve is charged.
    ApproximateDpEvent: _pure,
}


@cached_by_value(maxsize=4096)
def _cost(event: DpEvent) -> Fraction:
    return _RULES[type(event)](event)


@dataclass(frozen=True, kw_only=True)
class ZcdpAccountant(NativeBudgetAccountant, ReservingAccountant):
    """Adds up rho (Bun & Steinke 2016). Holds every kind of release.

    Fully adaptive: the filter that refuses the event which would pass the total is valid when costs
    are chosen from earlier outputs (Feldman & Zrnic 2021, Theorem 3.1; Whitehouse et al. 2023,
    Theorem 1). Conversions: see the head of this module.
    """

    name: ClassVar[str] = "zcdp"
    unit: ClassVar[str] = "rho"
    fully_adaptive: ClassVar[bool] = True
    conversions: ClassVar[tuple[str, ...]] = ("tight", "bun-steinke")
    events: ClassVar[tuple[type[DpEvent], ...]] = tuple(_RULES)

    @classmethod
    def _open(
        cls, epsilon: float, delta: float, conversion: str
    ) -> tuple[Fraction, dict[str, Any]]:
        if conversion == "bun-steinke":
            return bun_steinke_rho_down(epsilon, delta), {}
        t = RenyiDpEvent.best_order_for_budget(epsilon, delta)
        return RenyiDpEvent.budget_down(epsilon, delta, t) / (1 + t), {}

    def _leaf_cost(self, event: Any) -> Fraction:
        return _cost(event)

    @classmethod
    def _budget_of(cls, native: Fraction) -> Fraction:
        return native

    @classmethod
    def _epsilon_of(cls, spent: Fraction, delta: float, conversion: str) -> float:
        if conversion == "bun-steinke":
            return float_up(bun_steinke_epsilon_up(spent, delta))
        t = RenyiDpEvent.best_order_for_report(spent, delta)
        return float_up(RenyiDpEvent.epsilon_up(spent * (1 + t), delta, t))


def bun_steinke_rho_down(epsilon: float, delta: float) -> Fraction:
    """Return the largest rho, rounded down, with rho + 2 sqrt(rho ln(1/delta)) <= epsilon."""
    log_inverse = -log_down(Fraction(delta))
    root = Fraction(epsilon) / (sqrt_up(log_inverse + Fraction(epsilon)) + sqrt_up(log_inverse))
    return root * root


def bun_steinke_epsilon_up(rho: Fraction, delta: float) -> Fraction:
    """Return rho + 2 sqrt(rho ln(1/delta)), rounded up."""
    return rho + 2 * sqrt_up(rho * -log_down(Fraction(delta)))
