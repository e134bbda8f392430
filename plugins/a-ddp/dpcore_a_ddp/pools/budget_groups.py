"""Groups of users of smaller budgets: each has a share of the clip, or of the rate.

Individualised privacy assignment (Boenisch, Muehl, Dziedzic, Rinberg & Papernot, NeurIPS 2023):
"Scale" clips a user of a smaller budget at less, "Sample" draws its rows less often. Noise is one
for all, and every share is public and fixed before the first round. So each user's releases are
those of a schedule of its own that is fixed beforehand, and its own filter charges what they cost.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpcore_a_ddp.pools.rule_checks import MOST_GROUPS
from dpcore_a_ddp.pools.sum_rules import delta_of_rounds
from dpcore_a_ddp.pools.user_budgets import rounds_within

if TYPE_CHECKING:
    from dpcore_a_ddp.pools.round_rules import GradientRounds
    from dpcore_a_ddp.users.messages import User
    from dpcore_a_ddp.users.user_pool import UserPool

__all__ = ["LEAST_SHARE", "budget_groups"]

_WIDTH = 1.25
"""The budgets of a group lie within this factor, or a power of it where groups would be too many;
its share is that of the smallest."""
_STEPS = {"clip": 2.0, "rate": 2.0**0.25}
"""From a share to the next one."""
LEAST_SHARE = 2.0**-8
"""A user of less brings next to nothing, and more noise for all is better."""


def budget_groups(
    rules: GradientRounds, pool: UserPool, rounds: int
) -> tuple[tuple[float, float], ...]:
    """Return the groups with which users of smaller budgets can join so many rounds: pairs of the
    least epsilon and the share, both rising; empty where everyone can with a share of 1.

    Each share is the largest, of steps of two (clip) or of a fourth root of two (rate), with which
    the filter of the group's smallest budget holds the rounds; ``LEAST_SHARE`` or less where none
    does. Of public values alone.
    """
    found: list[tuple[float, float]] = []
    share = 1.0
    for members in reversed(_classes(pool.users)):
        share = _largest_share(rules, pool, members, rounds, share)
        found.insert(0, (min(user.epsilon for user in members), share))
    while len(found) > 1 and found[-2][1] == 1.0:
        del found[-1]
    return () if all(share == 1.0 for _, share in found) else tuple(found)


def _classes(users: Sequence[User], width: float = _WIDTH) -> list[list[User]]:
    """Return the users by rising epsilon, each class within a factor."""
    classes: list[list[User]] = []
    for user in sorted(users, key=lambda user: user.epsilon):
        if not classes or user.epsilon > width * classes[-1][0].epsilon:
            classes.append([])
        classes[-1].append(user)
    return classes if len(classes) <= MOST_GROUPS else _classes(users, width * _WIDTH)


def _largest_share(
    rules: GradientRounds, pool: UserPool, members: Sequence[User], rounds: int, most: float
) -> float:
    delta = delta_of_rounds(rules, min(user.delta for user in members))
    epsilon, rows = members[0].epsilon, min(user.n_rows for user in members)
    step = _STEPS[rules.shares_of]

    def is_too_large(steps: int) -> bool:
        own = rules.with_share(most * step**-steps)
        pool.plan_filters(own.schedule(rows))
        held = pool.filter_of(epsilon, delta)
        return rounds_within(held, own.event(rows), rounds) < rounds

    if not is_too_large(0):
        return most
    steps = range(1, math.ceil(math.log(most / LEAST_SHARE, step)))
    return most * step ** -(1 + bisect_left(steps, True, key=lambda k: not is_too_large(k)))
