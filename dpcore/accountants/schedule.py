"""Schedules that are fixed beforehand: whether they fit, and how much noise they ask for. All of it
follows from public facts, before the run.

A schedule is a function from a noise multiplier to how many of each event the run makes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from dpcore.accountants.delta_reserve import deltas_of
from dpcore.accountants.event_dominance import costs_no_more
from dpcore.accountants.registered import which_support
from dpcore.accountants.search import smallest_multiplier
from dpcore.errors import BudgetExceededError, UnsupportedEventError
from dpcore.privacy.events import DpEvent
from dpcore.registry.tables.optimizer_spec import accountant_facts

if TYPE_CHECKING:
    from dpcore.protocols import Accountant

__all__ = [
    "FixedSchedule",
    "Schedule",
]

Schedule: TypeAlias = Callable[[float], Mapping[DpEvent, int]]


class FixedSchedule:
    """The releases that are left of a schedule that was fixed before the run.

    A filter that is not fully adaptive proves something about such a schedule only, so a run is
    held to it: each release takes the place of a stated release, which is the same or is known to
    cost no less (``dpcore.accountants.event_dominance``). Which, and where it ends, may be chosen
    from earlier outputs.

    Parameters
    ----------
    events : how many of each, of whatever kind the accountant holds.

    Examples
    --------
    >>> from dpcore.plugin.parts import GdpAccountant
    >>> from dpcore.plugin import FixedSchedule, Gaussian
    >>> accountant = GdpAccountant.from_budget(1.0, 1e-6)
    >>> hundred = lambda m: {Gaussian.nominal_event(m): 100}
    >>> round(FixedSchedule.noise_multiplier(accountant, hundred), 1)
    42.2
    """

    def __init__(self, events: Mapping[DpEvent, int]) -> None:
        self._left = dict(events)

    def take(self, event: DpEvent) -> None:
        """Take one place; UnsupportedEventError, with nothing taken, where none is left for it."""
        places = [e for e, count in self._left.items() if count > 0 and costs_no_more(event, e)]
        if not places:
            others = [f"; use one that is, such as {name}" for name in which_support(event)]
            raise UnsupportedEventError(
                "This release is not on the schedule that the algorithm stated before the run, and "
                f"the accountant is not fully adaptive{''.join(others[:1])}."
            )
        least = places[0]
        for place in places[1:]:
            least = place if costs_no_more(place, least) else least
        self._left[least] -= 1

    @staticmethod
    def noise_multiplier(accountant: Accountant, schedule: Schedule) -> float:
        """Return the smallest noise multiplier, to 1e-9, with which a schedule fits the remaining
        budget.

        The value returned is verified to fit.

        Raises InvalidInputError if no amount of noise makes it fit, and UnsupportedEventError,
        naming what can, if the accountant cannot hold the schedule's events.
        """
        return smallest_multiplier(lambda m: _holds(accountant, schedule(m)))

    @staticmethod
    def planned_accountant(
        accountant_class: Any,
        epsilon: float,
        delta: float,
        conversion: str | None,
        schedule: Schedule,
    ) -> Accountant:
        """Return the accountant of the budget, planned for a schedule.

        It has fixed what has to be fixed beforehand: the order of rdp, and the reserve of releases
        with a delta.

        Examples
        --------
        >>> from dpcore.plugin.parts import GdpAccountant
        >>> from dpcore.plugin import FixedSchedule, Gaussian
        >>> twice = lambda m: {Gaussian.nominal_event(m): 2}
        >>> FixedSchedule.planned_accountant(GdpAccountant, 1.0, 1e-6, None, twice).epsilon
        1.0
        """
        facts = accountant_facts(accountant_class)
        fitted: Accountant = (
            facts.planned(epsilon, delta, schedule)
            if facts.planned is not None
            else facts.with_reserve(epsilon, delta, deltas_of(schedule(1.0)), conversion)
            if facts.with_reserve is not None
            else accountant_class.from_budget(epsilon, delta, conversion)
        )
        return fitted


def _holds(accountant: Accountant, events: Mapping[DpEvent, int]) -> bool:
    """Return whether a filter takes so many of each event: by its own rule, or one by one."""
    holds = accountant_facts(accountant).holds
    if holds is not None:
        return holds(events)
    try:
        for event, count in events.items():
            for _ in range(count):
                accountant = accountant.compose(event)
    except BudgetExceededError:
        return False
    return True
