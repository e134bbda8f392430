"""The smallest valid accountant of a schedule, chosen from public facts before the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeAlias

from dpcore.errors import UnsupportedEventError
from dpcore.plugin import FixedSchedule, InvalidInputError
from dpcore.plugin.parts import AdditiveAccountant

if TYPE_CHECKING:
    from dpcore.plugin import Accountant
    from dpcore.plugin.parts import DpEvent

__all__ = ["BestAccountant", "Schedule", "best_accountant"]

Schedule: TypeAlias = "Callable[[float], Mapping[DpEvent, int]]"
"""How many of each event a run makes with a noise multiplier."""

_WORTH = 1.01
"""Of the least noise: what one under a fully adaptive filter may be. That filter leaves room for
releases that nobody planned, ends where the run ends, and needs no grid; the hundredth part of the
noise, which moves no accuracy that a table of ours shows, is not worth these."""


@dataclass(frozen=True, kw_only=True)
class BestAccountant:
    """A budget whose accountant is chosen when the schedule of the run is known: the one under
    which the schedule takes the least noise, of those registered that hold its events. A fully
    adaptive one goes first within a hundredth of it (``best_accountant``).

    The choice depends on the budget and the schedule, so on public facts alone, and is made before
    the first release; the statement names what was chosen. This one charges nothing itself.
    """

    name: ClassVar[str] = "best"
    unit: ClassVar[str] = "chosen for the schedule"
    fully_adaptive: ClassVar[bool] = False
    holds_several: ClassVar[bool] = False
    conversions: ClassVar[tuple[str, ...]] = ("chosen",)

    epsilon: float
    delta: float
    conversion: str = "chosen"

    @classmethod
    def from_budget(
        cls, epsilon: float, delta: float, conversion: str | None = None
    ) -> BestAccountant:
        if conversion not in (None, *cls.conversions):
            raise InvalidInputError("Expected no conversion with the best accountant.")
        validated = (
            AdditiveAccountant.validated_epsilon(epsilon),
            AdditiveAccountant.validated_delta(delta, zero_allowed=True),
        )
        return cls(epsilon=validated[0], delta=validated[1])

    @classmethod
    def planned(
        cls, epsilon: float, delta: float, schedule: Callable[[float], Mapping[DpEvent, int]]
    ) -> Accountant:
        """Return the accountant chosen for the schedule, a function of the noise multiplier."""
        return best_accountant(AdditiveAccountant.registered(), epsilon, delta, schedule)

    @property
    def budget(self) -> float:
        return self.epsilon

    @property
    def spent(self) -> float:
        return 0.0

    @property
    def remaining(self) -> float:
        return self.epsilon

    @classmethod
    def supports(cls, event: DpEvent) -> bool:
        return False

    def cost(self, event: DpEvent) -> Fraction:
        self._refuse()

    def compose(self, event: DpEvent) -> BestAccountant:
        self._refuse()

    def holds(self, events: Mapping[DpEvent, int]) -> bool:
        self._refuse()

    def get_epsilon(self, delta: float) -> float:
        return 0.0

    def _refuse(self) -> NoReturn:
        raise UnsupportedEventError(
            "The best accountant is chosen for a schedule, and this algorithm states none; name "
            "one, such as zcdp."
        )


def best_accountant(
    candidates: Iterable[Any], epsilon: float, delta: float, schedule: Schedule
) -> Accountant:
    """Return the accountant under which the schedule takes the least noise; of equals the first.
    Before the others goes a fully adaptive accountant whose noise is 1 % more at most.

    ``candidates`` : accountant classes. Those that cannot hold the events, or the schedule with any
    noise, are passed over. Raises InvalidInputError if none is left.
    """
    found: list[tuple[float, Accountant]] = []
    for accountant_class in candidates:
        try:
            accountant = FixedSchedule.planned_accountant(
                accountant_class, epsilon, delta, None, schedule
            )
            found.append((FixedSchedule.noise_multiplier(accountant, schedule), accountant))
        except (InvalidInputError, UnsupportedEventError):
            continue
    if not found:
        raise InvalidInputError("No accountant holds this schedule within the budget.")
    least = min(multiplier for multiplier, _ in found)
    adaptive = [(m, a) for m, a in found if a.fully_adaptive and m <= least * _WORTH]
    found, least = adaptive or found, min(m for m, _ in adaptive or found)
    # Searches end within 1e-9 of each other.
    return next(accountant for m, accountant in found if m <= least * (1 + 1e-8))
