"""Renyi differential privacy at one order, fixed from public facts before the run."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from dpcore.errors import UnsupportedEventError
from dpcore.plugin.parts import (
    AdditiveAccountant,
    ApproximateDpEvent,
    ComposedDpEvent,
    DominatingPairDpEvent,
    DpEvent,
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PoissonSampledDpEvent,
    PureDpEvent,
    RandomizedSensitivityGaussian,
    RenyiDpEvent,
    ReservingAccountant,
    SkellamDpEvent,
    ZcdpDpEvent,
    cached_by_value,
    exp_down,
    exp_up,
    float_up,
    log_down,
    log_up,
    smallest_multiplier,
)
from dpcore_accounting.events.objective_perturbation import ObjectivePerturbationDpEvent
from dpcore_accounting.mixture import mixture_renyi_up
from dpcore_accounting.renyi_orders import best_order, stated_renyi_up
from dpcore_accounting.sampled_gaussian import is_bounded, sampled_gaussian_renyi_up
from dpcore_accounting.skellam import (
    is_sampled_skellam,
    sampled_skellam_renyi_up,
    skellam_renyi_up,
)

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


def _pure(event: PureDpEvent | ExPostDpEvent | ApproximateDpEvent, order: Fraction) -> Fraction:
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


def _perturbed(event: ObjectivePerturbationDpEvent, order: Fraction) -> Fraction:
    """The event's own bound, its terms relative to the largest."""
    exponents = [order * (order - 1) * Fraction(m) ** 2 / 2 for m in event.shifts]
    total = sum(exp_up(x - max(exponents)) for x in exponents)
    moment = max(exponents) + log_up(Fraction(total))
    return Fraction(event.log_determinant) + moment / (order - 1)


def _concentrated(event: ZcdpDpEvent, order: Fraction) -> Fraction:
    return order * Fraction(event.rho)


def _sampled(event: PoissonSampledDpEvent, order: Fraction) -> Fraction:
    if is_sampled_skellam(event):
        return sampled_skellam_renyi_up(event, order)
    return sampled_gaussian_renyi_up(event, order)


_RULES: dict[type[DpEvent], Callable[[Any, Fraction], Fraction]] = {
    GaussianDpEvent: _gaussian,
    SkellamDpEvent: skellam_renyi_up,
    PureDpEvent: _pure,
    ExponentialMechanismDpEvent: _bounded_range,
    LaplaceDpEvent: _laplace,
    RandomizedSensitivityGaussian: mixture_renyi_up,
    PoissonSampledDpEvent: _sampled,
    # Its cap: an epsilon-DP release like any other.
    ExPostDpEvent: _pure,
    ObjectivePerturbationDpEvent: _perturbed,
    ZcdpDpEvent: _concentrated,
    RenyiDpEvent: stated_renyi_up,
    DominatingPairDpEvent: ReservingAccountant.pair_renyi_up,
    # But for its delta, which the reserve is charged.
    ApproximateDpEvent: _pure,
}


@cached_by_value(maxsize=4096)
def _cost(event: DpEvent, order: Fraction) -> Fraction:
    if isinstance(event, ComposedDpEvent):
        return Fraction(sum(_cost(part, order) for part in event.events))
    return _RULES[type(event)](event, order)


_LAST_SUMMED = Fraction(2**16)
"""The last order that is looked at where a divergence is a sum over the orders below."""


def _last_order(events: Iterable[DpEvent]) -> Fraction | None:
    """Return the largest order to choose from: at which all events have a bound, that is not a sum
    of many terms; ``None`` if that is any."""
    lasts: list[Fraction | None] = []
    for event in events:
        if isinstance(event, ComposedDpEvent):
            lasts.append(_last_order(event.events))
        elif isinstance(event, RenyiDpEvent):
            lasts.append(Fraction(event.orders[-1]))
        elif isinstance(event, PoissonSampledDpEvent):
            lasts.append(_LAST_SUMMED)
    return min((last for last in lasts if last is not None), default=None)


