"""Filters that hold (epsilon, delta) releases too: a part of delta is kept for them, the reserve.

An (e, d)-DP release on two neighbours has the distributions (1 - d) P + d P' and (1 - d) Q + d Q',
P and Q within a factor e^e of each other both ways: it is post-processing of a distribution of four
outcomes of that form (Kairouz, Oh & Viswanath 2015, "The Composition Theorem for Differential
Privacy"; Murtagh & Vadhan 2016). So it is charged as an e-DP release, in the filter's unit, and d
to the reserve.

Proof for a filter of a reserve r, whose unit alone would enforce (epsilon, delta'), with every e
and d chosen from earlier outputs. Let each such release toss its coin d after its history, and let
E be that no coin ever shows P' or Q'. Together with E the history y has the weight c(y) P(y), and
c(y) Q(y) on the other table: P and Q are the distributions that the filter's own theorem is about,
and c(y) in [0, 1], the same on both, is the product of 1 - d, each a function of the history before
it. So for every set S of histories

    P(S, E) - e^epsilon Q(S, E) = sum over S of c (P - e^epsilon Q) <= sum max(0, P - e^epsilon Q),

which is at most delta'. Without E there is at most the mean of the sum of the d that were charged,
at most r along every path, as their filter refuses what would pass it. Together: (epsilon,
r + delta')-DP. (Deltas of concentrated releases: Bun & Steinke 2016, section 8; their filter:
Whitehouse, Ramdas, Rogers & Wu 2023, Theorem 1.) The reserve is fixed before the first release: it
is in the statement, and what is left of it buys nothing else.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

from dpcore.accountants.additive import AdditiveAccountant
from dpcore.accountants.dominating_pairs import is_pure, pair_renyi_up
from dpcore.accountants.registered import which_can
from dpcore.errors import BudgetExceededError, InvalidInputError, UnsupportedEventError
from dpcore.exact.rounding import exact, float_down, float_up
from dpcore.privacy.events import ComposedDpEvent, DpEvent
from dpcore.privacy.stated_events import ApproximateDpEvent, DominatingPairDpEvent

__all__ = ["ReservingAccountant", "deltas_of"]


def deltas_of(events: Mapping[DpEvent, int]) -> Fraction:
    """Return the reserve that so many of each event take: the sum of their own deltas."""
    return _amount(sum(count * _delta_ticks(event) for event, count in events.items()))


def _delta_ticks(event: DpEvent) -> int:
    if type(event) is ComposedDpEvent:
        return sum(map(_delta_ticks, event.events))
    return (
        AdditiveAccountant.ticks_up(Fraction(event.delta))
        if type(event) is ApproximateDpEvent
        else 0
    )


def _amount(ticks: int) -> Fraction:
    return Fraction(ticks, AdditiveAccountant.ticks_up(Fraction(1)))


@dataclass(frozen=True, kw_only=True)
class ReservingAccountant(AdditiveAccountant):
    """Base of the filters that hold (epsilon, delta) releases: see above.

    Parameters
    ----------
    reserve_ticks, reserved_ticks : the reserve, and what was charged to it, in units of 2**-120.
    """

    reserve_ticks: int = 0
    reserved_ticks: int = 0

    deltas_of, pair_renyi_up = staticmethod(deltas_of), staticmethod(pair_renyi_up)

    @classmethod
    def with_reserve(
        cls, epsilon: float, delta: float, reserve: float | Fraction, conversion: str | None = None
    ) -> Self:
        """Return the empty accountant whose filter enforces (epsilon, delta), with ``reserve`` of
        delta, rounded up, kept for (epsilon, delta) releases; 0: for none.

        Raises InvalidInputError for a reserve that leaves none of delta where some is needed.
        """
        opened = cls.from_budget(epsilon, delta, conversion)
        if not reserve:
            return opened
        left = cls._delta_beside(opened.delta, reserve)
        budget, public = cls._open(opened.epsilon, left, opened.conversion)
        ticks = AdditiveAccountant.ticks_up(Fraction(reserve))
        return replace(
            opened,
            budget_ticks=AdditiveAccountant.ticks_down(budget),
            reserve_ticks=ticks,
            **public,
        )

    @classmethod
    def _delta_beside(cls, delta: float, reserve: float | Fraction) -> float:
        """Return what a reserve leaves of delta for the unit's own conversion, rounded down."""
        if not 0 <= reserve < 1:
            raise InvalidInputError(f"Expected reserve={float(reserve)!r} in [0, 1).")
        needed = _amount(AdditiveAccountant.ticks_up(Fraction(reserve)))
        left = Fraction(delta) - needed
        if left < 0 or not (cls.delta_may_be_zero or float_down(left)):
            raise InvalidInputError(
                f"The (epsilon, delta) releases of the run need {float_up(needed):.6g} of delta, "
                f"and the budget's is {exact(delta)}. Raise --delta (delta=)."
            )
        return float_down(left)

    @classmethod
    def _has_rule(cls, event: DpEvent) -> bool:
        if type(event) is DominatingPairDpEvent and not is_pure(event):
            return False
        return super()._has_rule(event)

    @property
    def reserve(self) -> float:
        """The part of delta that (epsilon, delta) releases may add up to, rounded up."""
        return float_up(_amount(self.reserve_ticks))

    def _ticks(self, event: DpEvent) -> int:
        if type(event) is ApproximateDpEvent and not self.reserve_ticks:
            raise UnsupportedEventError(
                f"The {self.name} accountant was opened without a part of delta for (epsilon, "
                "delta) releases. State a schedule, from which it is taken, or open one by "
                "with_reserve."
            )
        if type(event) is DominatingPairDpEvent and not is_pure(event):
            raise UnsupportedEventError(
                f"The {self.name} accountant cannot bound the cost of a pair with an outcome that "
                f"one distribution alone has; {which_can(event)}, and single holds one such "
                "release."
            )
        return super()._ticks(event)

    def compose(self, event: DpEvent) -> Self:
        after = super().compose(event)
        ticks = _delta_ticks(event)
        if self.reserved_ticks + ticks > self.reserve_ticks:
            left = float_down(_amount(self.reserve_ticks - self.reserved_ticks))
            raise BudgetExceededError(
                f"The release needs {float_up(_amount(ticks)):.6g} of the delta that is kept for "
                f"(epsilon, delta) releases, of which {left:.6g} remains."
            )
        return replace(after, reserved_ticks=self.reserved_ticks + ticks)

    def holds(self, events: Mapping[DpEvent, int]) -> bool:
        """Return whether so many of each event fit into what remains of both sums."""
        ticks = sum(count * _delta_ticks(event) for event, count in events.items())
        return self.reserved_ticks + ticks <= self.reserve_ticks and super().holds(events)

    def _part(self, parts: int) -> Self:
        # Both sums of the parts stay within both of this filter.
        reserve = (self.reserve_ticks - self.reserved_ticks) // parts
        return replace(super()._part(parts), reserve_ticks=reserve, reserved_ticks=0)

    def _used_up(self) -> Self:
        return replace(super()._used_up(), reserved_ticks=self.reserve_ticks)

    def get_epsilon(self, delta: float) -> float:
        left = Fraction(self.validated_delta(delta, self.delta_may_be_zero))
        left -= _amount(self.reserved_ticks)
        if left < 0 or not (self.delta_may_be_zero or float_down(left)):
            return math.inf
        found = super().get_epsilon(float_down(left))
        return min(found, self.epsilon) if delta >= self.delta else found
