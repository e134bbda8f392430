"""Users with a session each, in one process: the plain form of every pool of users."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import BudgetExceededError, InvalidInputError
from dpcore.plugin.parts import Answers, Inbox
from dpcore_a_ddp.user_budgets import Filters, MakeFilter, middle_budget, rounds_of_users

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, Schedule, User
    from dpcore_a_ddp.round_rules import GradientRounds
    from dpcore_a_ddp.user_session import UserSession

__all__ = ["SessionPool"]

Deliver = Callable[[Iterable[Any]], Iterable[Any]]


class SessionPool:
    """A ``UserPool`` of ``UserSession`` objects, asked one after the other.

    Parameters
    ----------
    users : their public facts.
    open_session : rules and the place of a user to its session.
    make_filter : epsilon and delta to an empty accountant, to tell how many rounds there can be.
    trust : the rules' trust model; under ``secure-aggregation`` the sessions have masks that add up
        to zero over those that answer.
    deliver : for tests: the messages that were sent to those that arrive.
    """

    def __init__(
        self,
        users: Sequence[User],
        open_session: Callable[[GradientRounds, int], UserSession],
        make_filter: MakeFilter,
        deliver: Deliver | None = None,
        trust: str = "local",
    ) -> None:
        self.users = tuple(users)
        self.reference, self.trust = middle_budget(users), trust
        self.rounds_allowed = np.zeros(len(users), dtype=np.int64)
        self._open, self._make_filter, self._deliver = open_session, make_filter, deliver
        self._sessions: tuple[UserSession, ...] = ()
        self._inbox: Inbox | None = None
        self.rules: GradientRounds | None = None

    def plan_filters(self, schedule: Schedule) -> None:
        if isinstance(self._make_filter, Filters):
            self._make_filter.plan(schedule)

    def filter_of(self, epsilon: float, delta: float) -> Accountant:
        return self._make_filter(epsilon, delta)

    @property
    def rounds_joined(self) -> np.ndarray:
        return np.array([session.rounds_joined for session in self._sessions], dtype=np.int64)

    def begin(self, rules: GradientRounds, most: int) -> np.ndarray:
        limits = rounds_of_users(self.users, rules, self._make_filter, most)
        if not limits.any():
            raise BudgetExceededError("No user can join the first round. Nothing was spent.")
        self._sessions = tuple(self._open(rules, place) for place in range(len(self.users)))
        self._inbox, self.rules = Inbox(rules, self.users), rules
        self.rounds_allowed = limits.copy()
        return limits

    def round(self, index: int, w: np.ndarray) -> Answers:
        if self._inbox is None:
            raise InvalidInputError("Expected rounds after the rules.")
        messages: Iterable[Any] = [session.answer(index, w) for session in self._sessions]
        if self._deliver is not None:
            messages = self._deliver(messages)
        return self._inbox.collect(index, messages)
