"""How long does the default take on a NumPy array, beside reading it and beside diffprivlib?

Three arrays: adult without its intercept (48,842 x 108), and rows drawn here, 200,000 x 50 and
20,000 x 784, of length 1. Of each

* a gradient: of standardised rows, at a new point every time, as the default asks it, CPU ms on one
  thread, over those of one `np.sum` of the float64 array, beside its two products alone; and on
  two threads, by the clock;
* a fit: warm, from the array to the model, CPU s, over diffprivlib's at its default, each the least
  of a few, in an environment as `fit.py` makes them;
* the rows: the peak of memory while they are made from the array, over the array's size.

    DPCORE_DATA_DIR=... python bench/dense.py [--environments FOLDER] [--rounds 3]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fit import has_environment, other_fits
from peak import peak_bytes

from dpcore import Threads, fit
from dpcore.engines.local import LocalEngine
from dpcore.errors import DpcoreWarning
from dpcore.exact.grid import BLOCK_ROWS
from dpcore.losses.logistic import Logistic
from dpcore.plugin.parts import dataset_from_arrays
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.protocols.problem import Problem
from dpcore.registry.catalogue import load_registry
from dpcore_baselines.queries.standardization import Standardization
from dpcore_baselines.queries.standardized import StandardizedGradientSum

GRADIENT, THREADS, FITS, MEMORY = 1.2, 1.6, 4.0, 2.0
"""To reach."""
EPSILON, DELTA = 1.0, 1e-6
_ALONE = "--one"


@dataclass(frozen=True)
class Rows:
    X: np.ndarray
    y: np.ndarray
    norm: float


def adult() -> Rows:
    data = load_registry().load("dataset", "adult")()
    X = np.ascontiguousarray(data.X.toarray()[:, :-1])
    return Rows(X, data.y, float(np.sqrt(data.row_norm**2 - 1.0)))


def drawn(n_rows: int, width: int, density: float) -> Rows:
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, width))
    X *= rng.random((n_rows, width)) < density
    X /= np.maximum(np.sqrt(np.square(X).sum(axis=1)), 1e-9)[:, np.newaxis]
    z = X @ rng.standard_normal(width)
    noise = 0.1 * z.std() * rng.standard_normal(n_rows)
    return Rows(X, np.where(z + noise > np.median(z), 1.0, -1.0), 1.0)


ARRAYS: dict[str, Callable[[], Rows]] = {
    "48,842 x 108": adult,
    "200,000 x 50": lambda: drawn(200_000, 50, 1.0),
    "20,000 x 784": lambda: drawn(20_000, 784, 0.2),
}


def gradient_of(rows: Rows, threads: int) -> Callable[[], object]:
    """Return what asks for one gradient at a new point."""
    norm = float(np.sqrt(rows.norm**2 + 1.0))
    engine = LocalEngine(dataset_from_arrays(rows.X, rows.y, row_norm=norm).table(), threads)
    width, relation = rows.X.shape[1] + 1, NeighboringRelation.ADD_OR_REMOVE_ONE
    problem = Problem(Logistic(), 0.0, width, row_norm=norm, raw_norm_bound=norm, relation=relation)
    columns = Standardization.nearest(np.full(width, 2.0), np.full(width, 0.1), width - 1)
    rng = np.random.default_rng(1)

    def ask() -> object:
        w = 0.1 * rng.standard_normal(width)
        return engine.answer(StandardizedGradientSum(problem, w, columns, 1.0, 1e3))

    return ask


def products_of(rows: Rows) -> Callable[[], object]:
    """Return what takes the two products of a gradient alone: no slopes, clips or whole numbers."""
    norm = float(np.sqrt(rows.norm**2 + 1.0))
    table = dataset_from_arrays(rows.X, rows.y, row_norm=norm).table()
    rng = np.random.default_rng(1)
    given = np.ldexp(rng.integers(-1000, 1000, BLOCK_ROWS).astype(np.float64), -20)

    def ask() -> object:
        w = 0.1 * rng.standard_normal(table.n_features)
        return [block.sum_at(w, lambda z, part: given[part]) for block in table.blocks]

    return ask


def least(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, tuple[float, float]]:
    """Return CPU seconds and seconds by the clock of each call, the least of its rounds."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(rounds + 2):
        for name, call in calls.items():
            cpu, wall = time.process_time(), time.perf_counter()
            call()
            times[name].append((time.process_time() - cpu, time.perf_counter() - wall))
    return {
        name: (min(cpu for cpu, _ in found[2:]), min(wall for _, wall in found[2:]))
        for name, found in times.items()
    }


def print_gradient(name: str, rows: Rows) -> None:
    calls = {"one": gradient_of(rows, 1), "two": gradient_of(rows, 2), "sum": rows.X.sum}
    found = least({**calls, "products": products_of(rows)}, 60)
    one, reading, products = (found[name][0] for name in ("one", "sum", "products"))
    print(
        f"{name}: a gradient {1e3 * one:.2f} ms, a sum of the array {1e3 * reading:.2f}: "
        f"{one / reading:.2f} times (to reach: {GRADIENT}), its two products alone "
        f"{products / reading:.2f}; one thread / two threads "
        f"{found['one'][1] / found['two'][1]:.2f} (to reach: {THREADS})"
    )


def print_fit(name: str, rows: Rows, folder: Path | None, rounds: int) -> None:
    words = {"epsilon": EPSILON, "delta": DELTA, "engine": Threads(count=1)}
    norm = float(np.sqrt(rows.norm**2 + 1.0))
    calls = {"fit": lambda: fit(rows.X, rows.y, row_norm=norm, **words)}
    ours = least(calls, rounds)["fit"][0]
    line = f"{name}: a fit {ours:.3f} s"
    if has_environment(folder, "diffprivlib"):
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "rows.npz"
            both = {"X_train": rows.X, "X_test": rows.X[:10], "y_train": rows.y}
            np.savez(path, y_test=rows.y[:10], data_norm=rows.norm, **both)
            fits = other_fits("diffprivlib", folder, [path] * rounds, EPSILON)
        theirs = min(found["cpu"] for found in fits["diffprivlib, C=1 (default)"])
        line += f", diffprivlib's {theirs:.3f}: {ours / theirs:.2f} times (to reach: {FITS:.0f})"
    print(line)


def peak_over_size(folder: str) -> float:
    """Return the peak while this process makes blocks of an array, above what it held with the
    array, over the array's size."""
    X, y = (np.load(Path(folder) / f"{name}.npy") for name in "Xy")
    for n_rows in (100, len(y)):  # first a few: kernels and libraries take memory too
        before = peak_bytes()
        table = dataset_from_arrays(X[:n_rows], y[:n_rows], row_norm=1.5).table()
        assert table.n_rows == n_rows
    return (peak_bytes() - before) / X.nbytes


def print_memory(name: str, rows: Rows) -> None:
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", rows.X)
        np.save(Path(folder) / "y.npy", rows.y)
        command = [sys.executable, __file__, _ALONE, folder]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
    print(f"{name}: made into rows, {done.stdout.strip()} times its size (to reach: {MEMORY:.0f})")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--environments", type=Path, metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    for name, make in ARRAYS.items():
        rows = make()
        print_gradient(name, rows)
        print_fit(name, rows, chosen.environments, chosen.rounds)
        print_memory(name, rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore", DpcoreWarning)
    if sys.argv[1:2] == [_ALONE]:
        print(f"{peak_over_size(sys.argv[2]):.2f}")
    else:
        main()
