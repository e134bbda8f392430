"""Does `newton` reach what `auto` does in a dozen passes, and how long do its fits take?

Two parts, each of them side by side in one run, on one thread; CPU seconds are the least of the
fits of a cell, as other programs meet all forms alike:

* accuracy: adult and a9a, five folds, delta = 1e-8, and 40,000 generated rows of 60 columns that
  ten factors move, tested on as many others. Mean accuracy in % and log loss of `auto`,
  `dp-gd` whose numbers are lines as those of `newton` are, `newton`, the same with and without a
  Hessian, and the paper's preset; passes (gradients).
* time: arrays of `dense.py` (48,842 x 108, 200,000 x 50, 20,000 x 784), epsilon 1, delta = 1e-6,
  from the array to the model, with the accuracy on the same rows; over `auto`'s, and over
  diffprivlib's at its default in an environment as `fit.py` makes them.

    DPCORE_DATA_DIR=... python bench/newton.py [--environments FOLDER] [--repeats 2] [--rounds 3]
        [--part accuracy] [--part time]

Results are appended, cell by cell, to `bench/results/newton.csv`.
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import csv
import math
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from dense import ARRAYS, DELTA, Rows
from fit import has_environment, other_fits
from printed import mean_and_error, parser_of

from dpcore import fit
from dpcore.errors import DpcoreWarning
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.rows.unbounded import encoded_rows
from dpcore.plugin.commands import Run
from dpcore.plugin.parts import Dataset, dataset_from_arrays, load_registry
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore_lab.compare.folds import fold_numbers

RESULTS = Path(__file__).parent / "results" / "newton.csv"
COLUMNS = ("part", "data", "epsilon", "algorithm", "passes", "hessians", "accuracy", "error")
MORE_COLUMNS = ("log_loss", "cpu_seconds", "over_auto", "over_diffprivlib")
EPSILONS, FOLDS = (0.1, 0.4, 1.0, 4.0), 5
ALGORITHMS: Mapping[str, tuple[str, str | None, Mapping[str, Any]]] = {
    "auto": ("auto", None, {}),
    "dp-gd, lines": ("dp-gd", None, {"curves": "none"}),
    "newton": ("newton", None, {}),
    "newton, a Hessian": ("newton", None, {"hessians": 1}),
    "newton, none": ("newton", None, {"hessians": 0}),
    "newton:paper": ("newton", "paper", {}),
}
_FEW = {"newton:paper": 3}
"""Fits of a cell, where they are fewer than of the others: each takes a second."""
_TABLES = ("dp-gd, lines", "newton:paper")
"""Those that are fitted to tables alone."""


@dataclass(frozen=True)
class Split:
    train: Dataset
    test: Dataset

    def fit(self, name: str, epsilon: float) -> tuple[float, float, float, Mapping[str, Any]]:
        """Return accuracy in %, log loss, CPU seconds and details."""
        algo, preset, params = ALGORITHMS[name]
        words = {"epsilon": epsilon, "delta": 1e-8, "threads": 1, "params": params}
        settings = Settings(algo=algo, preset=preset, **words)
        started = time.process_time()
        model = Run(make_plan(settings), self.train, kept_fraction=1 - 1 / FOLDS).model()
        seconds = time.process_time() - started
        rows, y = encoded_rows(self.test, model.schema).X, self.test.y
        z = (rows if isinstance(rows, np.ndarray) else rows.tocsr()) @ model.w
        loss = float(np.logaddexp(0.0, -y * z).mean())
        return 100 * float(((z > 0) == (y > 0)).mean()), loss, seconds, model.details


def folds_of(name: str) -> list[Split]:
    dataset = load_registry().load("dataset", name)()
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    numbers = fold_numbers(name, dataset.X.shape[0], FOLDS, relation, key=None)
    return [Split(dataset.take(numbers != k), dataset.take(numbers == k)) for k in range(FOLDS)]


def generated(n: int = 40_000, width: int = 60, factors: int = 10) -> list[Split]:
    """Return columns in [0, 1] that a few factors move, and labels by a logistic model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * n, factors)) @ rng.normal(size=(factors, width)) / math.sqrt(factors)
    X = 1 / (1 + np.exp(-X - 0.5 * rng.normal(size=X.shape)))
    z = (X - 0.5) @ rng.normal(size=width) * 12 / math.sqrt(width)
    y = np.where(rng.random(2 * n) < 1 / (1 + np.exp(-z)), 1.0, -1.0)
    made = dataset_from_arrays(X, y, bounds=(0.0, 1.0), row_norm=None)
    return [Split(made.take(np.arange(2 * n) < n), made.take(np.arange(2 * n) >= n))]


DATA: dict[str, Callable[[], list[Split]]] = {
    "adult": lambda: folds_of("adult"),
    "a9a": lambda: folds_of("a9a"),
    "ten factors": generated,
}


