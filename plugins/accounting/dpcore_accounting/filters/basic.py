"""Basic composition: epsilons of releases add up, and so do their deltas."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, ClassVar, Self

from dpcore.plugin.parts import PureAccountant, float_down

__all__ = ["BasicAccountant"]


@dataclass(frozen=True, kw_only=True)
class BasicAccountant(PureAccountant):
    """Adds up epsilons, and deltas: those of all releases are within the budget's (basic
    composition: Dwork, Kenthapadi, McSherry, Mironov & Naor 2006).

    Fully adaptive: a release is refused whose epsilon or delta is more than remains of either sum
    (a filter, as in Rogers, Roth, Ullman & Vadhan 2016). Under any one relation, for by
    ``dpcore.accountants.delta_reserve`` a filter of a reserve r, whose epsilons alone would
    enforce (epsilon, delta'), enforces (epsilon, r + delta'). Here delta' is 0, since along every
    path the log ratio of what is not in the deltas is at most the sum of its epsilons, and r is all
    of delta, which may be 0 where all releases are pure. Both sums are whole units of 2^-120, each
    release's rounded up, the budget's down.

    Examples
    --------
    >>> from dpcore.plugin.parts import ApproximateDpEvent, PureDpEvent
    >>> from dpcore_accounting.filters.basic import BasicAccountant
    >>> budget = BasicAccountant.from_budget(1.0, 2.0**-20)
    >>> left = budget.compose(PureDpEvent(0.25)).compose(ApproximateDpEvent(0.5, 2.0**-21))
    >>> left.remaining, left.remaining_delta * 2**21
    (0.25, 1.0)
    """

    name: ClassVar[str] = "basic"

    @classmethod
    def _open(
        cls, epsilon: float, delta: float, conversion: str
    ) -> tuple[Fraction, dict[str, Any]]:
        return Fraction(epsilon), {"reserve_ticks": cls.ticks_down(Fraction(delta))}

    @classmethod
    def with_reserve(
        cls, epsilon: float, delta: float, reserve: float | Fraction, conversion: str | None = None
    ) -> Self:
        """Return the empty filter of the budget, whose whole delta is the reserve.

        Raises InvalidInputError for a ``reserve`` above that.
        """
        opened = cls.from_budget(epsilon, delta, conversion)
        PureAccountant._delta_beside(opened.delta, reserve)
        return opened

    @property
    def remaining_delta(self) -> float:
        """The part of delta that releases may still add up to, rounded down."""
        left, one = self.reserve_ticks - self.reserved_ticks, self.ticks_up(Fraction(1))
        return float_down(Fraction(left, one))

    def get_epsilon(self, delta: float) -> float:
        allowed = self.ticks_down(Fraction(self.validated_delta(delta, zero_allowed=True)))
        return inf if allowed < self.reserved_ticks else self.spent
