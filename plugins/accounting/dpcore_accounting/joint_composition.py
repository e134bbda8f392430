"""Filters whose cost is joint: one of all releases together, not a sum of one each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self

from dpcore.errors import BudgetExceededError, UnsupportedEventError
from dpcore.plugin.parts import (
    AdditiveAccountant,
    ComposedDpEvent,
    DpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
    float_up,
)

__all__ = ["JointAccountant", "Round", "Rounds"]


class Round(NamedTuple):
    """One release with Gaussian noise: of a sample that a row is in with probability ``p``."""

    noise_multiplier: float
    p: float


Rounds = tuple[tuple[Round, int], ...]
"""How many of each, in the order in which they first came."""


@dataclass(frozen=True, kw_only=True)
class JointAccountant(ABC):
    """Base of ``advanced-composition`` and of plugins' accountants of that kind; see
    ``dpcore.protocols.Accountant``.

    Their theorems are about schedules fixed beforehand: ``fully_adaptive`` is False. A subclass
    says what the rounds so far come to (``_composed``) and how much that may be (``budget``).

    Parameters
    ----------
    epsilon, delta : the guarantee that the filter enforces.
    conversion : the theorem.
    rounds : the releases so far.
    """

    name: ClassVar[str]
    unit: ClassVar[str]
    fully_adaptive: ClassVar[bool] = False
    conversions: ClassVar[tuple[str, ...]]
    noise: ClassVar[str] = "Gaussian"
    released: ClassVar[type[DpEvent]] = GaussianDpEvent
    """The event of the one kind of release that the theorem is about, sampled or not."""
    delta_may_be_zero: ClassVar[bool] = False
    otherwise: ClassVar[str] = "zcdp holds every release that is not sampled"

    epsilon: float
    delta: float
    conversion: str
    rounds: Rounds = ()

    def __init_subclass__(cls) -> None:
        # Whoever overrides the method's old name would charge less than it says.
        if hasattr(cls, "_figure"):
            raise TypeError(f"{cls.__name__}._figure is _composed now: rounds are charged by that.")

    @classmethod
    def from_budget(cls, epsilon: float, delta: float, conversion: str | None = None) -> Self:
        epsilon, delta = (
            AdditiveAccountant.validated_epsilon(epsilon),
            AdditiveAccountant.validated_delta(delta),
        )
        conversion = AdditiveAccountant.validated_conversion(cls, conversion)
        return cls(epsilon=epsilon, delta=delta, conversion=conversion)

    @abstractmethod
    def _composed(self, rounds: Rounds) -> float:
        """Return what one or more rounds come to, in ``unit``, rounded up."""

    @abstractmethod
    def get_epsilon(self, delta: float) -> float: ...

    @property
    @abstractmethod
    def budget(self) -> float: ...

    @property
    def spent(self) -> float:
        return self._composed(self.rounds) if self.rounds else 0.0

    @property
    def remaining(self) -> float:
        return max(0.0, self.budget - self.spent)

    @classmethod
    def supports(cls, event: DpEvent) -> bool:
        if type(event) is ComposedDpEvent:
            return all(cls.supports(part) for part in event.events)
        return cls._has_rule(event)

    @classmethod
    def _has_rule(cls, event: DpEvent) -> bool:
        """Return whether this is one release that the theorem covers."""
        if type(event) is PoissonSampledDpEvent or type(event) is SampledWithoutReplacementDpEvent:
            return type(getattr(event, "event", None)) is cls.released
        return type(event) is cls.released

    def cost(self, event: DpEvent) -> Fraction:
        """Return by how much the event raises the cost: book-keeping, which depends on the
        releases before it."""
        after = Fraction(self._composed(self._added(event, 1)))
        return max(Fraction(0), after - Fraction(self.spent))

    def compose(self, event: DpEvent) -> Self:
        rounds = self._added(event, 1)
        total = self._composed(rounds)
        if total > self.budget:
            raise BudgetExceededError(self._refusal(total))
        return replace(self, rounds=rounds)

    def holds(self, events: Mapping[DpEvent, int]) -> bool:
        """Return whether so many of each event fit into what remains."""
        rounds = self.rounds
        for event, count in events.items():
            if count > 0:
                rounds = self._added(event, count, rounds)
        return not rounds or self._composed(rounds) <= self.budget

    def _added(self, event: DpEvent, count: int, rounds: Rounds | None = None) -> Rounds:
        counts = dict(self.rounds if rounds is None else rounds)
        for each in self._rounds_of(event):
            counts[each] = counts.get(each, 0) + count
        return tuple(counts.items())

    def _rounds_of(self, event: DpEvent) -> Iterable[Any]:
        if type(event) is ComposedDpEvent:
            return [each for part in event.events for each in self._rounds_of(part)]
        if not self.supports(event):
            raise UnsupportedEventError(
                f"The {self.name} accountant bounds {self.noise} releases, sampled or not, and no "
                f"{AdditiveAccountant.described(event)}; {self.otherwise}."
            )
        if isinstance(event, PoissonSampledDpEvent):
            return [self._round(event.event, event.sampling_probability)]
        if isinstance(event, SampledWithoutReplacementDpEvent):
            share = float_up(Fraction(event.sample_size, event.source_dataset_size))
            return [self._round(event.event, share)]
        return [self._round(event, 1.0)]

    @staticmethod
    def _round(event: DpEvent, p: float) -> Any:
        """Return the round of one release, of the type ``released``, over a sample that a row is in
        with probability ``p``."""
        assert isinstance(event, GaussianDpEvent)
        return Round(event.noise_multiplier, p)

    def _refusal(self, total: float) -> str:
        if self.rounds:
            return (
                f"With one release more the {self.name} accountant's total ({self.unit}) would be "
                f"{total:.6g}, of a budget of {self.budget:.6g}."
            )
        return (
            f"The budget of the {self.name} accountant ({self.unit}) is {self.budget:.6g}, too "
            f"small for one release, which comes to {total:.6g}."
        )
