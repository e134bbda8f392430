"""Filters whose own unit may be that of the budget: rho of zcdp, mu of gdp.

What such a filter enforces is rho-zCDP or mu-GDP of all releases together, also of those
chosen from earlier outputs (its class names the theorem). At every delta an epsilon follows from
it, which is rounded up: the statement has both.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from dpcore.accountants.additive import AdditiveAccountant
from dpcore.errors import InvalidInputError
from dpcore.privacy.events import DpEvent

__all__ = ["NativeBudgetAccountant"]

_LEAST_EPSILON = 1e-9
"""Stated in place of a smaller one, which is true too: 0 would be no budget."""


@dataclass(frozen=True, kw_only=True)
class NativeBudgetAccountant(AdditiveAccountant):
    """Base of the filters that may be opened with a budget in their own unit."""

    @classmethod
    def of_native_budget(cls, native: float, delta: float, conversion: str | None = None) -> Self:
        """Return the empty accountant whose filter enforces ``native``, rho or mu, rounded down
        to its units; its ``epsilon`` is what that comes to at ``delta``, rounded up.

        Raises InvalidInputError for a budget that is not finite and > 0, or too small to hold.
        """
        DpEvent.require_positive("budget", native)
        delta = cls.validated_delta(delta)
        conversion = AdditiveAccountant.validated_conversion(cls, conversion)
        budget = cls._budget_of(Fraction(native))
        if not AdditiveAccountant.ticks_down(budget):
            raise InvalidInputError(f"A budget of {native!r} is below the {cls.name} units.")
        epsilon = cls._epsilon_of(budget, delta, conversion)
        return cls(
            epsilon=cls.validated_epsilon(max(epsilon, _LEAST_EPSILON)),
            delta=delta,
            conversion=conversion,
            budget_ticks=AdditiveAccountant.ticks_down(budget),
        )

    @classmethod
    @abstractmethod
    def _budget_of(cls, native: Fraction) -> Fraction:
        """Return the budget of rho or mu, in the accountant's unit."""

    @classmethod
    @abstractmethod
    def _epsilon_of(cls, spent: Fraction, delta: float, conversion: str) -> float:
        """Return the epsilon at ``delta`` > 0, rounded up, of so much of the unit."""

    def _epsilon(self, spent: Fraction, delta: float) -> float:
        return self._epsilon_of(spent, delta, self.conversion)
