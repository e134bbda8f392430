"""Filters whose own figure may be the budget: rho of zcdp, mu of gdp.

What such a filter enforces is that figure, rho-zCDP or mu-GDP, of all releases together, also of
those chosen from earlier outputs (its class names the theorem). At every delta an epsilon follows
from it, which is rounded up: the statement has both.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from dpcore.accountants.additive import AdditiveAccountant
from dpcore.errors import InvalidInputError
from dpcore.privacy.events import DpEvent

__all__ = ["FigureAccountant"]

_LEAST_EPSILON = 1e-9
"""Stated in place of a smaller one, which is true too: 0 would be no budget."""


@dataclass(frozen=True, kw_only=True)
class FigureAccountant(AdditiveAccountant):
    """Base of the filters that may be opened with a budget in their own figure."""

    @classmethod
    def of_figure(cls, figure: float, delta: float, conversion: str | None = None) -> Self:
        """Return the empty accountant whose filter enforces the ``figure``, rounded down to its
        units; its ``epsilon`` is what the figure comes to at ``delta``, rounded up.

        Raises InvalidInputError for a figure that is not finite and > 0, or too small to hold.
        """
        DpEvent.require_positive("figure", figure)
        delta = cls.validated_delta(delta)
        conversion = AdditiveAccountant.validated_conversion(cls, conversion)
        budget = cls._budget_of(Fraction(figure))
        if not AdditiveAccountant.ticks_down(budget):
            raise InvalidInputError(f"A budget of {figure!r} is below the {cls.name} units.")
        epsilon = cls._epsilon_of(budget, delta, conversion)
        return cls(
            epsilon=cls.validated_epsilon(max(epsilon, _LEAST_EPSILON)),
            delta=delta,
            conversion=conversion,
            budget_ticks=AdditiveAccountant.ticks_down(budget),
        )

    @classmethod
    @abstractmethod
    def _budget_of(cls, figure: Fraction) -> Fraction:
        """Return the budget of a figure, in the accountant's unit."""

    @classmethod
    @abstractmethod
    def _epsilon_of(cls, spent: Fraction, delta: float, conversion: str) -> float:
        """Return the epsilon at ``delta`` > 0, rounded up, of so much of the unit."""

    def _epsilon(self, spent: Fraction, delta: float) -> float:
        return self._epsilon_of(spent, delta, self.conversion)
