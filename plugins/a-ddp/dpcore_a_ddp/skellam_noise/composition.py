"""Rounds of one sampled Skellam release each: for sums that users noise in shares.

``skellam-composition`` is Theorem 1 of Cheng et al. 2020 (see ``sampling_composition``) with
another distribution of a round: given that the row was drawn in i of k rounds, the outputs are
those of i Skellam releases that move and k - i that do not, whose delta ``skellam_delta_up``
bounds; by joint convexity

    delta(epsilon) <= sum_i Binomial(i; k, p) delta_Skellam(i; epsilon).

``skellam-advanced`` is advanced composition after amplification (see ``advanced_composition``), of
releases whose epsilon at a given delta is sought in the same bound. Both hold one kind of release,
fixed beforehand, under the relation of the event's bounds; neither is fully adaptive.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from dpcore.errors import UnsupportedEventError
from dpcore.plugin.parts import (
    AdditiveAccountant,
    DpEvent,
    SkellamDpEvent,
    cached_by_value,
    float_up,
)
from dpcore_accounting.advanced_composition import (
    AmplifiedAccountant,
    amplified_epsilon,
    epsilon_after,
)
from dpcore_accounting.gaussian_floats import MARGIN
from dpcore_accounting.joint_composition import JointAccountant
from dpcore_accounting.skellam import skellam_delta_up
from dpcore_accounting.smallest_epsilon import smallest_epsilon

__all__ = ["SkellamAdvancedAccountant", "SkellamCompositionAccountant"]

_NEGLIGIBLE = 1e-40


class SkellamRound(NamedTuple):
    """One release with Skellam noise, of a sample that a row is in with probability ``p``."""

    event: SkellamDpEvent
    p: float


@cached_by_value(maxsize=2**14)
def _delta_of(hits: int, event: SkellamDpEvent, epsilon: float) -> float:
    """Return the delta, rounded up, of so many releases that move."""
    values = (event.variance, event.l1_bound, event.l2_bound, epsilon)
    return min(1.0, float_up(skellam_delta_up(hits, *map(Fraction, values))))


def delta_after(rounds: int, each: SkellamRound, epsilon: float) -> float:
    """Return the delta, rounded up, of so many rounds at ``epsilon`` >= 0."""
    from dpcore_a_ddp.draw_distribution import hits_of

    first, mass, lost, slack = hits_of(rounds, each.p)
    total = lost
    for i in range(mass.size):
        # Whatever is left out or negligible counts as delta 1.
        mine = float(mass[i])
        total += mine if mine < _NEGLIGIBLE else mine * _delta_of(first + i, each.event, epsilon)
        if total > 1:
            return 1.0
    return min(1.0, total * (1 + slack + (mass.size + 4) * 2.0**-52 + MARGIN))


@cached_by_value(maxsize=4096)
def _epsilon_of(event: SkellamDpEvent, delta: float) -> float:
    """Return an epsilon, seen to hold, of one release at ``delta``."""
    return smallest_epsilon(lambda e: _delta_of(1, event, e) <= delta, 1.0, 1e-6, most=2.0**40)


def _one_release(each: SkellamRound, share: float) -> float:
    """Return the epsilon, rounded up, of one sampled release at a delta of ``share``."""
    return amplified_epsilon(_epsilon_of(each.event, min(share / each.p, 0.5)), each.p)


@dataclass(frozen=True, kw_only=True)
class _SkellamRounds(JointAccountant):
    """One kind of Skellam release, sampled or not."""

    noise: ClassVar[str] = "Skellam"
    released: ClassVar[type[DpEvent]] = SkellamDpEvent
    otherwise: ClassVar[str] = "sampling-composition holds Gaussian ones"

    @staticmethod
    def _round(event: DpEvent, p: float) -> SkellamRound:
        assert isinstance(event, SkellamDpEvent)
        return SkellamRound(event, p)

    def _one_kind(self, rounds: Any) -> tuple[SkellamRound, int]:
        if len(rounds) != 1:
            raise UnsupportedEventError(
                f"The {self.name} accountant holds releases of one kind, fixed beforehand."
            )
        return rounds[0]


@dataclass(frozen=True, kw_only=True)
class SkellamCompositionAccountant(_SkellamRounds):
    """Bounds delta at the budget's epsilon by the distribution of how often a row is drawn, for
    Skellam noise: see above."""

    name: ClassVar[str] = "skellam-composition"
    unit: ClassVar[str] = "delta at the budget's epsilon"
    conversions: ClassVar[tuple[str, ...]] = ("joint-convexity",)

    @property
    def budget(self) -> float:
        return self.delta

    def _composed(self, rounds: Any) -> float:
        each, count = self._one_kind(rounds)
        return delta_after(count, each, self.epsilon)

    def get_epsilon(self, delta: float) -> float:
        delta = AdditiveAccountant.validated_delta(delta)
        if not self.rounds:
            return 0.0
        each, count = self._one_kind(self.rounds)
        return smallest_epsilon(lambda e: delta_after(count, each, e) <= delta, self.epsilon, 1e-6)


@dataclass(frozen=True, kw_only=True)
class SkellamAdvancedAccountant(_SkellamRounds, AmplifiedAccountant):
    """Bounds epsilon at the budget's delta by amplification and advanced composition, for Skellam
    noise: see above."""

    name: ClassVar[str] = "skellam-advanced"

    def _epsilon_after(self, rounds: Any, delta: float) -> float:
        return epsilon_after((self._one_kind(rounds),), delta, _one_release, self.conversion)