def keep(**cell: Any) -> None:
    """Append a cell to the results."""
    is_new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, (*COLUMNS, *MORE_COLUMNS), restval="", lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow({key: f"{v:.5g}" if isinstance(v, float) else v for key, v in cell.items()})


def compare(data: str, splits: list[Split], epsilons: list[float], repeats: int) -> None:
    splits = splits * max(1, FOLDS // len(splits)) * repeats
    for name in ALGORITHMS:
        splits[0].fit(name, 1.0)  # kernels
    for epsilon in epsilons:
        found = {
            name: [split.fit(name, epsilon) for split in splits[: _FEW.get(name)]]
            for name in ALGORITHMS
        }
        auto = min(seconds for _, _, seconds, _ in found["auto"])
        for name, fits in found.items():
            accuracy, error = mean_and_error([right for right, *_ in fits])
            loss, least = float(np.mean([fit[1] for fit in fits])), min(fit[2] for fit in fits)
            details = fits[0][3]
            cell = {
                "passes": details.get("passes", details.get("steps")),
                "hessians": details.get("hessians", 0),
                "accuracy": accuracy,
                "error": error,
                "log_loss": loss,
                "cpu_seconds": least,
                "over_auto": least / auto,
            }
            print(
                f"{data:<12}{epsilon:>5g}  {name:<18}{cell['passes']:>4.0f} passes,"
                f"{cell['hessians']:>3} Hessians: {accuracy:.2f} ± {error:.2f} %, log loss "
                f"{loss:.4f}, {least:.3f} s, {least / auto:.2f} times auto's",
                flush=True,
            )
            keep(part="accuracy", data=data, epsilon=epsilon, algorithm=name, **cell)


def time_fits(data: str, rows: Rows, folder: Path | None, rounds: int) -> None:
    norm = math.sqrt(rows.norm**2 + 1.0)
    words = {"epsilon": 1.0, "delta": DELTA, "threads": 1, "row_norm": norm}
    seconds: dict[str, list[float]] = {name: [] for name in ALGORITHMS if name not in _TABLES}
    right: dict[str, list[float]] = {name: [] for name in seconds}
    for number in range(rounds + 1):
        for name in seconds:
            algo, _, params = ALGORITHMS[name]
            started = time.process_time()
            model = fit(rows.X, rows.y, algo=algo, params=params, **words)
            if number:  # the first loads kernels
                seconds[name].append(time.process_time() - started)
                hits = (model.decision_function(rows.X) > 0) == (rows.y > 0)
                right[name].append(100 * float(np.mean(hits)))
    theirs = math.nan
    if has_environment(folder, "diffprivlib") and folder is not None:
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "rows.npz"
            both = {"X_train": rows.X, "X_test": rows.X, "y_train": rows.y, "y_test": rows.y}
            np.savez(path, data_norm=rows.norm, **both)
            fits = other_fits("diffprivlib", folder, [path], 1.0)["diffprivlib, C=1 (default)"]
        theirs, score = min(fit["cpu"] for fit in fits), np.mean([fit["accuracy"] for fit in fits])
        print(f"{data:<14}diffprivlib {theirs:.3f} s, {score:.1f} %")
        cell = {"cpu_seconds": theirs, "accuracy": float(score)}
        keep(part="time", data=data, epsilon=1.0, algorithm="diffprivlib", **cell)
    auto = min(seconds["auto"])
    for name in seconds:
        accuracy, error = mean_and_error(right[name])
        least = min(seconds[name])
        ratios = {"over_auto": least / auto, "over_diffprivlib": least / theirs}
        print(
            f"{data:<14}{name:<18} {least:.3f} s, {ratios['over_auto']:.2f} times auto's, "
            f"{ratios['over_diffprivlib']:.2f} times diffprivlib's; {accuracy:.2f} %",
            flush=True,
        )
        cell = {"accuracy": accuracy, "error": error, "cpu_seconds": least, **ratios}
        keep(part="time", data=data, epsilon=1.0, algorithm=name, **cell)


def main() -> None:
    parser = parser_of(__doc__, tuple(DATA))
    parser.add_argument("--environments", type=Path, metavar="FOLDER")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--part", action="append", choices=("accuracy", "time"))
    chosen = parser.parse_args()
    parts = chosen.part or ["accuracy", "time"]
    if "time" in parts:
        for name, make in ARRAYS.items():
            time_fits(name, make(), chosen.environments, chosen.rounds)
    if "accuracy" in parts:
        for name in chosen.data or DATA:
            compare(name, DATA[name](), chosen.epsilon or list(EPSILONS), chosen.repeats)


if __name__ == "__main__":
    warnings.simplefilter("ignore", DpcoreWarning)
    warnings.simplefilter("ignore", FutureWarning)
    main()
