"""What rounds over users who keep their rows cost: one of many users, and a whole run of A-DDP.

    DPCORE_DATA_DIR=... python bench/rounds.py [--quick]

A round of 10,000 users x 100 rows x 124 features, all of them at once and one session after the
other; and `dpcore train --algo a-ddp --preset paper --data a9a --epsilon 2` on the rows of four
folds of five, 391 users, until nobody can join. Times of rounds are the best of twelve.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_matrix

from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.losses.logistic import Logistic
from dpcore.noise.source import SystemNoise
from dpcore.plugin.commands import Run
from dpcore.plugin.parts import dataset_from_arrays
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.registry.catalogue import load_registry
from dpcore_a_ddp.pools.in_process import InProcessPool
from dpcore_a_ddp.pools.round_rules import GradientRounds
from dpcore_a_ddp.pools.user_session import UserSession
from dpcore_a_ddp.sampling_composition import SamplingCompositionAccountant
from dpcore_a_ddp.users.messages import User
from dpcore_lab.compare.folds import fold_numbers

DELTA = 1e-8


def speed(quick: bool) -> None:
    """Print the CPU time of a round: 100 sparse rows of 124 features each, all of them at once and
    one session after the other."""
    users, size, width, ones = (1000 if quick else 10_000), 100, 124, 14
    rng = np.random.default_rng(1)
    columns = np.sort(np.argsort(rng.random((1000, width - 1)), axis=1)[:, :ones], axis=1)
    n = users * size
    indices = np.tile(columns, (n // 1000, 1)).ravel()
    X = csr_matrix((np.ones(n * ones), indices, np.arange(0, n * ones + 1, ones)), (n, width - 1))
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    data = dataset_from_arrays(X, y, row_norm=4.0)
    owners = [User(f"u{i}", size, 2.0, DELTA) for i in range(users)]
    make_filter = SamplingCompositionAccountant.from_budget
    facts = {"n_features": width, "row_norm": data.row_norm, "raw_norm_bound": data.raw_norm_bound}
    rules = GradientRounds(
        loss="logistic", relation="replace-one", clip=3.0, noise_multiplier=30.0, **facts
    )
    pool = InProcessPool(owners, data, Logistic(), make_filter)
    pool.begin(rules, 100)
    w = np.zeros(width)
    together = best(lambda i: pool.round(i, w), 12)
    wall = best(lambda i: pool.round(12 + i, w), 12, time.perf_counter)
    few = 50
    sessions = [
        UserSession(
            owners[i],
            data.take(np.arange(n) // size == i),
            Logistic(),
            rules,
            make_filter(2.0, DELTA),
            SystemNoise(),
        )
        for i in range(few)
    ]
    alone = best(lambda i: [user.answer(i, w) for user in sessions], 4) / few * users
    print(
        f"a round of {users:,} users x {size} rows x {width} features: {1e3 * together:.1f} ms of "
        f"CPU time, {1e3 * wall:.1f} ms on the clock; session by session {alone:.2f} s of CPU "
        f"time, {alone / together:.0f} times as much"
    )


def best(
    call: Callable[[int], object], times: int, clock: Callable[[], float] = time.process_time
) -> float:
    """Return the least time of a call but the first."""
    found = []
    for i in range(times):
        started = clock()
        call(i)
        found.append(clock() - started)
    return min(found[1:])


def whole_run(quick: bool) -> None:
    """Print the time of a run until no user can join, from encoded rows to the model."""
    data = load_registry().load("dataset", "a9a")()
    numbers = fold_numbers("a9a", data.y.size, 5, NeighboringRelation.REPLACE_ONE, key=None)
    params = {"most_rounds": 500} if quick else {}
    asked = {"algo": "a-ddp", "preset": "paper", "relation": "replace-one"}
    settings = Settings(**asked, epsilon=2.0, delta=DELTA, params=params)
    train, plan = data.take(numbers != 0), make_plan(settings)
    spent, started = time.process_time(), time.perf_counter()
    model = Run(plan, train).model()
    print(
        f"a-ddp on a9a at epsilon 2: {model.details['rounds']:,} rounds of "
        f"{model.details['users']} users, {time.perf_counter() - started:.1f} s on the clock, "
        f"{time.process_time() - spent:.1f} s of CPU time"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer users, fewer rounds")
    asked = parser.parse_args()
    speed(asked.quick)
    whole_run(asked.quick)


if __name__ == "__main__":
    main()
