"""No privacy at all: exact answers, counted."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dpcore.plugin.parts import AdditiveAccountant, DpEvent, NonPrivateDpEvent

__all__ = ["NonPrivateAccountant"]

_MOST = 2**20


@dataclass(frozen=True, kw_only=True)
class NonPrivateAccountant(AdditiveAccountant):
    """Counts exact answers and refuses noisy ones. It guarantees nothing: ``private`` is False, and
    so says every statement of a run under it, whatever epsilon was asked for.

    No other accountant holds an exact answer, and this one holds nothing else: a private run cannot
    come by exact answers, nor a run without privacy pass for a private one.
    """

    name: ClassVar[str] = "none"
    unit: ClassVar[str] = "exact answers"
    private: ClassVar[bool] = False
    fully_adaptive: ClassVar[bool] = True
    conversions: ClassVar[tuple[str, ...]] = ("none",)
    events: ClassVar[tuple[type[DpEvent], ...]] = (NonPrivateDpEvent,)
    delta_may_be_zero: ClassVar[bool] = True

    @classmethod
    def _open(
        cls, epsilon: float, delta: float, conversion: str
    ) -> tuple[Fraction, dict[str, Any]]:
        return Fraction(_MOST), {}

    def _leaf_cost(self, event: Any) -> Fraction:
        return Fraction(1)

    def _epsilon(self, spent: Fraction, delta: float) -> float:
        return math.inf

    def get_epsilon(self, delta: float) -> float:
        return math.inf if self.spent_ticks else 0.0
