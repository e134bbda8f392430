"""The number of rounds that each user may join: from budgets and public values alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import BudgetExceededError
from dpcore.plugin import FixedSchedule, InvalidInputError
from dpcore.plugin.parts import Registry
from dpcore_a_ddp.pools.sum_rules import delta_of_rounds, rounds_before_failure
from dpcore_accounting.best import BestAccountant

if TYPE_CHECKING:
    from dpcore.plugin import Accountant
    from dpcore.plugin.parts import DpEvent
    from dpcore_a_ddp.pools.round_rules import GradientRounds
    from dpcore_a_ddp.users.messages import User
    from dpcore_accounting.best import Schedule

__all__ = [
    "MOST_ROUNDS",
    "Filters",
    "MakeFilter",
    "filter_of_rounds",
    "fixed_to",
    "middle_budget",
    "rounds_of_users",
    "rounds_within",
]

MOST_ROUNDS = 10**9
"""More than any filter is asked for."""
_SPARED = 1 / 256
"""Of the rounds of a user whose epsilon is between others': what it may join fewer, so that a file
of many budgets is read in seconds. It is half of that in noise, and no rows have a part in it."""

MakeFilter = Callable[[float, float], Any]
"""Epsilon and delta to an empty accountant."""


class Filters:
    """Makes users' empty filters: epsilon and delta to an accountant.

    What an accountant fixes beforehand (an order of Renyi divergence, or which one is smallest) may
    be fixed for a schedule: from a user's budget and public values, before the first round.

    One for fixed schedules alone (``pld``) is not: the least noise of each user's own budget would
    be part of its plan, and all users have the run's noise. It is left to say how many rounds of
    that noise it holds (``filter_of_rounds``).
    """

    def __init__(self, empty: Accountant) -> None:
        self._class: Any = type(empty)
        self._conversion = empty.conversion
        self._schedule: Schedule | None = None

    def plan(self, schedule: Schedule) -> None:
        """Fit the filters that are made from now on to a schedule."""
        self._schedule = schedule

    def planned(self, schedule: Schedule) -> Filters:
        """Return the same, fitted to another schedule."""
        filters = copy(self)
        filters.plan(schedule)
        return filters

    def __call__(self, epsilon: float, delta: float) -> Accountant:
        if self._schedule is None:
            if self._class is BestAccountant:
                raise InvalidInputError(
                    "An accountant can be chosen only for a number of rounds that is fixed "
                    "beforehand; name one, or let the filter set the noise (--set noise=filter)."
                )
            return self._class.from_budget(epsilon, delta, self._conversion)
        fitted = FixedSchedule.planned_accountant(
            self._class, epsilon, delta, self._conversion, self._schedule
        )
        if fitted.fully_adaptive:
            return fitted
        kind: Any = type(fitted)
        return kind.from_budget(epsilon, delta, fitted.conversion)


def fixed_to(empty: Accountant, schedule: Schedule) -> Accountant:
    """Return the filter of a schedule that a run is held to: where it is valid for such schedules
    alone, planned for it."""
    if empty.fully_adaptive:
        return empty
    budget = empty.epsilon, empty.delta
    return FixedSchedule.planned_accountant(type(empty), *budget, empty.conversion, schedule)


def filter_of_rounds(empty: Accountant, event: DpEvent) -> Accountant:
    """Return a user's filter for the rounds of one run, where each costs ``event``.

    The argument, for a theorem about releases that were fixed beforehand (``pld``). Noise and
    sampling are the run's rules: fixed and public before the first round, and the same in each. So
    the number of rounds k with which this user's own curve stays within the user's own (epsilon,
    delta) is a function of public values, and fixed before the first round as well. What the user
    sends is at most k releases, each dominated by one and the same pair whatever was asked (only
    the parameters w follow from what was sent before), and which rounds the user misses does not
    depend on the user's rows: k of them dominate it (Zhu, Dong & Wang 2022, Theorem 10). The filter
    holds these k and no other release, so that its budget is charged with the first.
    """
    if empty.fully_adaptive or Registry.facts_of("accountant", empty).planned is None:
        return empty
    rounds = rounds_within(empty, event, MOST_ROUNDS)
    return fixed_to(empty, lambda multiplier: {event: rounds}) if rounds else empty


def middle_budget(users: Sequence[User]) -> tuple[float, float]:
    """Return the lower medians of the users' epsilons and deltas, which are public."""
    middle = (len(users) - 1) // 2
    return (
        sorted(user.epsilon for user in users)[middle],
        sorted(user.delta for user in users)[middle],
    )


