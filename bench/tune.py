"""Does a search of parameters pay, at the same total budget as one fit by `auto`?

Fits of fresh splits, four fifths to train, one to test on; delta is 1e-8. For each table, epsilon
and split: `auto` on all rows to train, and searches whose whole budget is the same, over the l2 and
the clip of dp-gd: by a geometric and a logarithmic number of tries (mean 10) of all twelve
candidates, and by the list of the four l2. Small tables are samples of adult. `one` is the search
without its price: dp-gd at each of the twelve with all of the budget and rows, the best of them
picked on the test rows, which no budget covers.

Printed: mean test accuracy in % with its standard error, and how far each way is above auto, with
the standard error of the difference of pairs; a search that loses has a minus.

    DPCORE_DATA_DIR=... python bench/tune.py [--data adult] [--epsilon .5] [--splits 5]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
from pathlib import Path
from typing import Any

import numpy as np
from printed import OUT, keep, mean_and_error, parser_of

from dpcore.data.dataset import Dataset
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.rows.unbounded import encoded_rows
from dpcore.plugin.commands import Run
from dpcore.registry.catalogue import load_registry
from dpcore_tuning.candidates import grid_of
from dpcore_tuning.run import tune_dataset
from dpcore_tuning.search import make_search

NAMES = ("adult", "bank", "adult-1000", "adult-5000")
EPSILONS = (0.1, 1.0)
DELTA = 1e-8
L2: dict[str, Any] = {"l2": [0.0, 1e-3, 1e-2, 1e-1]}
GRID = grid_of({**L2, "clip": [0.05, 0.2, 0.8]})
SEARCHES: dict[str, tuple[Any, dict[str, Any]]] = {
    "geometric": (GRID, {"law": "geometric"}),
    "logarithmic": (GRID, {"law": "logarithmic"}),
    "list of 4": (grid_of(L2), {"kind": "list"}),
}
WAYS = ("auto", *SEARCHES, "one")


def split_of(name: str, seed: int) -> tuple[Dataset, Dataset]:
    """Return rows to train and to test on."""
    source, _, size = name.partition("-")
    data = load_registry().load("dataset", source)()
    order = np.random.default_rng(seed).permutation(data.n_units)
    whole = data.take(order)
    n = int(size) if size else len(order) * 4 // 5
    rows = np.arange(len(order))
    return whole.take(rows < n), whole.take((rows >= n) & (rows < n + 20_000))


def accuracy(model: Any, test: Dataset) -> float:
    X = encoded_rows(test, model.schema).X
    return 100 * float(np.mean((model.margins(X) > 0) == (test.y > 0)))


def measure(name: str, epsilon: float, seed: int) -> list[float]:
    """Return the accuracy of each way on one split."""
    train, test = split_of(name, seed)
    budget: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA}
    found = [accuracy(Run(make_plan(Settings(**budget)), train).model(), test)]
    for candidates, asked in SEARCHES.values():
        search = make_search(Settings(algo="dp-gd", **budget), candidates, **asked)
        found.append(accuracy(tune_dataset(search, train), test))
    plans = [
        make_plan(Settings(algo="dp-gd", l2=c["l2"], params={"clip": c["clip"]}, **budget))
        for c in GRID
    ]
    return [*found, max(accuracy(Run(plan, train).model(), test) for plan in plans)]


def main() -> None:
    parser = parser_of(__doc__, NAMES)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--out", type=Path, help=OUT)
    asked, kept = parser.parse_args(), []
    print(f"{'table':<12}{'epsilon':>8}  " + "".join(f"{way:>26}" for way in WAYS))
    for name in asked.data or NAMES:
        for epsilon in asked.epsilon or EPSILONS:
            found = np.array([measure(name, epsilon, seed) for seed in range(asked.splits)])
            cells = []
            for k, way in enumerate(WAYS):
                mean, error = mean_and_error(found[:, k])
                metrics = {"accuracy": f"{mean:.2f}", "error": f"{error:.2f}"}
                kept.append({"table": name, "epsilon": epsilon, "way": way} | metrics)
                cell = f"{mean:.2f} ({error:.2f})"
                if k:
                    cell += " {:+.2f} ({:.2f})".format(*mean_and_error(found[:, k] - found[:, 0]))
                cells.append(f"{cell:>26}")
            print(f"{name:<12}{epsilon:>8g}  " + "".join(cells), flush=True)
    keep(asked.out, kept)


if __name__ == "__main__":
    main()
