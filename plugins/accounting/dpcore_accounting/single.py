"""One release, bounded by its own (epsilon, delta) curve."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from dpcore.errors import BudgetExceededError, UnsupportedEventError
from dpcore.plugin.parts import (
    AdditiveAccountant,
    ApproximateDpEvent,
    DominatingPairDpEvent,
    DpEvent,
    GaussianDpEvent,
    GdpAccountant,
    RandomizedSensitivityGaussian,
    RenyiDpEvent,
    ZcdpDpEvent,
    cached_by_value,
    exp_down,
    exp_up,
    log_down,
    log_up,
)
from dpcore_accounting.events.objective_perturbation import ObjectivePerturbationDpEvent
from dpcore_accounting.mixture import mixture_curve_up, mixture_log_moment_up
from dpcore_accounting.smallest_epsilon import smallest_epsilon

__all__ = ["SingleReleaseAccountant", "pair_curve_up"]

_LARGEST_EXPONENT = Fraction(2000)
"""Beyond it a smaller factor is taken, which gives a larger delta: its digits would fill memory."""

_LARGEST_LOSS = 2.0**11
"""More than any finite loss of a pair, of weights below 2^1000: its curve falls no further."""


def _as_mixture(event: DpEvent) -> RandomizedSensitivityGaussian:
    if isinstance(event, RandomizedSensitivityGaussian):
        return event
    assert isinstance(event, GaussianDpEvent)
    return RandomizedSensitivityGaussian((1.0,), (1,), event.noise_multiplier)


def _about_log_moment(event: RandomizedSensitivityGaussian) -> Callable[[float], float]:
    """Return the function of ``t = alpha - 1`` whose values are about ``t D``, D the Renyi bound of
    order alpha; for choosing an order. Nothing rests on it."""
    squares = [(d / event.sigma) ** 2 / 2 for d in event.deltas]
    largest, total = max(squares), sum(event.weights)

    def log_moment(t: float) -> float:
        scale = t * (1 + t)
        weighted = zip(squares, event.weights, strict=True)
        moment = sum(q * math.exp(scale * (s - largest)) for s, q in weighted) / total
        return scale * largest + math.log(moment)

    return log_moment


def _best_order(event: RandomizedSensitivityGaussian, epsilon: float) -> Fraction:
    """Return about the ``t = alpha - 1`` at which the Renyi bound gives the smallest delta."""
    log_moment = _about_log_moment(event)
    return RenyiDpEvent.best_order(lambda t: -_log_delta(t, log_moment(t), epsilon))


def _log_delta(t: float, log_moment: float, epsilon: float) -> float:
    """Return about the logarithm of the delta at order 1 + ``t``."""
    return log_moment - t * epsilon + t * math.log(t) - (1 + t) * math.log1p(t)


def _delta_up(t: Fraction, log_moment: Fraction, epsilon: Fraction | float) -> Fraction:
    """Return the delta, rounded up, of a Renyi divergence of ``log_moment / t`` at order 1 + ``t``:
    Canonne, Kamath & Steinke 2020, Proposition 12."""
    log_factor = t * log_up(t) - (1 + t) * log_down(1 + t) - t * Fraction(epsilon)
    log_delta = log_moment + log_factor
    return exp_up(log_delta) if log_delta < 0 else Fraction(1)


def _renyi_delta_up(event: RandomizedSensitivityGaussian, epsilon: float) -> Fraction:
    """Lemma 3 of Chen, Lee & Kifer 2019 at the best order, and Canonne, Kamath & Steinke 2020,
    Proposition 12: delta = E exp(-t epsilon) t^t / (1 + t)^(1 + t), E the moment of order 1 + t.
    The event is one public value, so the order may be chosen for it."""
    t = _best_order(event, epsilon)
    return _delta_up(t, mixture_log_moment_up(event, 1 + t), epsilon)


def _mironov_delta_up(event: RandomizedSensitivityGaussian, epsilon: float) -> Fraction:
    """Lemma 3 of Chen, Lee & Kifer 2019 at the best order, and the conversion of their Proposition
    1 (Mironov 2017, Proposition 3): delta = E exp(-t epsilon), E the moment of order 1 + t. Never
    below that of ``_renyi_delta_up``, whose further factor is at most 1. Any relation for which the
    event holds."""
    log_moment = _about_log_moment(event)
    t = RenyiDpEvent.best_order(lambda t: t * epsilon - log_moment(t))
    log_delta = mixture_log_moment_up(event, 1 + t) - t * Fraction(epsilon)
    return exp_up(log_delta) if log_delta < 0 else Fraction(1)


def _concentrated_delta_up(event: ZcdpDpEvent, epsilon: Fraction) -> Fraction:
    """The bound of all orders, at the best one for this event, which is one public value."""
    rho = Fraction(event.rho)
    t = RenyiDpEvent.best_order(lambda t: -_log_delta(t, t * (1 + t) * event.rho, float(epsilon)))
    return _delta_up(t, t * (1 + t) * rho, epsilon)


def _stated_delta_up(event: RenyiDpEvent, epsilon: Fraction) -> Fraction:
    """The bound at the best of the orders that are stated."""
    points = zip(event.orders, event.epsilons, strict=True)
    moments = [(Fraction(a) - 1, (Fraction(a) - 1) * Fraction(e)) for a, e in points]
    t, moment = min(moments, key=lambda m: _log_delta(float(m[0]), float(m[1]), float(epsilon)))
    return _delta_up(t, moment, epsilon)


def _approximate_delta_up(event: ApproximateDpEvent, epsilon: Fraction) -> Fraction:
    """The curve of the worst release: delta + (1 - delta) (e^e - e^epsilon) / (1 + e^e), e the
    event's (Kairouz, Oh & Viswanath 2015), which is delta from e on."""
    above = Fraction(event.epsilon) - epsilon
    if above <= 0:
        return Fraction(event.delta)
    share = (1 - exp_down(-above)) / (1 + exp_down(-Fraction(event.epsilon)))
    delta = Fraction(event.delta)
    return delta + (1 - delta) * share


