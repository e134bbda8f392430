"""The number of rounds that each user may join: from budgets and public figures alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import BudgetExceededError, InvalidInputError
from dpcore.plugin.parts import BestAccountant, accountant_facts, planned_accountant

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, Schedule, User
    from dpcore.plugin.parts import DpEvent
    from dpcore_a_ddp.round_rules import GradientRounds

__all__ = ["Filters", "MakeFilter", "middle_budget", "rounds_of_users", "rounds_within"]

MakeFilter = Callable[[float, float], Any]
"""Epsilon and delta to an empty accountant."""


class Filters:
    """Makes users' empty filters: epsilon and delta to an accountant.

    What an accountant fixes beforehand (an order of Renyi divergence, or which one is smallest) may
    be fixed for a schedule: from a user's budget and public figures, before the first round.
    """

    def __init__(self, empty: Accountant) -> None:
        self._class: Any = type(empty)
        self._conversion = empty.conversion
        self._schedule: Schedule | None = None

    def plan(self, schedule: Schedule) -> None:
        """Fit the filters that are made from now on to a schedule."""
        self._schedule = schedule

    def __call__(self, epsilon: float, delta: float) -> Accountant:
        if self._schedule is None:
            if self._class is BestAccountant:
                raise InvalidInputError(
                    "An accountant can be chosen only for a number of rounds that is fixed "
                    "beforehand; name one, or let the filter set the noise (--set noise=filter)."
                )
            return self._class.from_budget(epsilon, delta, self._conversion)
        return planned_accountant(self._class, epsilon, delta, self._conversion, self._schedule)


def middle_budget(users: Sequence[User]) -> tuple[float, float]:
    """Return the lower medians of the users' epsilons and deltas, which are public."""
    middle = (len(users) - 1) // 2
    return (
        sorted(user.epsilon for user in users)[middle],
        sorted(user.delta for user in users)[middle],
    )


def rounds_within(accountant: Accountant, event: DpEvent, most: int) -> int:
    """Return how often the event can be charged before the filter refuses, at most ``most``."""
    holds = accountant_facts(accountant).holds
    if holds is None:
        return _one_by_one(accountant, event, most)
    low, high = 0, most + 1  # at ``low`` it holds; ``high`` is not asked for
    step = 1
    while low + step < high and holds({event: low + step}):
        low, step = low + step, 2 * step
    high = min(high, low + step)
    while high - low > 1:
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

    Users of one delta and one size differ in epsilon only, and more of it never buys fewer rounds:
    those between two that are equal need not be worked out.
    """
    limits = np.zeros(len(users), dtype=np.int64)
    sizes = np.array([user.n_rows for user in users], dtype=np.int64)
    groups: dict[tuple[float, int | None], list[int]] = {}
    for place, user in enumerate(users):
        sized = rules.sampling != "poisson" and rules.amplified
        groups.setdefault((user.delta, user.n_rows if sized else None), []).append(place)
    for (delta, _), places in groups.items():
        event = rules.event(users[places[0]].n_rows)

        @cache
        def count(epsilon: float, delta: float = delta, event: DpEvent = event) -> int:
            return rounds_within(make_filter(epsilon, delta), event, most)

        order = sorted(places, key=lambda place: users[place].epsilon)
        _fill(limits, order, [users[place].epsilon for place in order], count)
    # A pass charges each row by itself, once in as many rounds as there are rows.
    return np.minimum(most, limits * sizes) if rules.sampling == "pass" else limits


def _fill(
    limits: np.ndarray, places: Sequence[int], epsilons: Sequence[float], count: Callable[..., int]
) -> None:
    """Fill ``limits[places]`` with ``count(epsilon)``, which does not fall along them."""
    parts = [(0, len(places) - 1)]
    while parts:
        low, high = parts.pop()
        first, last = count(epsilons[low]), count(epsilons[high])
        limits[list((places[low], places[high]))] = first, last
        if first == last:
            limits[list(places[low : high + 1])] = first
        elif high - low > 1:
            middle = (low + high) // 2
            parts += [(low, middle), (middle, high)]
