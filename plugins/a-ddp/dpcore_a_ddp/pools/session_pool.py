"""Users with a session each, in one process: the plain form of every pool of users."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import BudgetExceededError
from dpcore.plugin import InvalidInputError
from dpcore_a_ddp.pools.one_process_pool import OneProcessPool
from dpcore_a_ddp.pools.round_rules import GradientRounds
from dpcore_a_ddp.pools.user_budgets import MakeFilter, rounds_of_users
from dpcore_a_ddp.users.messages import Answers, Inbox

if TYPE_CHECKING:
    from dpcore_a_ddp.pools.user_session import UserSession
    from dpcore_a_ddp.users.messages import User

__all__ = ["SessionPool"]

Deliver = Callable[[Iterable[Any]], Iterable[Any]]


class SessionPool(OneProcessPool):
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
        super().__init__(users, make_filter, None, trust)
        self._limits = np.zeros(len(users), dtype=np.int64)
        self._open, self._deliver = open_session, deliver
        self._sessions: tuple[UserSession, ...] = ()
        self._inbox: Inbox | None = None

    @property
    def rounds_allowed(self) -> np.ndarray:
        return self._limits.copy()

    @property
    def rounds_joined(self) -> np.ndarray:
        return np.array([session.rounds_joined for session in self._sessions], dtype=np.int64)

    def begin(self, rules: GradientRounds, most: int) -> np.ndarray:
        self._require_this_process()
        rules = GradientRounds.agreed(rules)
        with self._lock:
            self._require_no_rules()
            limits = rounds_of_users(self.users, rules, self._make_filter, int(most))
            if not limits.any():
                raise BudgetExceededError("No user can join the first round. Nothing was spent.")
            self._sessions = tuple(self._open(rules, place) for place in range(len(self.users)))
            self._inbox, self._rules = Inbox(rules, self.users), rules
            self._limits = limits
        return limits.copy()

    def round(self, index: int, w: np.ndarray) -> Answers:
        self._require_this_process()
        if self._inbox is None:
            raise InvalidInputError("Expected rounds after the rules.")
        messages: Iterable[Any] = [session.answer(index, w) for session in self._sessions]
        if self._deliver is not None:
            messages = self._deliver(messages)
        return self._inbox.collect(index, messages)
