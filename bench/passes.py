"""How long does a fit by rsgd-ar take, and what does its sensitivity cost?

The rows are the first of kddcup99-10, 20 passes by default. CPU and wall seconds of whole fits,
from the encoded rows to the released model, warm, and their ratio to the smallest table's; and the
recurrence at 50 epochs of 500 batches beside the double loop that it replaces, in NumPy.

    DPCORE_DATA_DIR=... python bench/passes.py [--threads 2]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from dpcore.data.blocks.table import Table
from dpcore.engines.local import LocalEngine
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.planning.public_facts import with_default_l2
from dpcore.fitting.request.settings import Settings
from dpcore.noise.source import SystemNoise
from dpcore.protocols.problem import Problem
from dpcore.registry.catalogue import load_registry
from dpcore.session.session import TableSession
from dpcore_rsgd_ar.defaults import decaying_steps
from dpcore_rsgd_ar.schedule import Facts, Schedule
from dpcore_rsgd_ar.sensitivity import batch_sensitivities

ROWS = (50_000, 100_000, 150_000, 200_000, 250_000)
REPEATS = 5


def median_time(run: Callable[[], Any], clock: Callable[[], float]) -> float:
    run()
    spent = []
    for _ in range(REPEATS):
        started = clock()
        run()
        spent.append(clock() - started)
    return median(spent)


def fit(dataset: Any, n_rows: int, threads: int) -> None:
    """Fit the rows as the command line would, from encoded rows to the released model."""
    plan = make_plan(Settings(algo="rsgd-ar", epsilon=0.4, delta=1e-12, relation="replace-one"))
    bounds = {"row_norm": dataset.row_norm, "raw_norm_bound": dataset.raw_norm_bound}
    rows = np.arange(dataset.X.shape[0]) < n_rows
    table = Table.from_matrix(dataset.X[rows], dataset.y[rows], **bounds)
    facts: dict[str, Any] = {"loss": plan.loss, "l2": 0.0, "relation": plan.relation, **bounds}
    problem = Problem(n_features=dataset.X.shape[1], n=n_rows, **facts)
    engine = LocalEngine(table, threads)
    session = TableSession(engine, plan.accountant, plan.relation, SystemNoise())
    plan.optimizer.minimize(with_default_l2(problem, plan), session)


def double_loop(schedule: Schedule, facts: Facts) -> np.ndarray:
    """Algorithm 2 of Chen, Lee & Kifer 2019 with averages, O(T m^2)."""
    m, sizes, every = schedule.n_batches, schedule.sizes, schedule.average_every
    deltas, total = np.zeros(m), np.zeros(m)
    for s in range(schedule.epochs):
        eta = float(schedule.step_sizes[s, 0])
        rho = max(abs(1 - eta * facts.mu), abs(1 - eta * facts.curvature))
        for j in range(m):
            deltas *= rho
            deltas[j] += 2 * eta * facts.gradient / sizes[j]
            total += deltas
        if (s + 1) % every == 0:
            deltas, total = total / (m * every), np.zeros(m)
    return deltas


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    threads = parser.parse_args().threads
    facts = Facts(mu=0.001, row_norm=1.0, lipschitz=1.0, smoothness=0.25, n_features=100)
    schedule = Schedule(20_000, 40, decaying_steps(2.0, 50, 10), 10)
    recurrence = median_time(lambda: batch_sensitivities(schedule, facts, 40), time.process_time)
    loops = median_time(lambda: double_loop(schedule, facts), time.process_time)
    apart = np.abs(batch_sensitivities(schedule, facts, 40)[0] / double_loop(schedule, facts) - 1)
    print("sensitivity of 50 epochs of 500 batches, CPU ms")
    print(f"recurrence {1e3 * recurrence:.2f}, double loop {1e3 * loops:.0f}: ", end="")
    print(f"{loops / recurrence:.0f} times; apart by {apart.max():.1e} of rounding counted")
    dataset = load_registry().load("dataset", "kddcup99-10")()
    print(f"\nfit on the first rows of kddcup99-10, {threads} threads: rows, CPU s, seconds, ratio")
    first = None
    for n_rows in ROWS:
        cpu, wall = (
            median_time(lambda n=n_rows: fit(dataset, n, threads), clock)
            for clock in (time.process_time, time.perf_counter)
        )
        first = first or cpu
        ratio, rows = cpu / first, n_rows / ROWS[0]
        print(f"{n_rows:>8} {cpu:>7.2f} {wall:>7.2f} {ratio:>6.2f} for {rows:.0f} times the rows")


if __name__ == "__main__":
    main()
