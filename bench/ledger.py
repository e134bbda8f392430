"""What does a ledger cost, and does it survive?

Prints medians, in milliseconds by the clock, of a reservation (a synchronous commit) and, with the
least of them, of a default fit of adult with a ledger and without, alternating; the outcome of
kills, each of a process that trains, at a random time, after which the ledger has to open, to be
whole, to be free, and to count for every run what its releases had cost when the last of them was
seen; and the outcome of races for what is left of a cap, by several processes at once.

    DPCORE_DATA_DIR=... python bench/ledger.py [--fits 10] [--kills 200] [--rounds 1000]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import itertools
import multiprocessing
import os
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.accountants.gdp import GdpAccountant
from dpcore.accountants.pure import PureAccountant
from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import BudgetExceededError
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.ledger_request import LedgerRequest
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.rows.given import dataset_of
from dpcore.plugin import commands
from dpcore_ledger import TableLedger, Terms
from dpcore_ledger.cost import Run
from dpcore_ledger.verify import verified
from dpcore_tables.datasets import adult

if TYPE_CHECKING:
    from dpcore.data.dataset import Dataset
    from dpcore.fitting.planning.plan import Plan

STATED = {"analyst": "", "algorithm": "bench", "epsilon": 0.01, "delta": 1e-9}


def reservations(folder: Path, count: int) -> None:
    """Print the median time of a reservation."""
    ledger = TableLedger.create(folder / "commits.ledger", Terms.of(1000.0, 1e-6))
    run = Run(GdpAccountant.from_budget(0.01, 1e-9), "add-or-remove-one", None)
    seconds = []
    for _ in range(count):
        began = time.perf_counter()
        ledger.reserve(run, STATED)
        seconds.append(time.perf_counter() - began)
    first, last = seconds[: count // 4], seconds[-count // 4 :]
    print(
        f"reservation, median of {count}: {statistics.median(seconds) * 1e3:.2f} ms "
        f"(first quarter {statistics.median(first) * 1e3:.2f}, last "
        f"{statistics.median(last) * 1e3:.2f})"
    )


def fits(folder: Path, count: int) -> None:
    """Print the medians of fits with and without a ledger, alternating."""
    plan, data = make_plan(Settings(epsilon=0.1)), adult.load()
    ledger = TableLedger.create(folder / "fits.ledger", Terms.of(100.0, 1e-6))
    table, request = data.table(), LedgerRequest(ledger.path)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for repeat in range(count + 1):
        for under in (False, True):
            began = time.perf_counter()
            commands.Run(plan, data, table=table, table_ledger=request if under else None).model()
            if repeat:
                seconds[under].append(time.perf_counter() - began)
    for name, value in (("median", statistics.median), ("least", min)):
        without, beside = (value(seconds[under]) * 1e3 for under in (False, True))
        print(
            f"default fit of adult, {name} of {count}: {without:.0f} ms, under a ledger "
            f"{beside:.0f} ms ({beside - without:+.1f} ms, {beside / without:.3f})"
        )


def small_fit() -> tuple[Plan, Dataset]:
    """Return a plan and its rows, the kernels of such a fit loaded."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (2000, 5))
    public: dict[str, Any] = {"bounds": (0, 1), "row_norm": None, "classes": (0, 1)}
    public |= {"target_bounds": None, "n0": None, "capacity": None}
    data = dataset_of(X, (X[:, 0] > X[:, 1]).astype(int), None, True, **public)
    plan = make_plan(Settings(algo="dp-gd", accountant="zcdp", epsilon=0.05))
    commands.Run(plan, data).model()
    return plan, data


def train_for_ever(path: str, plan: Plan, data: Dataset, told: int) -> None:
    """Fit models one after the other; tell after each release who fits and what was spent."""
    for fit in itertools.count():
        name = f"{os.getpid()}-{fit}"

        def tell(session: Any, name: str = name) -> None:
            os.write(told, f"{name} {session.accountant.spent_ticks}\n".encode())

        request = LedgerRequest(path, name)
        commands.Run(plan, data, on_release=tell, table_ledger=request).model()


def killed(path: str, plan: Plan, data: Dataset, coin: random.Random) -> dict[str, int]:
    """Return, by who fitted, what was told to be spent before the process was killed."""
    told, tells = os.pipe()
    asked, context = (path, plan, data, tells), multiprocessing.get_context("fork")
    process = context.Process(target=train_for_ever, args=asked)
    process.start()
    os.close(tells)
    time.sleep(coin.uniform(0.0, 0.5))
    process.kill()
    process.join()
    with os.fdopen(told) as lines:
        whole = [line.split() for line in lines if line.endswith("\n")]
    return {name: int(ticks) for name, ticks in whole}


def kills(folder: Path, count: int) -> None:
    """Print how many kills a ledger came out of whole."""
    ledger, coin = TableLedger.create(folder / "k.ledger", Terms.of(1000.0, 1e-6)), random.Random()
    own = Run(ZcdpAccountant.from_budget(0.01, 1e-9), "add-or-remove-one", None)
    seen: dict[str, int] = {}
    plan, data = small_fit()
    for _ in range(count):
        seen |= killed(ledger.path, plan, data, coin)
        verified(ledger.path)
        known = {run.stated["analyst"]: run for run in ledger.state().runs.values()}
        assert all(known[name].ticks >= ticks for name, ticks in seen.items())
        ledger.reserve(own, STATED).close("finished")  # Nobody holds it.
    runs = [run for run in ledger.state().runs.values() if run.stated["analyst"]]
    left = sum(run.outcome == "open" for run in runs)
    print(
        f"{count} kills: whole and free after each; {len(seen)} runs seen to release, each counted "
        f"for at least that; {left} of {len(runs)} runs left open, counted whole"
    )


def race(folder: str, rounds: int, barrier: Any, made: Any) -> None:
    """Try to reserve once in each round's ledger, and count what was let in."""
    run = Run(PureAccountant.from_budget(0.5, 0.0), "add-or-remove-one", None)
    for place in range(rounds):
        ledger = TableLedger(f"{folder}/{place}.ledger")
        barrier.wait()
        try:
            ledger.reserve(run, STATED)
        except BudgetExceededError:
            continue
        with made.get_lock():
            made[place] += 1


def races(folder: Path, racers: int, rounds: int) -> None:
    """Print how many rounds were won by just as many racers as a cap holds: half of them."""
    holds, context = racers // 2, multiprocessing.get_context("fork")
    place = folder / f"{racers}"
    place.mkdir()
    terms = Terms.of(0.5 * holds, 0.0, accountant="pure")
    ledgers = [TableLedger.create(place / f"{k}.ledger", terms) for k in range(rounds)]
    barrier, made = context.Barrier(racers), context.Array("i", rounds)
    asked = str(place), rounds, barrier, made
    processes = [context.Process(target=race, args=asked) for _ in range(racers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    above = 0
    for ledger in ledgers:
        verified(ledger.path)
        spent = ledger.state().spent(0)
        above += spent.spent_ticks > spent.budget_ticks
    print(
        f"{racers} racers, {rounds} rounds, each for a cap that holds {holds}: "
        f"{sum(count == holds for count in made)} rounds won by just {holds}, {above} above the cap"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=10)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=1000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reservations(folder, 200)
        fits(folder, asked.fits)
        kills(folder, asked.kills)
        for racers in (2, 8):
            races(folder, racers, asked.rounds)


if __name__ == "__main__":
    main()
