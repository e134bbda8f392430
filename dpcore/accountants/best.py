"""The smallest valid accountant of a schedule, chosen from public facts before the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, NoReturn

from dpcore.accountants.additive import validated_delta, validated_epsilon
from dpcore.accountants.registered import registered_accountants
from dpcore.accountants.schedule import best_accountant
from dpcore.errors import InvalidInputError, UnsupportedEventError

if TYPE_CHECKING:
    from dpcore.privacy.events import DpEvent
    from dpcore.protocols import Accountant

__all__ = ["BestAccountant"]


@dataclass(frozen=True, kw_only=True)
class BestAccountant:
    """A budget whose accountant is chosen when the schedule of the run is known: the one under
    which the schedule takes the least noise, of those registered that hold its events. A fully
    adaptive one goes first within a hundredth of it (``schedule.best_accountant``).

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
        validated = validated_epsilon(epsilon), validated_delta(delta, zero_allowed=True)
        return cls(epsilon=validated[0], delta=validated[1])

    @classmethod
    def planned(
        cls, epsilon: float, delta: float, schedule: Callable[[float], Mapping[DpEvent, int]]
    ) -> Accountant:
        """Return the accountant chosen for the schedule, a function of the noise multiplier."""
        return best_accountant(registered_accountants(), epsilon, delta, schedule)

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