def rounds_within(
    accountant: Accountant, event: DpEvent, most: int, least: int | None = None
) -> int:
    """Return how often the event can be charged before the filter refuses, at most ``most``.

    ``least`` : it is known to hold so many; the result may then be a 256th below.
    """
    holds = Registry.facts_of("accountant", accountant).holds
    if holds is None:
        return _one_by_one(accountant, event, most)
    low, high = least or 0, most + 1  # at ``low`` it holds; ``high`` is not asked for
    step = 1
    while low + step < high and holds({event: low + step}):
        low, step = low + step, 2 * step
    high = min(high, low + step)
    while high - low > max(1, 0 if least is None else low * _SPARED):
        middle = (low + high) // 2
        low, high = (middle, high) if holds({event: middle}) else (low, middle)
    return low


def _one_by_one(accountant: Accountant, event: DpEvent, most: int) -> int:
    for rounds in range(most):
        try:
            accountant = accountant.compose(event)
        except BudgetExceededError:
            return rounds
    return most


def rounds_of_users(
    users: Sequence[User], rules: GradientRounds, make_filter: MakeFilter, most: int
) -> np.ndarray:
    """Return for each user the rounds that it may join, int64 of shape (n_users,), <= ``most``.

    Users of one share, delta and size differ in epsilon only, and more of it never buys fewer
    rounds: what is (epsilon, delta)-DP by one filter is so for more, whatever order of rdp another
    filter has fixed. Between two, it is as many as of the one, and at most as many as of the other.
    """
    limits = np.zeros(len(users), dtype=np.int64)
    sizes = np.array([user.n_rows for user in users], dtype=np.int64)
    groups: dict[tuple[GradientRounds, float, int | None], list[int]] = {}
    for place, user in enumerate(users):
        sized = rules.sampling != "poisson" and rules.amplified
        own = rules.of_budget(user.epsilon)
        groups.setdefault((own, user.delta, user.n_rows if sized else None), []).append(place)
    for (own, delta, _), places in groups.items():
        n_rows = users[places[0]].n_rows
        event, make = own.event(n_rows), make_filter
        if rules.groups and isinstance(make_filter, Filters):
            make = make_filter.planned(own.schedule(n_rows))

        def count(
            epsilon: float,
            last: int,
            least: int | None = None,
            delta: float = delta,
            event: DpEvent = event,
            make: MakeFilter = make,
        ) -> int:
            held = make(epsilon, delta_of_rounds(rules, delta))
            return rounds_within(held, event, last, least)

        epsilons, which = np.unique([users[place].epsilon for place in places], return_inverse=True)
        fit = rounds_before_failure(rules, delta, most)
        limits[places] = _counts(epsilons.tolist(), count, fit)[which]
    # A pass charges each row by itself, once in as many rounds as there are rows.
    return np.minimum(most, limits * sizes) if rules.sampling == "pass" else limits


def _counts(epsilons: Sequence[float], count: Callable[..., int], most: int) -> np.ndarray:
    """Return ``count(epsilon, most)`` of the first and the last of rising epsilons, and of others
    between two that are known ``count(epsilon, most, least)``."""
    found = np.empty(len(epsilons), dtype=np.int64)
    found[0] = count(epsilons[0], most)
    found[-1] = count(epsilons[-1], most)
    parts = [(0, len(epsilons) - 1)]
    while parts:
        low, high = parts.pop()
        first, last = int(found[low]), int(found[high])
        if first == last:
            found[low : high + 1] = first
        elif high - low > 1:
            middle = (low + high) // 2
            found[middle] = count(epsilons[middle], last, first)
            parts += [(low, middle), (middle, high)]
    return found