@dataclass(frozen=True, kw_only=True)
class RdpAccountant(ReservingAccountant):
    """Adds up Renyi divergences at one order (Mironov 2017).

    The order is the best one for concentrated costs, a function of epsilon and delta alone, or the
    best one for a schedule that is known beforehand (``planned``, ``for_schedule``): where rows are
    sampled it is another by far. The report uses it too: so it is a fully adaptive filter (Feldman
    & Zrnic 2021, Theorem 3.1), which a minimum over orders taken after the run is not. A run that
    departs from its schedule is held to the budget all the same.

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
    def _open(
        cls, epsilon: float, delta: float, conversion: str
    ) -> tuple[Fraction, dict[str, Any]]:
        t = RenyiDpEvent.best_order_for_budget(epsilon, delta)
        return RenyiDpEvent.budget_down(epsilon, delta, t), {"order": 1 + t}

    @classmethod
    def at_order(
        cls, epsilon: float, delta: float, order: Fraction, reserve: Fraction = Fraction(0)
    ) -> Self:
        """Return the empty accountant whose filter enforces (epsilon, delta) at this order > 1,
        with ``reserve`` of delta kept for (epsilon, delta) releases."""
        empty = cls.with_reserve(epsilon, delta, reserve)
        left = cls._delta_beside(empty.delta, reserve)
        budget = RenyiDpEvent.budget_down(empty.epsilon, left, order - 1)
        return replace(empty, order=order, budget_ticks=AdditiveAccountant.ticks_down(budget))

    @classmethod
    def for_schedule(cls, epsilon: float, delta: float, events: Mapping[DpEvent, int]) -> Self:
        """Return the empty accountant at the order at which so many of each event come to the
        smallest epsilon, with the reserve that they take. Whether they fit, ``holds`` says."""
        cls._require_rules(events)
        return cls._at_best_order(epsilon, delta, events, fractional=True)

    @classmethod
    def _at_best_order(
        cls, epsilon: float, delta: float, events: Mapping[DpEvent, int], fractional: bool
    ) -> Self:
        reserve = cls.deltas_of(events)
        left, last = cls._delta_beside(delta, reserve), _last_order(events)
        order = best_order(_cost, events, left, fractional=fractional, last=last)
        return cls.at_order(epsilon, delta, order, reserve)

    @classmethod
    def _require_rules(cls, events: Mapping[DpEvent, int]) -> None:
        for event in events:
            if not cls.supports(event):
                raise UnsupportedEventError(cls.unsupported(cls.name, event))

    @classmethod
    def planned(
        cls, epsilon: float, delta: float, schedule: Callable[[float], Mapping[DpEvent, int]]
    ) -> Self:
        """Return the empty accountant at the order at which the schedule, a function of the noise
        multiplier, takes the least noise for (epsilon, delta)."""
        empty, stated = cls.from_budget(epsilon, delta), schedule(1.0)
        cls._require_rules(stated)
        if stated == schedule(2.0):  # Its noise is no matter of the multiplier.
            fitted = cls.for_schedule(epsilon, delta, stated)
            if fitted.holds(stated):
                return fitted

        def holds(multiplier: float) -> bool:
            events = schedule(multiplier)
            planned = cls._at_best_order(empty.epsilon, empty.delta, events, fractional=False)
            return planned.holds(events)

        multiplier = smallest_multiplier(holds, precision=1e-4)
        return cls.for_schedule(epsilon, delta, schedule(multiplier))

    @classmethod
    def _has_rule(cls, event: DpEvent) -> bool:
        if isinstance(event, PoissonSampledDpEvent):
            return is_bounded(event) or is_sampled_skellam(event)
        return super()._has_rule(event)

    def _leaf_cost(self, event: Any) -> Fraction:
        return _cost(event, self.order)

    def _epsilon(self, spent: Fraction, delta: float) -> float:
        return float_up(RenyiDpEvent.epsilon_up(spent, delta, self.order - 1))
