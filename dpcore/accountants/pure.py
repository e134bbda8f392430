"""Pure differential privacy: epsilons add up."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dpcore.accountants.delta_reserve import ReservingAccountant
from dpcore.accountants.dominating_pairs import pair_epsilon_up
from dpcore.exact.rounding import float_up
from dpcore.privacy.events import (
    DpEvent,
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    LaplaceDpEvent,
    PureDpEvent,
)
from dpcore.privacy.stated_events import ApproximateDpEvent, DominatingPairDpEvent

__all__ = ["PureAccountant"]


@dataclass(frozen=True, kw_only=True)
class PureAccountant(ReservingAccountant):
    """Adds up epsilons (Dwork, McSherry, Nissim & Smith 2006). Gaussian noise has none.

    Fully adaptive (a filter, as in Rogers, Roth, Ullman & Vadhan 2016): along every path of outputs
    the log ratio is at most the sum of that path's epsilons. Without a reserve the
    guarantee has a delta of 0, whatever the budget's. With one it has the reserve's: releases that
    are (epsilon, delta)-DP add up in both (basic composition).

    Examples
    --------
    >>> from dpcore.plugin.parts import PureAccountant, PureDpEvent
    >>> accountant = PureAccountant.from_budget(1.0, 0)
    >>> accountant.compose(PureDpEvent(0.75)).remaining
    0.25
    """

    name: ClassVar[str] = "pure"
    unit: ClassVar[str] = "epsilon"
    fully_adaptive: ClassVar[bool] = True
    conversions: ClassVar[tuple[str, ...]] = ("basic",)
    events: ClassVar[tuple[type[DpEvent], ...]] = (
        PureDpEvent,
        ExponentialMechanismDpEvent,
        LaplaceDpEvent,
        ExPostDpEvent,
        DominatingPairDpEvent,
        ApproximateDpEvent,
    )
    delta_may_be_zero: ClassVar[bool] = True

    @classmethod
    def _open(
        cls, epsilon: float, delta: float, conversion: str
    ) -> tuple[Fraction, dict[str, Any]]:
        return Fraction(epsilon), {}

    def _leaf_cost(self, event: Any) -> Fraction:
        # Bounded range epsilon straddles 0, so it implies epsilon-DP: Dong, Durfee & Rogers 2020.
        if isinstance(event, LaplaceDpEvent):
            return 1 / Fraction(event.noise_multiplier)
        if isinstance(event, DominatingPairDpEvent):
            return pair_epsilon_up(event)
        return Fraction(event.epsilon)

    def _epsilon(self, spent: Fraction, delta: float) -> float:
        return float_up(spent)
