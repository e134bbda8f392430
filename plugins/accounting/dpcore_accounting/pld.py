"""Privacy loss distributions: the tightest count of a schedule that is fixed beforehand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpcore.errors import BudgetExceededError, InvalidInputError, UnsupportedEventError
from dpcore.plugin.parts import AdditiveAccountant, ComposedDpEvent, DpEvent
from dpcore_accounting.joint_composition import JointAccountant
from dpcore_accounting.smallest_epsilon import smallest_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PldAccountant"]

_PRECISION = 1e-7
_LARGEST = 2.0**100
_LARGEST_EPSILON = 2.0**64
"""Far above every sum of losses that is followed."""

Counts = tuple[tuple[DpEvent, int], ...]


@dataclass(frozen=True, kw_only=True)
class PldAccountant(JointAccountant):
    """Bounds delta at the budget's epsilon by the convolution of privacy losses. Of each release it
    takes the loss of a pair of distributions that dominates it (``privacy_loss_curves``), on a
    grid, from above (``privacy_loss_distributions``, after Doroshenko et al. 2022), and then their
    sum (``privacy_loss_composition``). Every error is on the upper side.

    The theorem is about releases that were fixed beforehand (Zhu, Dong & Wang 2022, Theorem 10):
    not fully adaptive. Planned for a schedule, the whole budget is charged with its first release,
    and the rest of it costs nothing more; what has no place in the plan is refused.

    Parameters
    ----------
    plan : the schedule that it was planned for, if any.
    charged : the largest value so far. A value is from above, by a grid that follows the
        releases, so that one more release may have a smaller one.
    """

    name: ClassVar[str] = "pld"
    unit: ClassVar[str] = "delta at the budget's epsilon"
    conversions: ClassVar[tuple[str, ...]] = ("connect-the-dots",)

    plan: Counts = ()
    charged: float = 0.0

    @classmethod
    def from_budget(cls, epsilon: float, delta: float, conversion: str | None = None) -> Self:
        opened = super().from_budget(epsilon, delta, conversion)
        if opened.epsilon > _LARGEST_EPSILON:
            raise InvalidInputError(
                f"Expected epsilon={epsilon!r} <= 2^64: the pld accountant follows no larger loss."
            )
        return opened

    @classmethod
    def planned(
        cls, epsilon: float, delta: float, schedule: Callable[[float], Mapping[DpEvent, int]]
    ) -> Self:
        """Return the empty accountant of the schedule, a function of the noise multiplier, with the
        least noise, to 1e-7, with which it fits into (epsilon, delta).

        Raises UnsupportedEventError for an event that it does not hold, and InvalidInputError if no
        noise is enough.
        """
        empty = cls.from_budget(epsilon, delta)
        for event in schedule(1.0):
            cls._require(event)

        def delta_at(multiplier: float) -> float:
            return _delta_up(cls._counts(schedule(multiplier)), empty.epsilon, empty.delta)

        multiplier = 1.0
        if schedule(1.0) != schedule(2.0):
            multiplier = _least_multiplier(delta_at, empty.delta)
        # Asked once more, it may answer otherwise: what is planned is what this delta is of.
        plan = cls._counts(schedule(multiplier))
        if _delta_up(plan, empty.epsilon, empty.delta) > empty.delta:
            return empty
        return replace(empty, plan=plan)

    def planned_releases(self) -> int:
        return sum(count for _, count in self.plan)

    @property
    def budget(self) -> float:
        return self.delta

    @property
    def spent(self) -> float:
        return self.charged

    def compose(self, event: DpEvent) -> Self:
        rounds: Any = self._added(event, 1)
        if self.plan and not _is_within(dict(rounds), self.plan):
            raise BudgetExceededError(
                "The pld accountant was planned for a schedule, all of its budget, which has no "
                "such release left: its theorem is about releases fixed beforehand."
            )
        after = super().compose(event)
        return replace(after, charged=max(self.charged, after._composed(after.rounds)))

    def holds(self, events: Mapping[DpEvent, int]) -> bool:
        """Return whether so many of each event fit into what remains; of a planned one, into what
        is left of its plan."""
        if self.plan:
            counts: dict[Any, int] = dict(self.rounds)
            for event, count in self._counts(events):
                counts[event] = counts.get(event, 0) + count
            return _is_within(counts, self.plan)
        return super().holds(events)

    def get_epsilon(self, delta: float) -> float:
        delta = AdditiveAccountant.validated_delta(delta)
        if not self.rounds:
            return 0.0
        counts = self._counted(self.rounds)
        if counts is self.plan and delta == self.delta:
            return self.epsilon  # The plan takes all of it.
        found = smallest_epsilon(
            lambda e: _delta_up(counts, e, delta) <= delta, self.epsilon, 1e-6, _LARGEST_EPSILON
        )
        return min(found, self.epsilon) if delta >= self.delta else found

    @classmethod
    def _has_rule(cls, event: DpEvent) -> bool:
        from dpcore_accounting.privacy_loss_curves import is_covered

        return is_covered(event)

    def _composed(self, rounds: Any) -> float:
        counts = self._counted(rounds)
        if counts is self.plan:
            return self.delta
        return _delta_up(counts, self.epsilon, self.delta)

    def _counted(self, rounds: Any) -> Counts:
        """Return the whole plan where the releases so far are a part of it."""
        return self.plan if self.plan and _is_within(dict(rounds), self.plan) else rounds

    def _rounds_of(self, event: DpEvent) -> Iterable[Any]:
        self._require(event)
        return _leaves(event)

    @classmethod
    def _require(cls, event: DpEvent) -> None:
        if not cls.supports(event):
            raise UnsupportedEventError(AdditiveAccountant.unsupported(cls.name, event))

    @classmethod
    def _counts(cls, events: Mapping[DpEvent, int]) -> Counts:
        counts: dict[DpEvent, int] = {}
        for event, count in DpEvent.counted(events).items():
            cls._require(event)
            for leaf in _leaves(event):
                counts[leaf] = counts.get(leaf, 0) + count
        return tuple((event, count) for event, count in counts.items() if count > 0)


def _delta_up(counts: Counts, epsilon: float, about: float) -> float:
    from dpcore_accounting.privacy_loss_composition import composed_delta_up

    return composed_delta_up(counts, epsilon, about) if counts else 0.0


def _leaves(event: DpEvent) -> list[DpEvent]:
    if isinstance(event, ComposedDpEvent):
        return [leaf for part in event.events for leaf in _leaves(part)]
    return [event]


def _is_within(counts: Mapping[DpEvent, int], plan: Counts) -> bool:
    """Return whether each release has a place in the plan, by a stated one of no less cost."""
    left = dict(plan)
    for event, count in counts.items():
        for place in left:
            if count and left[place] and AdditiveAccountant.costs_no_more(event, place):
                taken = min(count, left[place])
                left[place], count = left[place] - taken, count - taken
        if count:
            return False
    return True


def _least_multiplier(delta_at: Callable[[float], float], delta: float) -> float:
    """Return about the least noise multiplier at which delta_at is at most ``delta``, having seen
    that it is, by false position in the logarithms."""
    high = 1.0
    while delta_at(high) > delta:
        high *= 2
        if high > _LARGEST:
            raise InvalidInputError(
                "This accountant finds no noise with which the schedule fits into the budget. "
                "Raise epsilon or delta, take fewer steps, or another accountant."
            )
    while high > 1 / _LARGEST and delta_at(high / 2) <= delta:
        high /= 2
    low = high / 2
    ends = [math.log(max(delta_at(x), 1e-300) / delta) for x in (low, high)]
    for _ in range(60):
        if high / low - 1 <= _PRECISION:
            break
        share = min(0.99, max(0.01, ends[0] / (ends[0] - ends[1]) if ends[0] > ends[1] else 0.5))
        # A step beyond the root, so that both ends close in on it.
        beyond = share + 0.2 * _PRECISION / (high / low - 1)
        middle = low * (high / low) ** min(0.999, beyond)
        found = math.log(max(delta_at(middle), 1e-300) / delta)
        if found <= 0:
            high, ends[1], ends[0] = middle, found, ends[0] / 2
        else:
            low, ends[0], ends[1] = middle, found, ends[1] / 2
    return high
