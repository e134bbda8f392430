"""How fast are one clipped gradient and 21 candidate losses on adult?

Of gradients there are two numbers: at a point where margins are kept along a line, as dp-agd asks
them, and at a new point, as the default does; the second also over the time of one `np.sum` of the
float64 array, and on two threads.

Against the same formulas in plain NumPy (``authors_numpy.py``), and against the same kernels with
float accumulators (``float_twin.py``), all on one thread; then on two. Forms take turns, and each
makes a few steps of descent in a row, along one path, so that it works with the caches and the kept
margins that it has in a fit; the first of them is not counted. Numbers are medians of CPU time (on
two threads, of wall time). Beside them: rows a second, and what part of the memory bandwidth of the
same run they are.

    DPCORE_DATA_DIR=... python bench/kernels.py [--repeats 40]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import authors_numpy
import numpy as np
from float_twin import FloatEngine, FloatGradient, FloatLine

from dpcore.data.blocks.table import Table
from dpcore.engines.local import LocalEngine
from dpcore.exact.grid import BLOCK_ROWS, DIRECTION_BITS, STEP_BITS, round_parameters, round_to
from dpcore.losses.logistic import Logistic
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.protocols.problem import Problem
from dpcore.queries import ClippedGradientSum
from dpcore.registry.catalogue import load_registry
from dpcore_dp_agd.logistic_line import logistic_totals
from dpcore_dp_agd.loss_line import ClippedLossLine

CLIP, LOSS_CLIP = 1.0, 3.0
STEPS = np.arange(21) * round_to(0.1, STEP_BITS)
TAKEN = STEPS[3]
EXPECTED_MS = {"gradient": 53.0, "losses": 112.0}
"""CPU time of the authors' form on 2 cores, x86-64 with AVX-512, as reported to us."""
LAYOUTS = ("coded", "csr", "dense")
READING, THREADS = 1.2, 1.6
"""To reach where no margins are kept, of dense rows: times the sum of the array; one thread over
two."""
STEPS_IN_A_ROW = 5
SPEED, EXACTNESS = 55.0, 1.10
"""To reach on coded blocks: times the authors' form, and exact sums over float accumulators."""
BYTES_PER_ROW = {"coded": 36, "csr": 14 * 8 + 4, "dense": 109 * 8}
"""A stored row of adult: 7 numbers and 8 codes; 14 values, each with its place; 109 values."""
RELATION = NeighboringRelation.ADD_OR_REMOVE_ONE

Times = dict[tuple[str, str], list[float]]


class Exact:
    """dpcore's queries through its engine, on one layout of the rows."""

    def __init__(self, dataset: Any, X: Any, threads: int = 1) -> None:
        bounds = {"row_norm": dataset.row_norm, "raw_norm_bound": dataset.raw_norm_bound}
        table = Table.from_matrix(X, dataset.y, **bounds)
        self._engine: Any = LocalEngine(table, threads=threads)
        self._problem = Problem(Logistic(), 0.0, X.shape[1], relation=RELATION, **bounds)

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return self._answer(ClippedGradientSum(self._problem, w, CLIP))

    def losses(self, w: np.ndarray, direction: np.ndarray) -> np.ndarray:
        return -self._answer(ClippedLossLine(self._problem, w, direction, STEPS, LOSS_CLIP))

    def _answer(self, query: Any) -> np.ndarray:
        bits = query.sensitivity(RELATION).grid_bits
        return np.ldexp(self._engine.answer(query).astype(np.float64), -bits)


class Floats(Exact):
    """The same queries with float accumulators."""

    def __init__(self, dataset: Any, X: Any) -> None:
        super().__init__(dataset, X)
        bounds = {"row_norm": dataset.row_norm, "raw_norm_bound": dataset.raw_norm_bound}
        self._engine = FloatEngine(Table.from_matrix(X, dataset.y, **bounds))

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return self._engine.answer(FloatGradient(self._problem, w, CLIP))

    def losses(self, w: np.ndarray, direction: np.ndarray) -> np.ndarray:
        return self._engine.answer(FloatLine(self._problem, w, direction, STEPS, LOSS_CLIP))


