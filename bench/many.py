"""How long do repeats of a fit take together, beside one after the other?

The default algorithm on four folds of adult in five, as `dpcore compare` fits it: coded rows, and
the same rows as a dense array, which counts as one of float64. Both ways are timed in turns, on one
thread and from the table to the models; the least CPU time of each counts. Models are equal to the
bit. Beside each is the time in passes over the rows: the rest is what no pass can share, as plan,
charges, noise and steps, and so the floor of the ratio.

    DPCORE_DATA_DIR=... python bench/many.py [--fits 20] [--rounds 4] [--algo auto]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from printed import parser_of

from dpcore.compare.folds import fold_numbers
from dpcore.data.blocks.table import Table
from dpcore.engines import together as engines
from dpcore.engines.local import LocalEngine
from dpcore.fitting.plan import make_plan
from dpcore.fitting.run import fit_dataset
from dpcore.fitting.settings import Settings
from dpcore.model.model import Model
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.registry.catalogue import load_registry

FOLDS = 5
RELATION = NeighboringRelation.ADD_OR_REMOVE_ONE
Fit = Callable[..., Model]


def fit(dataset: Any, table: Table, settings: Settings, seat: Any = None) -> Model:
    plan, engine = make_plan(settings), seat or Watched(table, threads=1)
    return fit_dataset(plan, dataset, kept_fraction=1 - 1 / FOLDS, table=table, engine=engine)


def apart(table: Table, fits: list[Fit]) -> list[Model]:
    return [one() for one in fits]


def together(table: Table, fits: list[Fit]) -> list[Model]:
    return [done.result() for done in engines.run_together(table, 1, fits)]


class Watched(LocalEngine):
    """Adds up the CPU time that it takes to answer, one thread's."""

    seconds = 0.0

    def answer(self, query: Any) -> np.ndarray:
        started = time.thread_time()
        try:
            return super().answer(query)
        finally:
            Watched.seconds += time.thread_time() - started


def least(ways: list[Callable[[], Any]], rounds: int) -> list[tuple[float, float]]:
    """Return the least CPU seconds of each, and those of its passes then, timed in turns, after one
    that does not count."""
    spent: list[list[tuple[float, float]]] = [[] for _ in ways]
    for _ in range(rounds + 1):
        for way, times in zip(ways, spent, strict=True):
            Watched.seconds, started = 0.0, time.process_time()
            way()
            times.append((time.process_time() - started, Watched.seconds))
    return [min(times[1:]) for times in spent]


def main() -> None:
    engines.LocalEngine = Watched  # type: ignore[misc]
    parser = parser_of(__doc__)
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--algo", default="auto")
    asked = parser.parse_args()
    (epsilon,) = asked.epsilon or (1.0,)
    whole = load_registry().load("dataset", "adult")()
    rows = fold_numbers("adult", whole.y.size, FOLDS, RELATION, key=None) != 0
    dataset = whole.take(rows)
    bounds = {"row_norm": whole.row_norm, "raw_norm_bound": whole.raw_norm_bound}
    dense = Table.from_matrix(dataset.X.toarray(), dataset.y, **bounds)
    settings = [
        Settings(algo=asked.algo, epsilon=epsilon, delta=1e-8, seed=seed, threads=1)
        for seed in range(asked.fits)
    ]
    print(f"{asked.fits} fits of {asked.algo}, epsilon {epsilon}, CPU ms a fit:")
    print("rows   one by one (passes)  together (passes)  ratio")
    for name, table in (("coded", dataset.table()), ("dense", dense)):
        fits: list[Fit] = [partial(fit, dataset, table, each) for each in settings]
        ends = [way(table, fits) for way in (apart, together)]
        assert all(np.array_equal(a.w, b.w) for a, b in zip(*ends, strict=True))
        found = least([partial(way, table, fits) for way in (apart, together)], asked.rounds)
        (one, passes), (shared, in_shared) = (
            [1e3 * seconds / asked.fits for seconds in times] for times in found
        )
        print(f"{name} {one:>10.1f} {passes:>9.1f} {shared:>9.1f} {in_shared:>9.1f}", end="")
        print(f"{shared / one:>8.2f}")


if __name__ == "__main__":
    main()
