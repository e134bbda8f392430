"""Gaussian differential privacy: exact where all releases are Gaussian, above it elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dpcore.accountants.gaussian_mu import bounded_range_mu_up, laplace_mu_up, pure_mu_up
from dpcore.accountants.native_budget import NativeBudgetAccountant
from dpcore.accountants.normal import (
    gaussian_delta_up,
    gaussian_epsilon_up,
    gaussian_mu_squared_down,
)
from dpcore.exact.rounding import sqrt_up
from dpcore.privacy.events import (
    DpEvent,
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PureDpEvent,
)
from dpcore.privacy.exact_copies import cached_by_value

__all__ = ["GdpAccountant"]


def _gaussian(event: GaussianDpEvent) -> Fraction:
    """1 / noise_multiplier: Dong, Roth & Su 2022, Theorem 2.7. An equality."""
    return 1 / Fraction(event.noise_multiplier)


def _pure(event: PureDpEvent | ExPostDpEvent) -> Fraction:
    return pure_mu_up(Fraction(event.epsilon))


def _bounded_range(event: ExponentialMechanismDpEvent) -> Fraction:
    return bounded_range_mu_up(Fraction(event.epsilon))


def _laplace(event: LaplaceDpEvent) -> Fraction:
    return laplace_mu_up(1 / Fraction(event.noise_multiplier))


_RULES: dict[type[DpEvent], Callable[[Any], Fraction]] = {
    GaussianDpEvent: _gaussian,
    # The others by ``dpcore.accountants.gaussian_mu``, which has the proofs.
    PureDpEvent: _pure,
    ExponentialMechanismDpEvent: _bounded_range,
    LaplaceDpEvent: _laplace,
    # Its cap: an epsilon-DP release like any other.
    ExPostDpEvent: _pure,
}


@cached_by_value(maxsize=256)
def _squared_mu(event: DpEvent) -> Fraction:
    mu = _RULES[type(event)](event)
    return mu * mu


@dataclass(frozen=True, kw_only=True)
class GdpAccountant(NativeBudgetAccountant):
    """Adds up mu**2 (Dong, Roth & Su 2022): Gaussian shifts of mu_1, mu_2 are together one of
    sqrt(mu_1**2 + mu_2**2). A Gaussian release has mu = 1 / noise_multiplier, exactly; selections,
    Laplace noise and pure releases have the mu of the Gaussian that dominates them
    (``dpcore.accountants.gaussian_mu``).

    No central limit theorem: such values for sampled mechanisms are too low, so those events are
    refused. Fully adaptive: Smith & Thakurta 2022; Koskela, Tobaben & Honkela 2023. The conversion
    is the exact curve of the Gaussian (Balle & Wang 2018, Theorem 8).

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dpcore.plugin.parts import GdpAccountant
    >>> mu_squared = GdpAccountant.mu_squared_down(Fraction(1), Fraction(1, 10**6))
    >>> round(GdpAccountant.epsilon_up(mu_squared, Fraction(1, 10**6)), 9)
    1.0
    """

    name: ClassVar[str] = "gdp"
    unit: ClassVar[str] = "mu^2"
    fully_adaptive: ClassVar[bool] = True
    conversions: ClassVar[tuple[str, ...]] = ("exact",)
    events: ClassVar[tuple[type[DpEvent], ...]] = tuple(_RULES)

    delta_up, epsilon_up = staticmethod(gaussian_delta_up), staticmethod(gaussian_epsilon_up)
    mu_squared_down = staticmethod(gaussian_mu_squared_down)

    @classmethod
    def _open(
        cls, epsilon: float, delta: float, conversion: str
    ) -> tuple[Fraction, dict[str, Any]]:
        return gaussian_mu_squared_down(Fraction(epsilon), Fraction(delta)), {}

    def _leaf_cost(self, event: Any) -> Fraction:
        return _squared_mu(event)

    @classmethod
    def _budget_of(cls, native: Fraction) -> Fraction:
        return native * native

    @classmethod
    def _epsilon_of(cls, spent: Fraction, delta: float, conversion: str) -> float:
        return gaussian_epsilon_up(spent, Fraction(delta))

    def _would_hold(self, event: DpEvent, epsilon: float) -> bool:
        # The curve answers at once what the budget of an epsilon has to be searched for.
        return gaussian_delta_up(sqrt_up(self.cost(event)), Fraction(epsilon)) <= self.delta
