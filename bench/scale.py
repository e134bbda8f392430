"""What does a row cost, in time and memory, from 10^4 to 10^7 rows?

Coded rows, drawn with replacement from census-sim and put into blocks chunk by chunk: no dense copy
and no second one. Each size and clip is a process of its own, whose peak memory is read after the
fits.

    pass  one clipped gradient and 21 losses through the engine, along a path of gradient descent;
    step  the same inside a session: a dp-agd fit with its noise, over its number of steps;
    fit   one whole fit by auto, in seconds by the clock, and its gradients.

Numbers are ns per row: the median of CPU times and the smallest wall time. The ratio, of CPU times
for one thread and of wall times for several, compares with the smaller of the numbers at 10^4 and
10^5 rows, which fit the processor's caches. Checked on the way: the sum of gradients stays inside
62 bits by ``coefficient_bits``, and threads, parts of the table, and blocks cut elsewhere add up to
the same answers.

    python bench/scale.py [--rows 1e4 --rows 1e7] [--clip 1 --clip 3] [--threads 1 --threads 2]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from multiprocessing import get_context
from typing import Any

import numpy as np
from peak import peak_bytes

from dpcore.data.blocks.table import Table
from dpcore.engines.local import LocalEngine
from dpcore.exact.grid import (
    BLOCK_ROWS,
    DIRECTION_BITS,
    FEATURE_BITS,
    STEP_BITS,
    coefficient_bits,
    round_parameters,
    round_to,
)
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.losses.logistic import Logistic
from dpcore.noise.source import SystemNoise
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.protocols.problem import Problem
from dpcore.queries import ClippedGradientSum
from dpcore.registry.catalogue import load_registry
from dpcore.session.session import TableSession
from dpcore_dp_agd.loss_line import ClippedLossLine
from dpcore_tables.coded import CodedRows

RELATION = NeighboringRelation.ADD_OR_REMOVE_ONE
STEPS = np.arange(21) * round_to(0.1, STEP_BITS)
TAKEN = STEPS[3]
LOSS_CLIP = 3.0
CHUNK = 16 * BLOCK_ROWS
CACHED = (10**4, 10**5)
RATIO_TO_REACH = 1.5
CUT_ROWS = 10**6
"""Up to so many rows the table is also built with blocks of another size."""
PASS_ROWS, FIT_ROWS = 3 * 10**7, 3 * 10**7
"""Rows to go over, all repetitions together; but three passes and one fit at least."""
EPSILON, FIT_STEPS = 4.0, 8

Clocks = tuple[float, float]
"""ns per row: the median of CPU times, the smallest wall time."""


@dataclass
class Findings:
    """Of one process: times by number of threads, seconds and gradients of a fit by auto, the peak
    of memory in bytes, the headroom of the sums in bits, and whether all answers agree."""

    n_rows: int
    clip: float
    passes: dict[int, Clocks] = field(default_factory=dict)
    steps: dict[int, Clocks] = field(default_factory=dict)
    fits: dict[int, tuple[float, int]] = field(default_factory=dict)
    peak: int = 0
    headroom: float = 0.0
    agree: bool = True


class Rows:
    """Rows of census-sim drawn with replacement from a seed: the same ones every time."""

    def __init__(self, n_rows: int) -> None:
        self._source = load_registry().load("dataset", "census-sim")()
        self.n_rows, self.n_features = n_rows, int(self._source.X.shape[1])
        self.bounds = {
            "row_norm": self._source.row_norm,
            "raw_norm_bound": self._source.raw_norm_bound,
        }

    def chunks(self) -> Iterator[tuple[CodedRows, np.ndarray]]:
        stream = np.random.default_rng(self.n_rows)
        for begin in range(0, self.n_rows, CHUNK):
            rows = stream.integers(self._source.y.size, size=min(CHUNK, self.n_rows - begin))
            yield self._source.X[rows], self._source.y[rows]

    def table(self, cut: int | None = None) -> Table:
        """Return the table; ``cut`` : make blocks that end after so many rows of a chunk, too."""
        blocks: list[Any] = []
        for X, y in self.chunks():
            for part in (slice(None),) if cut is None else (slice(cut, None), slice(cut)):
                blocks += Table.from_matrix(X[part], y[part], **self.bounds).blocks
        return Table(blocks, n_features=self.n_features, **self.bounds)

    def problem(self) -> Problem:
        return Problem(
            Logistic(), 0.0, self.n_features, relation=RELATION, n0=self.n_rows, **self.bounds
        )


def answers_at(
    engine: LocalEngine, problem: Problem, clip: float, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the gradient and the 21 losses at a point, in grid steps, and the next point."""
    gradient = engine.answer(ClippedGradientSum(problem, w, clip))
    direction = gradient.astype(np.float64)
    direction = round_to(direction / np.linalg.norm(direction), DIRECTION_BITS)
    losses = engine.answer(ClippedLossLine(problem, w, direction, STEPS, LOSS_CLIP))
    return gradient, losses, round_parameters(w - TAKEN * direction, problem.raw_norm_bound)


