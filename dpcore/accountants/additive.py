"""The filter that every built-in accountant is: costs add up, and the sum never passes the budget.

Costs are integers in units of 2**-120: each event's is rounded up, the budget is rounded down, so
sums are exact, independent of order, and on the safe side. An event's own values already are
relative to the sensitivity, so the rules are the same under every neighbouring relation.
"""

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from dpcore.accountants.event_dominance import costs_no_more
from dpcore.accountants.registered import described, registered_accountants, unsupported
from dpcore.errors import (
    BudgetExceededError,
    InvalidInputError,
    PureBudgetError,
    UnsupportedEventError,
)
from dpcore.exact.rounding import exact, float_down, float_up
from dpcore.privacy.events import ComposedDpEvent, DpEvent

__all__ = [
    "AdditiveAccountant",
]

_UNIT_BITS = 120


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidInputError(f"Expected {name}={value!r} to be a number.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInputError(f"Expected {name}={value!r} to be finite.")
    return number


@dataclass(frozen=True, kw_only=True)
class AdditiveAccountant(ABC):
    """Base of the built-in accountants; see ``dpcore.protocols.Accountant``.

    A subclass sets the class variables and implements ``_open`` (the budget of an epsilon and
    delta), ``_leaf_cost`` (one event's cost) and ``_epsilon`` (the report). Build one with
    ``from_budget``. A cost does not depend on epsilon, unless the class holds one release alone.

    Parameters
    ----------
    epsilon, delta : the guarantee that the filter enforces.
    conversion : how it was turned into ``unit``.
    budget_ticks, spent_ticks : units of 2**-120 of ``unit``.
    """

    name: ClassVar[str]
    unit: ClassVar[str]
    fully_adaptive: ClassVar[bool]
    conversions: ClassVar[tuple[str, ...]]
    """Ways to turn (epsilon, delta) into ``unit``, the default first."""
    events: ClassVar[tuple[type[DpEvent], ...]]
    """The events that have a rule. Exact types: a subclass of an event may mean something else."""
    delta_may_be_zero: ClassVar[bool] = False

    epsilon: float
    delta: float
    conversion: str
    budget_ticks: int
    spent_ticks: int = 0

    costs_no_more, described = staticmethod(costs_no_more), staticmethod(described)
    registered, unsupported = staticmethod(registered_accountants), staticmethod(unsupported)

    @staticmethod
    def ticks_up(x: Fraction) -> int:
        """Return ``x`` in the accountants' integer units, rounded up."""
        return -((-x.numerator << _UNIT_BITS) // x.denominator)

    @staticmethod
    def ticks_down(x: Fraction) -> int:
        """Return ``x`` in the accountants' integer units, rounded down."""
        return (x.numerator << _UNIT_BITS) // x.denominator

    @staticmethod
    def validated_conversion(accountant_class: Any, conversion: str | None) -> str:
        """Return the conversion, for ``None`` the class's first; InvalidInputError for a
        conversion that the class does not know."""
        known = accountant_class.conversions
        conversion = known[0] if conversion is None else conversion
        if conversion not in known:
            raise InvalidInputError(
                f"Expected conversion={conversion!r} to be one of {', '.join(known)} for the "
                f"{accountant_class.name} accountant."
            )
        return conversion

    @staticmethod
    def validated_epsilon(epsilon: Any) -> float:
        """Return ``epsilon`` as a float; InvalidInputError unless finite and > 0."""
        number = _number("epsilon", epsilon)
        if number <= 0:
            raise InvalidInputError(f"Expected epsilon={epsilon!r} > 0.")
        return number

    @staticmethod
    def validated_delta(delta: Any, zero_allowed: bool = False) -> float:
        """Return ``delta`` as a float; InvalidInputError unless 0 < delta < 1, or 0 where allowed.

        Examples
        --------
        >>> from dpcore.plugin.parts import AdditiveAccountant
        >>> AdditiveAccountant.validated_delta(1.5)
        Traceback (most recent call last):
            ...
        dpcore.errors.InvalidInputError: Expected delta=1.5 < 1.
        """
        number = _number("delta", delta)
        if number < 0:
            raise InvalidInputError(f"Expected delta={delta!r} {'>=' if zero_allowed else '>'} 0.")
        if number == 0 and not zero_allowed:
            raise PureBudgetError(
                f"Expected delta={delta!r} > 0. Only the pure accountant allows delta = 0: name "
                "it, or let the algorithm auto choose."
            )
        if number >= 1:
            raise InvalidInputError(f"Expected delta={delta!r} < 1.")
        return number

    @classmethod
    def from_budget(cls, epsilon: float, delta: float, conversion: str | None = None) -> Self:
        epsilon = cls.validated_epsilon(epsilon)
        delta = cls.validated_delta(delta, cls.delta_may_be_zero)
        conversion = cls.validated_conversion(cls, conversion)
        budget, public = cls._open(epsilon, delta, conversion)
        return cls(
            epsilon=epsilon,
            delta=delta,
            conversion=conversion,
            budget_ticks=AdditiveAccountant.ticks_down(budget),
            **public,
        )

    @classmethod
    @abstractmethod
    def _open(
        cls, epsilon: float, delta: float, conversion: str
    ) -> tuple[Fraction, dict[str, Any]]:
        """Return the budget, rounded down, and further fields fixed with it."""

    @abstractmethod
    def _leaf_cost(self, event: Any) -> Fraction:
        """Return the cost, rounded up, of an event whose type is in ``events``."""

    @abstractmethod
    def _epsilon(self, spent: Fraction, delta: float) -> float:
        """Return the epsilon, rounded up, of ``spent > 0``."""

    @property
    def budget(self) -> float:
        return float_down(Fraction(self.budget_ticks, 1 << _UNIT_BITS))

    @property
    def spent(self) -> float:
        return float_up(Fraction(self.spent_ticks, 1 << _UNIT_BITS))

    @property
    def remaining(self) -> float:
        return float_down(Fraction(self.budget_ticks - self.spent_ticks, 1 << _UNIT_BITS))

    @classmethod
    def supports(cls, event: DpEvent) -> bool:
        if type(event) is ComposedDpEvent:
            return all(cls.supports(part) for part in event.events)
        return cls._has_rule(event)

    @classmethod
    def _has_rule(cls, event: DpEvent) -> bool:
        """Return whether ``_leaf_cost`` can bound this event, which is not several as one."""
        return any(type(event) is kind for kind in cls.events)

    def cost(self, event: DpEvent) -> Fraction:
        return Fraction(self._ticks(event), 1 << _UNIT_BITS)

    def _ticks(self, event: DpEvent) -> int:
        if type(event) is ComposedDpEvent:
            return sum(self._ticks(part) for part in event.events)
        if not self._has_rule(event):
            raise UnsupportedEventError(unsupported(self.name, event))
        return AdditiveAccountant.ticks_up(self._leaf_cost(event))

    def compose(self, event: DpEvent) -> Self:
        ticks = self._ticks(event)
        spent = self.spent_ticks + ticks
        if spent > self.budget_ticks:
            raise BudgetExceededError(self._refusal(event, ticks))
        return replace(self, spent_ticks=spent)

    def holds(self, events: Mapping[DpEvent, int]) -> bool:
        """Return whether so many of each event fit into what remains."""
        ticks = sum(count * self._ticks(event) for event, count in events.items())
        return self.spent_ticks + ticks <= self.budget_ticks

    def split(self, parts: int) -> Self:
        """Return the empty filter of an equal part of what remains; ``parts`` such filters together
        are within this one. Its ``epsilon`` is that of the part at ``delta``, rounded up.

        Costs add up, and ticks rounded down add up to no more than there were: what the parts
        consent to, one release after the other in any order, this filter would have consented to.
        Its own theorem bounds all of it.

        Raises InvalidInputError where a part would be nothing.
        """
        if self.budget_ticks - self.spent_ticks < parts:
            raise InvalidInputError(
                f"What remains of the {self.name} accountant's budget is too small for {parts} "
                "parts."
            )
        part = self._part(parts)
        # No more than the whole's, which is stated in place of 0 too.
        found = part._used_up().get_epsilon(self.delta) or self.epsilon
        return replace(part, epsilon=min(self.epsilon, found))

    def _part(self, parts: int) -> Self:
        """Return the part as ``split`` does, but for its epsilon."""
        ticks = (self.budget_ticks - self.spent_ticks) // parts
        return replace(self, budget_ticks=ticks, spent_ticks=0)

    def _used_up(self) -> Self:
        """Return the filter with all of its budget spent."""
        return replace(self, spent_ticks=self.budget_ticks)

    def get_epsilon(self, delta: float) -> float:
        delta = self.validated_delta(delta, self.delta_may_be_zero)
        if self._is_unused():
            return 0.0
        found = self._epsilon(Fraction(self.spent_ticks, 1 << _UNIT_BITS), delta)
        # What fits into the budget is (epsilon, delta)-DP by the filter's own conversion.
        return min(found, self.epsilon) if delta >= self.delta else found

    def _is_unused(self) -> bool:
        return self.spent_ticks == 0

    def _refusal(self, event: DpEvent, ticks: int) -> str:
        needed = float_up(Fraction(ticks, 1 << _UNIT_BITS))
        pair = f"{needed:.6g}", f"{self.remaining:.6g}"
        if pair[0] == pair[1]:
            pair = repr(needed), repr(self.remaining)
        text = (
            f"The release needs {pair[0]} of the {self.name} accountant's budget ({self.unit}), "
            f"of which {pair[1]} remains"
        )
        if self.spent_ticks:
            return f"{text}."
        enough = self._enough(event)
        hint = f": an epsilon of {enough:.4g} would be enough for it" if enough else ""
        too_small = f"The budget is too small for one release at delta={exact(self.delta)}"
        return f"{text}. {too_small}{hint}."

    def _enough(self, event: DpEvent) -> float | None:
        """Return an epsilon of four digits, near the smallest, whose budget holds the event."""

        def holds(epsilon: float) -> bool:
            return self._would_hold(event, epsilon)

        low, factor = self.epsilon, 2.0
        while (high := low * factor) < 1e300 and not holds(high):
            low, factor = high, factor * factor
        if high >= 1e300:
            return None
        while high / low > 1.001:
            middle = math.sqrt(low) * math.sqrt(high)
            low, high = (low, middle) if holds(middle) else (middle, high)
        shown = float(f"{high * 1.0006:.4g}")
        return shown if holds(shown) else None

    def _would_hold(self, event: DpEvent, epsilon: float) -> bool:
        """Return whether a budget of another epsilon would hold the event as its first."""
        trial: Any = self.from_budget(epsilon, self.delta, self.conversion)
        try:
            return bool(trial._ticks(event) <= trial.budget_ticks)
        except UnsupportedEventError:  # at its order, which follows the epsilon
            return False
