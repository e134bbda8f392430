"""What do two threads gain in one pass, and what keeps them from more?

A gradient at a new point, of adult coded, as CSR and dense, of 20,000 of its rows, and of 200,000 x
50 drawn rows; ms by the clock, the least of many, and how many times as fast as one thread:

    engine     two threads of one engine, which wake for each pass;
    apart      two threads that each ask an engine of half the rows, many passes in a row: no thread
               wakes another, but they share one interpreter;
    processes  two processes that each ask an engine of half the rows: nothing is shared but the
               machine, so that no program gains more.

The engine is made to take two threads for however few cells. What that does to a whole fit follows:
ms by the clock over its gradients, by ``auto`` and by ``dp-agd``, which keeps margins. At the end
what it takes until a waiting thread is at work, by the engine's own threads and by an executor of
the standard library. On a machine with other work the values mean something only if that waits:
``chrt -f 5 python bench/two_threads.py`` as its superuser, for half a minute.

    DPCORE_DATA_DIR=... python bench/two_threads.py [--rounds 8]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
from dense import drawn

from dpcore.data.blocks.table import Table
from dpcore.engines import local
from dpcore.engines.local import LocalEngine
from dpcore.engines.thread_pool import ThreadPool
from dpcore.exact.grid import BLOCK_ROWS
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.losses.logistic import Logistic
from dpcore.noise.source import SystemNoise
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.protocols.problem import Problem
from dpcore.queries import ClippedGradientSum
from dpcore.registry.catalogue import load_registry
from dpcore.session.session import TableSession

TO_REACH = 1.6
PASSES = 12
"""Passes in a row of threads or processes apart."""
ALGOS, EPSILON, DELTA, N0, FITS = ("auto", "dp-agd"), 0.4, 1e-8, 40_000, 5
SOME = 20_000
"""Rows from which on two threads were to gain."""
RELATION = NeighboringRelation.ADD_OR_REMOVE_ONE

Rows = tuple[Any, np.ndarray, dict[str, float]]
Span = tuple[float, float]


def arrays() -> Iterator[tuple[str, Rows]]:
    adult = load_registry().load("dataset", "adult")()
    bounds = {"row_norm": adult.row_norm, "raw_norm_bound": adult.raw_norm_bound}
    yield "adult, coded", (adult.X, adult.y, bounds)
    yield "adult, CSR", (adult.X.tocsr(), adult.y, bounds)
    yield "adult, dense", (adult.X.toarray(), adult.y, bounds)
    yield "20,000 of adult, coded", (adult.X[np.arange(SOME)], adult.y[:SOME], bounds)
    yield "20,000 of adult, dense", (adult.X.toarray()[:SOME], adult.y[:SOME], bounds)
    rows = drawn(200_000, 50, 1.0)
    X = np.hstack([rows.X, np.ones((len(rows.X), 1))])
    yield "200,000 x 50", (X, rows.y, {"row_norm": 1.5, "raw_norm_bound": 1.5})


def asker(rows: Rows, threads: int = 1) -> Callable[[], object]:
    """Return what asks for one gradient, at another point every time."""
    X, y, bounds = rows
    engine = LocalEngine(Table.from_matrix(X, y, **bounds), threads=threads)
    problem = Problem(Logistic(), 0.0, X.shape[1], relation=RELATION, **bounds)
    points = 0.1 * np.random.default_rng(1).standard_normal((8, X.shape[1]))
    queries = itertools.cycle([ClippedGradientSum(problem, w, 1.0) for w in points])
    return lambda: engine.answer(next(queries))


def halves(rows: Rows) -> list[Rows]:
    X, y, bounds = rows
    middle = y.size // BLOCK_ROWS // 2 * BLOCK_ROWS
    return [(X[part], y[part], bounds) for part in (slice(middle), slice(middle, None))]


def span(ask: Callable[[], object]) -> Span:
    """Return when some passes in a row began and ended."""
    begun = time.perf_counter()
    for _ in range(PASSES):
        ask()
    return begun, time.perf_counter()


def together(spans: list[Span]) -> float:
    """Return the seconds of one pass, of spans that ran side by side."""
    return (max(end for _, end in spans) - min(begun for begun, _ in spans)) / PASSES


def apart(asks: list[Callable[[], object]]) -> float:
    met, spans = threading.Barrier(len(asks)), []

    def run(ask: Callable[[], object]) -> None:
        met.wait()
        spans.append(span(ask))

    threads = [threading.Thread(target=run, args=(ask,)) for ask in asks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return together(spans)


def answer_elsewhere(rows: Rows, met: Any, rounds: int, out: Any) -> None:
    ask = asker(rows)
    span(ask)
    spans = []
    for _ in range(rounds):
        met.wait()
        spans.append(span(ask))
    out.put(spans)


def processes(rows: Rows, rounds: int) -> float:
    """Return the seconds of one pass by two processes, the least of the rounds."""
    context = get_context("fork")
    met, out = context.Barrier(2), context.Queue()
    words = [(half, met, rounds, out) for half in halves(rows)]
    started = [context.Process(target=answer_elsewhere, args=each) for each in words]
    for process in started:
        process.start()
    found = [out.get() for _ in started]
    for process in started:
        process.join()
    return min(together(list(spans)) for spans in zip(*found, strict=True))


def measure(rows: Rows, rounds: int) -> dict[str, float]:
    """Return the least seconds of a pass, of each form; forms take turns."""
    one, two, parts = asker(rows), asker(rows, threads=2), [asker(half) for half in halves(rows)]
    least = dict.fromkeys(("one", "engine", "apart"), np.inf)
    for form in (one, two, *parts):  # compiling, first touch of memory
        form()
    for _ in range(rounds):
        for _ in range(PASSES):
            for name, ask in (("one", one), ("engine", two)):
                begun = time.perf_counter()
                ask()
                least[name] = min(least[name], time.perf_counter() - begun)
        least["apart"] = min(least["apart"], apart(parts))
    return {**least, "processes": processes(rows, rounds)}


def fits(rows: Rows, algo: str) -> dict[int, float]:
    """Return the least seconds of a fit over its gradients, by number of threads."""
    X, y, bounds = rows
    words = {"relation": RELATION, "n0": N0}
    problem = Problem(Logistic(), 0.0, X.shape[1], **words, **bounds)
    least = {1: np.inf, 2: np.inf}
    tables = {threads: Table.from_matrix(X, y, **bounds) for threads in least}
    engines = {threads: LocalEngine(table, threads=threads) for threads, table in tables.items()}
    for turn in range(FITS + 1):
        for threads, engine in engines.items():
            plan = make_plan(Settings(algo=algo, epsilon=EPSILON, delta=DELTA))
            session = TableSession(engine, plan.accountant, plan.relation, SystemNoise())
            begun = time.perf_counter()
            plan.optimizer.minimize(problem, session)
            taken = (time.perf_counter() - begun) / session.releases["gradient"]
            least[threads] = min(least[threads], taken if turn else np.inf)
    return least


def microseconds_to_wake(call: Callable[[Callable[[], None]], object]) -> str:
    """Return how long it takes until a thread is at work, while the caller is in a kernel."""
    busy, taken = np.zeros(2**20), []
    for _ in range(200):
        awake: list[float] = []
        begun = time.perf_counter()
        call(lambda awake=awake: awake.append(time.perf_counter()))
        busy.sum()  # which lets go of the interpreter
        while not awake:
            time.sleep(1e-5)
        taken.append(1e6 * (awake[0] - begun))
    return f"{min(taken):.0f} at least, median {np.median(taken):.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=8)
    rounds = parser.parse_args().rounds
    local._CELLS_PER_THREAD = 1
    for name, rows in arrays():
        found = measure(rows, rounds)
        shown = ", ".join(
            f"{form} {1e3 * found[form]:.2f} ({found['one'] / found[form]:.2f} times)"
            for form in ("engine", "apart", "processes")
        )
        print(f"{name}: one thread {1e3 * found['one']:.2f} ms; {shown} (to reach: {TO_REACH})")
        for algo in ALGOS:
            one, two = fits(rows, algo).values()
            print(f"    {algo}: {1e3 * one:.2f} and {1e3 * two:.2f} ({one / two:.2f} times)")
    print("microseconds until a waiting thread is at work:")
    print(f"    of the engine: {microseconds_to_wake(ThreadPool(1).call)}")
    print(f"    of an executor: {microseconds_to_wake(ThreadPoolExecutor(1).submit)}")


if __name__ == "__main__":
    main()
