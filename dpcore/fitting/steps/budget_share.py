"""The share of a run's budget that a step has, and the session that spends that share only.

A share is a fraction of an additive unit (rho, mu^2, epsilon under ``pure``, a Renyi divergence at
one order), and of the part of delta that the filter keeps for (epsilon, delta) releases. Shares of
epsilon do not add up, and none is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcore.accountants.delta_reserve import ReservingAccountant
from dpcore.errors import BudgetExceededError, InvalidInputError
from dpcore.exact.rounding import float_up
from dpcore.mechanisms.gaussian import Gaussian
from dpcore.session.unit_sensitivity import sensitivity_of_units

if TYPE_CHECKING:
    import numpy as np

    from dpcore.privacy.events import DpEvent
    from dpcore.protocols import Accountant, DerivedQuery, Mechanism, Query
    from dpcore.protocols.problem import Problem
    from dpcore.session.session import TableSession

__all__ = ["StepSession", "ShareOfBudget", "exact_share", "stated_share"]


def exact_share(share: Any, whose: str = "the step") -> Fraction:
    """Return a share as an exact number: a float is read as its shortest decimal, so that 0.1 is a
    tenth."""
    if not isinstance(share, bool):
        with suppress(TypeError, ValueError, OverflowError, ZeroDivisionError):
            return Fraction(repr(float(share)) if isinstance(share, float) else share)
    raise InvalidInputError(f"Expected {whose} to have a share that is a number.")


def stated_share(share: Fraction) -> float:
    """Return a share as a float that is read as no less: rounded up, where no decimal is it."""
    nearest = float(share)
    return nearest if exact_share(nearest) >= share else float_up(share)


class ShareOfBudget:
    """The schedule of a step's session: whatever would cost more than its stated releases do is
    refused, so that what the filter was charged for these bounds what the step releases.

    It is asked where a session charges, between the filter's consent and the ledger, so that
    nothing is drawn past it (``dpcore.session.account``).

    Parameters
    ----------
    empty : the run's filter, not charged yet.
    stated : the events of all releases that the step stated, which cost its share at most.
    """

    def __init__(self, empty: Accountant, stated: Iterable[DpEvent], name: str) -> None:
        self._filter = self._most = empty
        self._left, self._name = Fraction(0), name
        for event in stated:
            self._left += empty.cost(event)
            self._most = self._most.compose(event)

    def take(self, event: DpEvent) -> None:
        """Take an event's cost from what was stated; BudgetExceededError, with nothing taken, where
        that does not hold it, in the filter's unit or of the delta that it keeps."""
        left, after = self._left - self._filter.cost(event), self._filter.compose(event)
        if left < 0 or _reserved(after) > _reserved(self._most):
            raise BudgetExceededError(
                f"The step {self._name} asked for a release that costs more than is left of those "
                "that it stated beforehand, for its share of the budget."
            )
        self._left, self._filter = left, after


def _reserved(accountant: Accountant) -> int:
    """Return what was charged of the delta that a filter keeps, in its own unit."""
    return accountant.reserved_ticks if isinstance(accountant, ReservingAccountant) else 0


class StepSession:
    """The session of a step: it releases noisy answers, as long as the step's share holds them.
    ``exact_share(share, whose)`` is a share as an exact number; ``deviation_of`` tells the noise
    before there is a session."""

    __slots__ = ("__release", "__problem")

    exact_share = staticmethod(exact_share)

    def __init__(self, session: TableSession, problem: Problem) -> None:
        self.__release, self.__problem = session.release, problem

    def release(self, query: Query | DerivedQuery, mechanism: Mechanism) -> np.ndarray:
        """Return a noisy answer, charged first; BudgetExceededError, with nothing drawn, where the
        share does not hold it."""
        answer: np.ndarray = self.__release(query, mechanism)
        return answer

    def deviation(self, query: Query, mechanism: Any) -> float:
        """Return the standard deviation of the noise of an entry of that answer, a public
        value."""
        return self.deviation_of(mechanism, query, self.__problem)

    @staticmethod
    def deviation_of(mechanism: Any, query: Query, problem: Problem) -> float:
        """Return the standard deviation of the noise that is added to the query's answer in a run
        of this problem, a public value. ``mechanism`` : one of ``mechanism_for``."""
        k, relation = problem.rows_per_unit, problem.relation
        units = None if k is None else sensitivity_of_units(query, relation, k)
        spread = 1.0 if isinstance(mechanism, Gaussian) else 2**0.5
        moved = (units or query.sensitivity(relation)).bound
        return float(spread * mechanism.noise_multiplier * moved)
