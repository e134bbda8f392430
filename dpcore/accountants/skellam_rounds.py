"""Rounds of one sampled Skellam release each: for sums that users noise in shares.

``skellam-composition`` is Theorem 1 of Cheng et al. 2020 (see ``sampling_composition``) with
another law of a round: given that the row was drawn in i of k rounds, the outputs are those of i
Skellam releases that move and k - i that do not, of which ``skellam_delta_up`` bounds the delta; by
joint convexity

    delta(epsilon) <= sum_i Binomial(i; k, p) delta_Skellam(i; epsilon).

``skellam-advanced`` is advanced composition after amplification (see ``advanced_composition``), of
releases whose epsilon at a given delta is sought in the same bound. Both hold one kind of release,
fixed beforehand, under the relation of the event's bounds; neither is fully adaptive.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from dpcore.accountants.additive import described, validated_delta
from dpcore.accountants.advanced_composition import amplified_epsilon
from dpcore.accountants.drawn_rounds import hits_of
from dpcore.accountants.gaussian_floats import MARGIN
from dpcore.accountants.skellam import skellam_delta_up
from dpcore.accountants.whole import WholeAccountant
from dpcore.errors import UnsupportedEventError
from dpcore.events import (
    ComposedDpEvent,
    DpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
    SkellamDpEvent,
)
from dpcore.rounding import float_up
from dpcore.sensitivity import NeighboringRelation

__all__ = ["SkellamAdvancedAccountant", "SkellamCompositionAccountant"]

_NEGLIGIBLE = 1e-40


class SkellamRound(NamedTuple):
    """One release with Skellam noise, of a sample that a row is in with probability ``p``."""

    event: SkellamDpEvent
    p: float


@lru_cache(maxsize=2**14)
def _delta_of(hits: int, event: SkellamDpEvent, epsilon: float) -> float:
    """Return the delta, rounded up, of so many releases that move."""
    figures = (event.variance, event.l1_bound, event.l2_bound, epsilon)
    return min(1.0, float_up(skellam_delta_up(hits, *map(Fraction, figures))))


def delta_after(rounds: int, each: SkellamRound, epsilon: float) -> float:
    """Return the delta, rounded up, of so many rounds at ``epsilon`` >= 0."""
    first, mass, lost, slack = hits_of(rounds, each.p)
    total = lost
    for i in range(mass.size):
        # Whatever is left out or negligible counts as delta 1.
        mine = float(mass[i])
        total += mine if mine < _NEGLIGIBLE else mine * _delta_of(first + i, each.event, epsilon)
        if total > 1:
            return 1.0
    return min(1.0, total * (1 + slack + (mass.size + 4) * 2.0**-52 + MARGIN))


@lru_cache(maxsize=4096)
def _epsilon_of(event: SkellamDpEvent, delta: float) -> float:
    """Return an epsilon, seen to hold, of one release at ``delta``."""
    low, high = 0.0, 1.0
    while _delta_of(1, event, high) > delta:
        low, high = high, 2 * high
        if high > 2.0**40:
            return math.inf
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _delta_of(1, event, middle) <= delta else (middle, high)
    return high


@dataclass(frozen=True, kw_only=True)
class _SkellamRounds(WholeAccountant):
    """One kind of Skellam release, sampled or not."""

    @classmethod
    def supports(cls, event: DpEvent) -> bool:
        if type(event) is ComposedDpEvent:
            return all(cls.supports(part) for part in event.events)
        return cls._has_rule(event)

    @classmethod
    def _has_rule(cls, event: DpEvent) -> bool:
        if type(event) in (PoissonSampledDpEvent, SampledWithoutReplacementDpEvent):
            return type(getattr(event, "event", None)) is SkellamDpEvent
        return type(event) is SkellamDpEvent

    def _rounds_of(self, event: DpEvent) -> Iterable[Any]:
        if type(event) is ComposedDpEvent:
            return [each for part in event.events for each in self._rounds_of(part)]
        asked: Any = event
        if not self.supports(event):
            raise UnsupportedEventError(
                f"The {self.name} accountant bounds Skellam releases, sampled or not, and no "
                f"{described(event)}; sampling-composition holds Gaussian ones."
            )
        p = 1.0
        if isinstance(event, PoissonSampledDpEvent):
            p, asked = event.sampling_probability, event.event
        elif isinstance(event, SampledWithoutReplacementDpEvent):
            p = float_up(Fraction(event.sample_size, event.source_dataset_size))
            asked = event.event
        each = SkellamRound(asked, p)
        if any(known != each for known, _ in self.rounds):
            raise UnsupportedEventError(
                f"The {self.name} accountant holds releases of one kind, fixed beforehand."
            )
        return [each]

    def _one_kind(self, rounds: Any) -> tuple[SkellamRound, int]:
        if len(rounds) != 1:
            raise UnsupportedEventError(
                f"The {self.name} accountant holds releases of one kind, fixed beforehand."
            )
        return rounds[0]


@dataclass(frozen=True, kw_only=True)
class SkellamCompositionAccountant(_SkellamRounds):
    """Bounds delta at the budget's epsilon by the law of how often a row is drawn, for Skellam
    noise: see above."""

    name: ClassVar[str] = "skellam-composition"
    unit: ClassVar[str] = "delta at the budget's epsilon"
    conversions: ClassVar[tuple[str, ...]] = ("joint-convexity",)

    @property
    def budget(self) -> float:
        return self.delta

    def _figure(self, rounds: Any) -> float:
        each, count = self._one_kind(rounds)
        return delta_after(count, each, self.epsilon)

    def get_epsilon(self, delta: float) -> float:
        delta = validated_delta(delta)
        if not self.rounds:
            return 0.0
        each, count = self._one_kind(self.rounds)
        low, high = 0.0, self.epsilon
        while delta_after(count, each, high) > delta:
            low, high = high, 2 * high
            if high > 1e300:
                return math.inf
        while high - low > 1e-6 * high:
            middle = (low + high) / 2
            fits = delta_after(count, each, middle) <= delta
            low, high = (low, middle) if fits else (middle, high)
        return high


@dataclass(frozen=True, kw_only=True)
class SkellamAdvancedAccountant(_SkellamRounds):
    """Bounds epsilon at the budget's delta by amplification and advanced composition, for Skellam
    noise: see above."""

    name: ClassVar[str] = "skellam-advanced"
    unit: ClassVar[str] = "epsilon at the budget's delta"
    conversions: ClassVar[tuple[str, ...]] = ("kairouz-oh-viswanath",)

    @classmethod
    def _has_rule(cls, event: DpEvent) -> bool:
        # Of a fixed size, the sample without the row holds another one in its place.
        if isinstance(event, SampledWithoutReplacementDpEvent):
            if event.relation is not NeighboringRelation.REPLACE_ONE:
                return False
        return super()._has_rule(event)

    @property
    def budget(self) -> float:
        return self.epsilon

    def _figure(self, rounds: Any) -> float:
        return self._epsilon_after(rounds, self.delta)

    def get_epsilon(self, delta: float) -> float:
        delta = validated_delta(delta)
        return self._epsilon_after(self.rounds, delta) if self.rounds else 0.0

    def _epsilon_after(self, rounds: Any, delta: float) -> float:
        """Kairouz, Oh & Viswanath 2017, Theorem 3.5, its third and its first form, with half of
        delta for the composition and half shared by the rounds."""
        each, count = self._one_kind(rounds)
        share = delta / (2 * count) * (1 - 2.0**-40)
        base = _epsilon_of(each.event, min(share / each.p, 0.5))
        epsilon = amplified_epsilon(base, each.p) if math.isfinite(base) else math.inf
        if not math.isfinite(epsilon * epsilon):
            return math.inf
        spread = epsilon * math.sqrt(2 * math.log(2 / delta) * count)
        together = count * epsilon * math.tanh(epsilon / 2) + spread
        return min(count * epsilon, together) * (1 + MARGIN)
