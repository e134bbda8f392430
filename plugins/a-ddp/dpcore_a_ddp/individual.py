"""Rules with which users of all budgets join all rounds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpcore_a_ddp.options import least_noise
from dpcore_a_ddp.pools.budget_groups import LEAST_SHARE, budget_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore_a_ddp.pools.round_rules import GradientRounds
    from dpcore_a_ddp.users.messages import User
    from dpcore_a_ddp.users.user_pool import UserPool

__all__ = ["individual_rules"]

_NEAR, _TRIES = 0.95, 8
"""The mean rate is at least this share of the named rate, after so many tries."""


def individual_rules(rules: GradientRounds, pool: UserPool, rounds: int) -> GradientRounds:
    """Return the rules with noise for the largest of the users' budgets, or more where the smallest
    can have no share, and with shares of the clip or the rate for the others.

    Shares of the rate are of the rate of the largest budget, with which a row is drawn at
    ``rules.rate`` in the mean over all rows ("Sample" of Boenisch et al. 2023). Of public values.
    """
    named = rules.rate
    for _ in range(_TRIES):
        rules = replace(rules, noise_multiplier=_least_noise(rules, pool, rounds))
        shared = replace(rules, groups=budget_groups(rules, pool, rounds))
        if named is None or rules.rate is None or rules.shares_of == "clip" or rules.rate == 1.0:
            break
        mean = _mean_rate(shared, pool.users)
        if mean >= _NEAR * named:
            break
        rules = replace(rules, rate=min(1.0, rules.rate * named / mean))
    return shared


def _least_noise(rules: GradientRounds, pool: UserPool, rounds: int) -> float:
    """Return the least noise with which the largest budget has all of the clip and the rate, and
    the smallest one a share that is not too small."""
    found = []
    for epsilon, share in ((_largest(pool), 1.0), (_smallest(pool), LEAST_SHARE)):
        own = rules.with_share(share)
        delta = min(user.delta for user in pool.users if user.epsilon == epsilon)
        multiplier = least_noise(own, pool, rounds, (epsilon, delta))
        found.append(multiplier * own.share)
    return max(found)


def _largest(pool: UserPool) -> float:
    return max(user.epsilon for user in pool.users)


def _smallest(pool: UserPool) -> float:
    return min(user.epsilon for user in pool.users)


def _mean_rate(rules: GradientRounds, users: Sequence[User]) -> float:
    rates = [rules.of_budget(user.epsilon).rate or 0.0 for user in users]
    return float(np.average(rates, weights=[user.n_rows for user in users]))
