"""Users of made rows, for the tests of pools."""

from __future__ import annotations

import functools

import numpy as np

from dpcore.plugin import Problem
from dpcore.plugin.parts import GdpAccountant, Logistic, SeededNoise, dataset_from_arrays
from dpcore_a_ddp.pools.in_process import InProcessPool
from dpcore_a_ddp.pools.round_rules import GradientRounds
from dpcore_a_ddp.pools.session_pool import SessionPool
from dpcore_a_ddp.pools.user_session import UserSession, user_seed
from dpcore_a_ddp.users.messages import User
from dpcore_lab.checks import make_rows

SEED = 5
USERS = (User("a", 20, 2.0, 1e-6), User("b", 1, 0.5, 1e-6), User("c", 32, 4.0, 1e-5))


def make_data(n_rows=53, seed=1):
    rows = make_rows(n_rows, n_features=6, seed=seed)
    return dataset_from_arrays(rows.X, rows.y, row_norm=1.5)


@functools.lru_cache
def make_filter(epsilon, delta):
    return GdpAccountant.from_budget(epsilon, delta)


def make_rules(data, **changes):
    values = {
        "loss": "logistic",
        "n_features": data.n_features,
        "row_norm": data.row_norm,
        "raw_norm_bound": data.raw_norm_bound,
        "relation": "replace-one",
        "clip": 1.0,
        "noise_multiplier": 4.0,
        "amplified": False,
    }
    return GradientRounds(**(values | changes))


def problem_of(data, relation):
    """Return the public facts of logistic loss on the rows of all users."""
    return Problem(
        loss=Logistic(),
        l2=0.0,
        n_features=data.n_features,
        row_norm=data.row_norm,
        raw_norm_bound=data.raw_norm_bound,
        relation=relation,
        n=data.y.size,
    )


def rows_of(data, users, place):
    start = sum(user.n_rows for user in users[:place])
    places = np.arange(data.X.shape[0])
    return data.take((places >= start) & (places < start + users[place].n_rows))


def open_user(data, rules, users=USERS, place=0, make_filter=make_filter, ledger=None, seed=SEED):
    user = users[place]
    return UserSession(
        user,
        rows_of(data, users, place),
        Logistic(),
        rules,
        make_filter(user.epsilon, user.delta),
        None if seed is None else SeededNoise(user_seed(seed, user.name)),
        ledger,
    )


def both_pools(data, users=USERS, make_filter=make_filter, **options):
    """Return the vectorised pool and the one of a session each, with the same seed."""
    fast = InProcessPool(users, data, Logistic(), make_filter, seed=SEED)
    plain = SessionPool(
        users,
        lambda rules, place: open_user(data, rules, users, place, make_filter),
        make_filter,
        **options,
    )
    return fast, plain


def in_process(data, users=USERS, make_filter=make_filter, seed=SEED, **options):
    return InProcessPool(users, data, Logistic(), make_filter, seed=seed, **options)