class Authors:
    """The published formulas in NumPy on a dense matrix."""

    def __init__(self, dataset: Any, losses: Callable[..., np.ndarray]) -> None:
        self._X, self._y = np.ascontiguousarray(dataset.X.toarray()), dataset.y
        self._losses = losses

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return authors_numpy.clipped_gradient(self._X, self._y, w, CLIP)

    def losses(self, w: np.ndarray, direction: np.ndarray) -> np.ndarray:
        W = w - STEPS[:, np.newaxis] * direction
        return self._losses(self._X, self._y, W, LOSS_CLIP)


class Race:
    """All forms, along one path of gradient descent, with the ms of every call."""

    def __init__(self, dataset: Any) -> None:
        self.times: Times = defaultdict(list)
        self.difference = 0.0
        self.n_rows = dataset.y.size
        self._bound = dataset.raw_norm_bound
        matrices = {"coded": dataset.X, "csr": dataset.X.tocsr(), "dense": dataset.X.toarray()}
        self._forms: dict[str, Any] = {
            "authors": Authors(dataset, authors_numpy.losses_one_by_one),
            "product": Authors(dataset, authors_numpy.losses_in_one_product),
        }
        for name in LAYOUTS:
            self._forms[f"exact {name}"] = Exact(dataset, matrices[name])
            self._forms[f"float {name}"] = Floats(dataset, matrices[name])
            self._forms[f"two threads {name}"] = Exact(dataset, matrices[name], threads=2)
        self._array = matrices["dense"]
        self._path = self._descent(np.zeros(dataset.X.shape[1]))

    def run(self, repeats: int) -> None:
        for repeat in range(repeats + 1):
            started = time.process_time()
            self._array.sum()
            self.times["sum", "fresh"].append(1e3 * (time.process_time() - started))
            answers = [self._steps(name, form) for name, form in self._forms.items()]
            for answer in answers[1:]:
                scale = np.abs(answers[0]).max()
                worst = float(np.abs(answer - answers[0]).max() / scale)
                self.difference = max(self.difference, worst)
            if repeat == 0:  # compiling, first touch of memory
                self.times.clear()

    def _descent(self, w: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the points and directions of a few steps, there and back, so that a path that is
        run again goes on where it ended."""
        path = []
        for _ in range(STEPS_IN_A_ROW):
            gradient = self._forms["exact coded"].gradient(w)
            direction = round_to(gradient / np.linalg.norm(gradient), DIRECTION_BITS)
            path.append((w, direction))
            w = round_parameters(w - TAKEN * direction, self._bound)
        return path

    def _steps(self, name: str, form: Any) -> np.ndarray:
        clock = time.perf_counter if name.startswith("two") else time.process_time
        steps = self._path[:2] if name in ("authors", "product") else self._path
        if steps is self._path:  # elsewhere: the other forms took the caches, and margins are kept
            form.gradient(np.full_like(self._path[0][0], 0.01))
        for i, (w, direction) in enumerate(steps):
            started = clock()
            gradient = form.gradient(w)
            between = clock()
            losses = form.losses(w, direction)
            ended = clock()
            part = "gradient" if i else "fresh"
            self.times[name, part].append(1e3 * (between - started))
            if i:
                self.times[name, "losses"].append(1e3 * (ended - between))
            if i == 1:
                answer = np.concatenate([gradient, losses])
        return answer


def bandwidth() -> float:
    """Return the bytes a second at which one thread sums up an array that no cache holds."""
    cells = np.ones(2**25)
    best = np.inf
    for _ in range(5):
        started = time.perf_counter()
        cells.sum()
        best = min(best, time.perf_counter() - started)
    return cells.nbytes / best


def report(race: Race, bytes_per_second: float) -> None:
    ms = {key: float(np.median(values)) for key, values in race.times.items()}
    for form in {form for form, part in ms if part == "losses"}:
        ms[form, "together"] = ms[form, "gradient"] + ms[form, "losses"]
    names = {"authors": "NumPy, candidate by candidate", "product": "NumPy, X @ W.T"}
    parts = ("gradient", "losses", "together")
    print("adult, one clipped gradient and 21 losses: median ms, and in brackets how many times")
    print("faster than NumPy candidate by candidate / than NumPy with X @ W.T")
    print(f"{'':<30}" + "".join(f"{part:>21}" for part in parts))
    kinds = ("exact", "float", "two threads")
    forms = [f"{kind} {name}" for name in LAYOUTS for kind in kinds]
    for form in ("authors", "product", *forms):
        cells = (_cell(ms, form, part) for part in parts)
        print(f"{names.get(form, form):<30}" + "".join(f"{cell:>21}" for cell in cells))
    print_fresh(race)
    print()
    for part, expected in EXPECTED_MS.items():
        deviation = ms["authors", part] / expected - 1
        print(f"{names['authors']}, {part}: {deviation:+.0%} against {expected:.0f} ms expected")
    for name in LAYOUTS:
        ratio = ms[f"exact {name}", "together"] / ms[f"float {name}", "together"]
        gradient = ms[f"exact {name}", "gradient"] / ms[f"float {name}", "gradient"]
        line = ms[f"exact {name}", "losses"] / ms[f"float {name}", "losses"]
        print(
            f"exact sums / float accumulators, {name}: {ratio:.2f} (gradient {gradient:.2f}, "
            f"losses {line:.2f}; to reach: {EXACTNESS:.2f} or less)"
        )
    for form in ("authors", "product"):
        speeds = (ms[form, "together"] / ms[f"exact {name}", "together"] for name in LAYOUTS)
        shown = ", ".join(f"{s:.1f} {name}" for s, name in zip(speeds, LAYOUTS, strict=True))
        aim = f"  (to reach on coded: {SPEED:.0f} or more)" if form == "authors" else ""
        print(f"{names[form]} / exact: {shown}{aim}")
    for name in LAYOUTS:
        ratio = ms[f"exact {name}", "together"] / ms[f"two threads {name}", "together"]
        print(f"one thread / two threads, {name}: {ratio:.2f}")
    print(f"largest difference between answers, of the largest entry: {race.difference:.0e}")
    print(f"memory, one thread: {bytes_per_second / 1e9:.1f} GB a second")
    for name, size in BYTES_PER_ROW.items():
        rows = race.n_rows / ms[f"exact {name}", "gradient"] * 1e3
        share = rows * size / bytes_per_second
        print(
            f"gradient, {name}: {rows / 1e6:.0f} million rows a second, {size} bytes each: "
            f"{share:.0%} of that"
        )


def print_fresh(race: Race) -> None:
    """Print the gradients where no margins are kept: the least of each, beside other work."""
    least = {form: min(found) for (form, part), found in race.times.items() if part == "fresh"}
    for name in LAYOUTS:
        one, reading = least[f"exact {name}"], least["sum"]
        print(
            f"exact {name}, gradient where no margins are kept: {one:.2f}, "
            f"{one / reading:.2f} times a sum of the array (to reach on dense: {READING}), "
            f"over float accumulators {one / least[f'float {name}']:.2f}, one thread / two threads "
            f"{one / least[f'two threads {name}']:.2f} (to reach on dense: {THREADS})"
        )


def print_loop(n_rows: int) -> None:
    """Print what the losses themselves take of 21 candidates, beside margins and all else."""
    rng, blocks = np.random.default_rng(0), -(-n_rows // BLOCK_ROWS)
    z, along = rng.standard_normal((2, BLOCK_ROWS))
    line, y = (z, along, np.ones(BLOCK_ROWS)), np.sign(rng.standard_normal(BLOCK_ROWS))
    least = {1: np.inf, STEPS.size: np.inf}
    for _ in range(400):
        for count in least:
            started = time.process_time()
            logistic_totals(line, y, STEPS[1], count, LOSS_CLIP, 2.0**20)
            least[count] = min(least[count], time.process_time() - started)
    loop = (least[STEPS.size] - least[1]) / (STEPS.size - 1)
    print(
        f"21 losses, their loop alone: {1e3 * least[STEPS.size] * blocks:.2f} ms, "
        f"{1e9 * loop / BLOCK_ROWS:.2f} ns for one more of a row"
    )


def _cell(ms: dict[tuple[str, str], float], form: str, part: str) -> str:
    """Return a time with its two ratios."""
    here = ms[form, part]
    return f"{here:.2f} ({ms['authors', part] / here:.1f} / {ms['product', part] / here:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=40)
    repeats = parser.parse_args().repeats
    race = Race(load_registry().load("dataset", "adult")())
    race.run(repeats)
    report(race, bandwidth())
    print_loop(race.n_rows)


if __name__ == "__main__":
    main()