@cached_by_value(maxsize=64)
def _perturbed_delta_up(event: ObjectivePerturbationDpEvent, epsilon: Fraction) -> Fraction:
    """The event's own bound of the curve, at most 1."""
    left = epsilon - Fraction(event.log_determinant)
    if left <= 0:
        return Fraction(1)
    total = sum(GdpAccountant.delta_up(Fraction(m), left) for m in event.shifts)
    return min(Fraction(1), Fraction(total))


@cached_by_value(maxsize=256)
def pair_curve_up(event: DominatingPairDpEvent, epsilon: Fraction) -> Fraction:
    """Return an upper bound of the delta at ``epsilon`` >= 0: sum max(0, p - e^epsilon q), exact
    but for e^epsilon, which is rounded down; the larger of the two directions."""
    factor = exp_down(min(epsilon, _LARGEST_EXPONENT))
    return max(
        sum((max(Fraction(0), a - factor * b) for a, b in pairs), Fraction(0))
        for pairs in event.directions()
    )


_CURVES: dict[type[DpEvent], Callable[[Any, Fraction], Fraction]] = {
    ObjectivePerturbationDpEvent: _perturbed_delta_up,
    ZcdpDpEvent: _concentrated_delta_up,
    RenyiDpEvent: _stated_delta_up,
    ApproximateDpEvent: _approximate_delta_up,
    DominatingPairDpEvent: pair_curve_up,
}
"""Upper bounds of the delta at an epsilon, by every conversion."""


@dataclass(frozen=True, kw_only=True)
class SingleReleaseAccountant(AdditiveAccountant):
    """Holds one release, whose delta at the epsilon of the budget it bounds; a second is refused.

    Gaussian noise has its exact curve (Balle & Wang 2018, Theorem 8), Gaussian noise of randomised
    sensitivity the weighted mean of such curves ("joint-convexity") or, never smaller, what the
    Renyi bound of Chen, Lee & Kifer 2019 gives at its best order ("renyi"): see
    ``dpcore_accounting.mixture``; or what it gives by the conversion that they print ("mironov"),
    never smaller still. By every conversion objective perturbation, a dominating pair and an
    (epsilon, delta) release have the curve that the event states, and what is bounded in Renyi
    divergences Canonne, Kamath & Steinke's at its best order. What ``remains`` after the release
    can buy nothing.
    """

    name: ClassVar[str] = "single"
    unit: ClassVar[str] = "delta at the budget's epsilon"
    fully_adaptive: ClassVar[bool] = True
    holds_several: ClassVar[bool] = False
    conversions: ClassVar[tuple[str, ...]] = ("joint-convexity", "renyi", "mironov")
    events: ClassVar[tuple[type[DpEvent], ...]] = (
        GaussianDpEvent,
        RandomizedSensitivityGaussian,
        *_CURVES,
    )

    event: DpEvent | None = None

    @classmethod
    def _open(
        cls, epsilon: float, delta: float, conversion: str
    ) -> tuple[Fraction, dict[str, Any]]:
        return Fraction(delta), {}

    @classmethod
    def supports(cls, event: DpEvent) -> bool:
        return any(
            type(event) is kind for kind in cls.events
        )  # not several as one: their deltas do not add up

    def _ticks(self, event: DpEvent) -> int:
        if not self.supports(event):
            raise UnsupportedEventError(self.unsupported(self.name, event))
        return super()._ticks(event)

    def compose(self, event: DpEvent) -> Self:
        if self.event is not None:
            raise BudgetExceededError(
                "The single accountant holds one release, and that one was made; use zcdp or rdp "
                "for several."
            )
        return replace(super().compose(event), event=event)

    def holds(self, events: Mapping[DpEvent, int]) -> bool:
        """Return whether it is one release in all, the first, and fits: deltas at one epsilon do
        not add up."""
        count = sum(count for count in events.values() if count > 0)
        alone = count == 0 or (count == 1 and self.event is None)
        return super().holds(events) and alone  # An event without a rule is refused by name.

    def _is_unused(self) -> bool:
        return self.event is None  # One that costs no delta at this epsilon may have been made.

    def _leaf_cost(self, event: Any) -> Fraction:
        return self._delta_up(event, self.epsilon)

    def _delta_up(self, event: DpEvent, epsilon: float) -> Fraction:
        rule = _CURVES.get(type(event))
        if rule is not None:
            return rule(event, Fraction(epsilon))
        if self.conversion == "renyi":
            return _renyi_delta_up(_as_mixture(event), epsilon)
        if self.conversion == "mironov":
            return _mironov_delta_up(_as_mixture(event), epsilon)
        if isinstance(event, GaussianDpEvent):
            return GdpAccountant.delta_up(1 / Fraction(event.noise_multiplier), Fraction(epsilon))
        return mixture_curve_up(_as_mixture(event), Fraction(epsilon))

    def _epsilon(self, spent: Fraction, delta: float) -> float:
        event = self.event
        assert event is not None
        most = _LARGEST_LOSS if type(event) is DominatingPairDpEvent else 1e300
        return smallest_epsilon(
            lambda e: self._delta_up(event, e) <= Fraction(delta), self.epsilon, 1e-6, most
        )
