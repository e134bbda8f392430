"""The base of the pools of users in one process: public facts that nobody else can alter."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import Account, OneProcess
from dpcore_a_ddp.pools.user_budgets import Filters, MakeFilter, middle_budget
from dpcore_a_ddp.users.messages import User

if TYPE_CHECKING:
    from dpcore.plugin import Accountant
    from dpcore_a_ddp.pools.round_rules import GradientRounds
    from dpcore_accounting.best import Schedule

__all__ = ["OneProcessPool"]


class OneProcessPool(OneProcess):
    """Users, planned budget, trust model and rules, as the pool goes by them. An optimizer, which
    is not trusted, gets copies: what it does to them moves no noise and no budget.

    Parameters
    ----------
    users : one or more.
    make_filter : epsilon and delta to an empty accountant.
    reference : the public budget that the noise is planned for; ``None`` for the lower medians.
    trust : the trust model of the rules to come.
    """

    _elsewhere = "This process was forked after the pool began: users spend their budgets there."

    def __init__(
        self,
        users: Sequence[User],
        make_filter: MakeFilter,
        reference: tuple[float, float] | None,
        trust: str,
    ) -> None:
        super().__init__()
        self._users = tuple(User(*user) for user in users)
        self._make_filter, self._trust = make_filter, trust
        self._reference = reference or middle_budget(self._users)
        self._rules: GradientRounds | None = None
        self._lock = threading.Lock()

    @property
    def users(self) -> tuple[User, ...]:
        return self._users

    @property
    def reference(self) -> tuple[float, float]:
        return self._reference

    @property
    def trust(self) -> str:
        return self._trust

    @property
    def rules(self) -> GradientRounds | None:
        return None if self._rules is None else dataclasses.replace(self._rules)

    def plan_filters(self, schedule: Schedule) -> None:
        if isinstance(self._make_filter, Filters):
            self._make_filter.plan(schedule)

    def filter_of(self, epsilon: float, delta: float) -> Accountant:
        copied: Accountant = Account.copied(self._make_filter(epsilon, delta))
        return copied

    def _require_no_rules(self) -> None:
        if self._rules is not None:
            raise InvalidInputError("The rules of a run are agreed on once.")
