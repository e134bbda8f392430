"""What do few long steps of dp-gd cost, beside as many short ones as are stable for any rows?

Fits of `dp-gd` with the logistic loss, delta = 1e-8, of its default and of the same with the sum of
the step sizes cut into steps that swing on no rows at all (`--set steps=`; up to 400). Each pair is
of one fold in five, held out and tested on. Printed: mean test accuracy in % of both, the mean loss
by the default with the upper end of its one-sided 95 % interval, passes over the rows, and median
CPU seconds of a warm fit from the encoded rows to the model, on one thread.

    DPCORE_DATA_DIR=... python bench/few_passes.py [--pairs 100] [--data adult] [--epsilon .4]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from printed import mean_and_error, parser_of

from dpcore.data.blocks.table import Table
from dpcore.data.dataset import Dataset
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.losses.logistic import Logistic
from dpcore.plugin.commands import Run
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.registry.catalogue import load_registry
from dpcore_baselines.descent.defaults import MOST_STEPS, largest_step, time_for
from dpcore_baselines.dp_gd import DpGd
from dpcore_lab.compare.folds import fold_numbers

DATA = ("adult", "bank", "census-sim", "a9a")
EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
FOLDS = 5
_ONE_SIDED = 1.66


class Fold:
    """The rows that are trained on, and those held out."""

    def __init__(self, dataset: Dataset, held_out: np.ndarray) -> None:
        self.train, self._test = dataset.take(~held_out), dataset.take(held_out).table()
        self._table: Table = self.train.table()

    def fit(
        self, epsilon: float, params: Mapping[str, Any], algo: str = "dp-gd"
    ) -> tuple[float, float, Mapping[str, Any]]:
        """Return accuracy in %, CPU seconds and the details of a fit."""
        settings = Settings(algo=algo, epsilon=epsilon, delta=1e-8, threads=1, params=params)
        started = time.process_time()
        model = Run(
            make_plan(settings), self.train, kept_fraction=1 - 1 / FOLDS, table=self._table
        ).model()
        seconds = time.process_time() - started
        right = sum(
            int(np.count_nonzero((block.margins(model.w) > 0) == (block.y > 0)))
            for block in self._test.blocks
        )
        return 100 * right / self._test.n_rows, seconds, model.details


def folds_of(name: str) -> list[Fold]:
    dataset = load_registry().load("dataset", name)()
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    numbers = fold_numbers(name, dataset.X.shape[0], FOLDS, relation, key=None)
    return [Fold(dataset, numbers == number) for number in range(FOLDS)]


def short_steps(details: Mapping[str, Any]) -> int:
    """Return the number of steps that a fit's time takes where none is long for any rows."""
    loss, momentum = Logistic(), DpGd().momentum
    time_taken = time_for(details["u"], loss, momentum, standardized=True)
    fewest = math.ceil(time_taken / largest_step(loss, momentum))
    return min(MOST_STEPS, max(50, fewest))


def compare(name: str, folds: list[Fold], epsilon: float, pairs: int) -> None:
    """Print the line of one data set and epsilon."""
    long, short = [], []
    steps = short_steps(folds[0].fit(epsilon, {})[2])
    for pair in range(pairs):
        fold = folds[pair % FOLDS]
        long.append(fold.fit(epsilon, {}))
        short.append(fold.fit(epsilon, {"steps": steps}))
    loss = np.array([b[0] - a[0] for a, b in zip(long, short, strict=True)])
    below, error = mean_and_error(loss)
    passes = max(details["steps"] for *_, details in long) + 1
    accuracies = [float(np.mean([fit[0] for fit in fits])) for fits in (long, short)]
    seconds = [float(np.median([fit[1] for fit in fits])) for fits in (long, short)]
    print(
        f"{name:<11}{epsilon:>5g}{accuracies[0]:>9.2f}{accuracies[1]:>8.2f}{below:>+8.3f}"
        f"{below + _ONE_SIDED * error:>+8.3f}{passes:>8}{steps + 1:>6}"
        f"{seconds[0]:>9.3f}{seconds[1]:>8.3f}",
        flush=True,
    )


def main() -> None:
    parser = parser_of(__doc__, DATA)
    parser.add_argument("--pairs", type=int, default=100)
    chosen = parser.parse_args()
    print("           eps  default   short    loss   upper  passes short  seconds   short")
    for name in chosen.data or DATA:
        folds = folds_of(name)
        for epsilon in chosen.epsilon or EPSILONS:
            compare(name, folds, epsilon, chosen.pairs)


if __name__ == "__main__":
    main()
