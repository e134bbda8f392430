"""What a budget buys under each accountant: the table behind ``dpcore account``."""

from typing import Any

from dpcore.accountants import ACCOUNTANTS
from dpcore.accountants.additive import validated_delta, validated_epsilon
from dpcore.accountants.calibrate import noise_multiplier
from dpcore.events import GaussianDpEvent

__all__ = ["describe_budget"]


def describe_budget(epsilon: float, delta: float) -> list[dict[str, Any]]:
    """Return one dict per accountant and conversion that can hold (epsilon, delta).

    Keys: ``accountant``, ``conversion``, ``unit``, ``budget`` (in that unit, rounded down),
    ``order`` (of the rdp accountant, else ``None``) and ``noise_multiplier``: the smallest, rounded
    up, of one Gaussian release that takes the whole budget (under gdp the analytic Gaussian of
    Balle & Wang 2018), ``None`` where no Gaussian release fits.

    Raises
    ------
    InvalidInputError : epsilon not finite and > 0, delta not in [0, 1).
    """
    validated_epsilon(epsilon)
    positive_delta = validated_delta(delta, zero_allowed=True) > 0
    return [
        _row(accountant_class, conversion, epsilon, delta)
        for accountant_class in ACCOUNTANTS
        if positive_delta or accountant_class.delta_may_be_zero
        for conversion in accountant_class.conversions
    ]


def _row(accountant_class: Any, conversion: str, epsilon: float, delta: float) -> dict[str, Any]:
    accountant = accountant_class.from_budget(epsilon, delta, conversion)
    holds_gaussian = accountant.budget > 0 and GaussianDpEvent in accountant.events
    return {
        "accountant": accountant.name,
        "conversion": conversion,
        "unit": accountant.unit,
        "budget": accountant.budget,
        "order": float(accountant.order) if hasattr(accountant, "order") else None,
        "noise_multiplier": (
            noise_multiplier(accountant, GaussianDpEvent, accountant.budget)
            if holds_gaussian
            else None
        ),
    }