def fixed_answers(table: Table, problem: Problem, clip: float, threads: int = 1) -> np.ndarray:
    """Return a gradient and 21 losses at a seeded point along a seeded direction, in grid steps."""
    w, direction = np.random.default_rng(1).normal(size=(2, problem.n_features))
    direction = round_to(direction / np.linalg.norm(direction), DIRECTION_BITS)
    engine = LocalEngine(table, threads=threads)
    gradient = engine.answer(ClippedGradientSum(problem, w, clip))
    losses = engine.answer(ClippedLossLine(problem, w, direction, STEPS, LOSS_CLIP))
    return np.concatenate([gradient, losses])


def timed(call: Callable[[], Any]) -> tuple[Any, np.ndarray]:
    """Return the call's result, and its seconds of CPU and of wall time."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = call()
    return result, np.array([time.process_time() - cpu, time.perf_counter() - wall])


def time_passes(engine: LocalEngine, problem: Problem, clip: float, n_rows: int) -> Clocks:
    w, seconds = np.zeros(problem.n_features), []
    for _ in range(max(3, min(200, PASS_ROWS // n_rows)) + 1):
        (_, _, w), spent = timed(lambda w=w: answers_at(engine, problem, clip, w))
        seconds.append(spent)
    return _per_row(seconds[1:], n_rows)


def time_fits(engine: LocalEngine, problem: Problem, clip: float, n_rows: int) -> Clocks:
    """Return the time of a fit's step: of all that a fit does, over its selections."""
    params = {"steps": FIT_STEPS, "clip": clip}
    spent = []
    for _ in range(max(1, min(10, FIT_ROWS // (FIT_STEPS * n_rows))) + (n_rows < FIT_ROWS)):
        plan = make_plan(Settings(algo="dp-agd", epsilon=EPSILON, params=params))
        session = TableSession(engine, plan.accountant, plan.relation, SystemNoise())
        _, seconds = timed(lambda p=plan, s=session: p.optimizer.minimize(problem, s))
        spent.append(seconds / session.releases["selection"])
    return _per_row(spent, n_rows)


def time_default(engine: LocalEngine, problem: Problem) -> tuple[float, int]:
    """Return the seconds by the clock of a fit by auto, and the gradients that it released."""
    plan = make_plan(Settings(algo="auto", epsilon=EPSILON, delta=1e-8))
    session = TableSession(engine, plan.accountant, plan.relation, SystemNoise())
    _, seconds = timed(lambda: plan.optimizer.minimize(problem, session))
    return float(seconds[1]), session.releases["gradient"]


def _per_row(seconds: list[np.ndarray], n_rows: int) -> Clocks:
    cpu, wall = np.transpose(seconds) * 1e9 / n_rows
    return float(np.median(cpu)), float(wall.min())


def headroom(table: Table, problem: Problem, clip: float) -> float:
    """Return the bits between 2^62 and the largest sum that so many rows could have.

    Raises SystemExit if the blocks' sums, added up without a limit, leave 62 bits.
    """
    query = ClippedGradientSum(problem, np.full(problem.n_features, 0.5), clip)
    bits = coefficient_bits(clip, problem.capacity)
    total = sum(query.answer_block(block).astype(object) for block in table.blocks)
    largest = table.n_rows * Fraction(clip) * 2 ** (FEATURE_BITS + bits)
    if query.bits != bits or max(map(abs, total)) > largest or largest >= 2**62:
        raise SystemExit(f"At {table.n_rows} rows, clip {clip:g}: the sum leaves 62 bits.")
    return 62 - math.log2(largest)


def measure(n_rows: int, clip: float, threads: list[int]) -> Findings:
    rows = Rows(n_rows)
    table, problem = rows.table(), rows.problem()
    found = Findings(n_rows, clip)
    for count in threads:
        engine = LocalEngine(table, threads=count)
        found.passes[count] = time_passes(engine, problem, clip, n_rows)
        found.steps[count] = time_fits(engine, problem, clip, n_rows)
        found.fits[count] = time_default(engine, problem)
    found.peak = peak_bytes()
    found.headroom = headroom(table, problem, clip)
    found.agree = agree(rows, table, problem, clip, threads)
    return found


def agree(rows: Rows, table: Table, problem: Problem, clip: float, threads: list[int]) -> bool:
    """Return whether threads, parts of the table and blocks cut elsewhere add up to one answer."""
    expected = fixed_answers(table, problem, clip)
    answers = [fixed_answers(table, problem, clip, count) for count in threads]
    third = len(table.blocks) // 3
    parts = [table.blocks[third:][::-1], table.blocks[:third]]
    tables = [Table(part, n_features=rows.n_features, **rows.bounds) for part in parts]
    answers.append(sum(fixed_answers(part, problem, clip) for part in tables))
    if rows.n_rows <= CUT_ROWS:
        answers.append(fixed_answers(rows.table(cut=5000), problem, clip))
    return all(np.array_equal(expected, answer) for answer in answers)


def report(results: list[Findings], threads: list[int]) -> None:
    print("ns per row: CPU / wall, and in brackets the ratio to the cache-sized point")
    columns = [f"{what}, {count} thr." for count in threads for what in ("pass", "step")]
    print(f"{'rows':>9}{'clip':>6}" + "".join(f"{column:>26}" for column in columns))
    worst: dict[str, float] = {}
    for found in results:
        cells = []
        for count, name in product(threads, ("passes", "steps")):
            ratio = _ratio(results, found, name, count)
            cpu, wall = getattr(found, name)[count]
            cells.append(f"{cpu:>10.1f} / {wall:.1f} ({ratio:.2f})")
            key = f"{name}, {count} thread{'s' * (count > 1)}"
            if found.n_rows > max(CACHED):
                worst[key] = max(worst.get(key, 0.0), ratio)
        print(f"{found.n_rows:>9}{found.clip:>6g}" + "".join(f"{cell:>26}" for cell in cells))
    print()
    for key, ratio in worst.items():
        print(f"{key}: at most {ratio:.2f} times it (to reach: {RATIO_TO_REACH} or less)")
    _print_fits(results)
    _print_memory(results)


def _ratio(results: list[Findings], found: Findings, name: str, count: int) -> float:
    """Return the time per row over the smaller one of the cache-sized points: CPU or wall."""
    clock = 0 if count == 1 else 1
    points = [getattr(f, name)[count][clock] for f in results if f.clip == found.clip]
    n_cached = sum(f.clip == found.clip and f.n_rows <= max(CACHED) for f in results)
    return getattr(found, name)[count][clock] / min(points[: max(1, n_cached)])


def _print_fits(results: list[Findings]) -> None:
    for found in results:
        for count, (seconds, gradients) in found.fits.items():
            told = f"{found.n_rows} rows, {count} thread{'s' * (count > 1)}: a fit by auto takes"
            print(f"{told} {seconds:.2f} s, {gradients} gradients")


def _print_memory(results: list[Findings]) -> None:
    for found in results:
        smallest = next(other for other in results if other.clip == found.clip)
        more = ""
        if found is not smallest:
            bytes_per_row = (found.peak - smallest.peak) / (found.n_rows - smallest.n_rows)
            more = f", {bytes_per_row:.0f} bytes per row above the smallest"
        print(
            f"{found.n_rows} rows, clip {found.clip:g}: peak {found.peak / 2**20:.0f} MiB{more}; "
            f"{found.headroom:.1f} bits below 2^62; all answers agree: {found.agree}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, action="append", help="default: 1e4 to 1e7")
    parser.add_argument("--clip", type=float, action="append", help="default: 1 and 3")
    parser.add_argument("--threads", type=int, action="append", help="default: 1 and all")
    chosen = parser.parse_args()
    sizes = sorted({int(rows) for rows in chosen.rows or (1e4, 1e5, 1e6, 1e7)})
    threads = sorted(set(chosen.threads or (1, LocalEngine.available_threads())))
    clips = sorted(set(chosen.clip or (1.0, 3.0)))
    started, results = time.perf_counter(), []
    for clip, n_rows in product(clips, sizes):
        # A process for each, so that its peak of memory is its own.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            results.append(pool.submit(measure, n_rows, clip, threads).result())
    report(results, threads)
    print(f"\n{time.perf_counter() - started:.0f} s")
    if not all(found.agree for found in results):
        raise SystemExit("Answers differ between partitions of the same rows.")


if __name__ == "__main__":
    main()
