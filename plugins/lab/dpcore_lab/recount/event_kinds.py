"""Events of every kind, by one value of noise: for random lists to charge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    ApproximateDpEvent,
    DominatingPairDpEvent,
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PoissonSampledDpEvent,
    PureDpEvent,
    RandomizedSensitivityGaussian,
    RenyiDpEvent,
    SampledWithoutReplacementDpEvent,
    SkellamDpEvent,
    ZcdpDpEvent,
)
from dpcore_accounting.events.objective_perturbation import ObjectivePerturbationDpEvent

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin.parts import DpEvent

__all__ = ["EVENT_KINDS"]

_ADD, _REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
_STEPS = 2.0**10


def _skellam(m: float) -> SkellamDpEvent:
    return SkellamDpEvent((m * _STEPS) ** 2, _STEPS**2, _STEPS)


def _curve(m: float) -> RenyiDpEvent:
    orders = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
    return RenyiDpEvent(orders, tuple(order / (2 * m * m) for order in orders))


def _pair(m: float) -> DominatingPairDpEvent:
    likely = 2**20 + max(1, int(2**20 / m))
    return DominatingPairDpEvent((likely, 2**20), (2**20, likely))


EVENT_KINDS: dict[str, Callable[[float], DpEvent]] = {
    "Gaussian": GaussianDpEvent,
    "Laplace": LaplaceDpEvent,
    "pure": lambda m: PureDpEvent(1 / m),
    "bounded range": lambda m: ExponentialMechanismDpEvent(1 / m),
    "ex post": lambda m: ExPostDpEvent(1 / m),
    "Gaussian of randomised sensitivity": lambda m: RandomizedSensitivityGaussian(
        (1.0, 0.25), (1, 3), m
    ),
    "objective perturbation": lambda m: ObjectivePerturbationDpEvent((1 / m,), 0.1 / m),
    "Skellam": _skellam,
    "zCDP": lambda m: ZcdpDpEvent(1 / (2 * m * m)),
    "Renyi curve": _curve,
    "(epsilon, delta)": lambda m: ApproximateDpEvent(1 / m, 1e-9),
    "dominating pair": _pair,
    "Poisson sample of a Gaussian": lambda m: PoissonSampledDpEvent(0.05, GaussianDpEvent(m), _ADD),
    "Poisson sample of a Gaussian, replace-one": lambda m: PoissonSampledDpEvent(
        0.05, GaussianDpEvent(m), _REPLACE
    ),
    "fixed sample of a Gaussian": lambda m: SampledWithoutReplacementDpEvent(
        400, 20, GaussianDpEvent(m), _REPLACE
    ),
}
"""Each costs less the larger its value is."""
