"""How accurate are the algorithms on test data, beside other software and non-private fits?

5-fold mean test accuracy in %, with its standard error, for each epsilon: the defaults and
`--preset paper` through a real session with the system's noise; with `--objective` the mean loss
of the training rows too. Under replace-one the algorithms that need a public number of rows are
there as well. The folds are one seeded permutation of the rows, the same for every algorithm,
epsilon and repetition. The data are public benchmarks: that is why folds of fixed size may be cut
from them, and why n0 is the number of training rows under either relation.

    DPCORE_DATA_DIR=... python bench/utility.py [--quick] [--data adult --data bank]
        [--relation replace-one] [--loss huber-svm] [--repeats 3] [--out results.csv]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import csv
import math
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from references import EPSILONS, MAJORITY, NON_PRIVATE, REFERENCES, REPLACE_ONE, TO_REACH
from scipy.optimize import minimize

from dpcore.data.coded import CodedRows
from dpcore.data.table import Table
from dpcore.engines.local import LocalEngine
from dpcore.noise.source import SystemNoise
from dpcore.plan import Settings, make_plan, parse_relation
from dpcore.problem import Problem
from dpcore.registry import load_registry
from dpcore.session import PrivacySession
from dpcore.training import with_default_l2

FOLDS = 5
FOLD_SEED = 2018
DELTA = 1e-8
ALLOWANCE = 0.2
PLAIN = ("non-private", "majority")
DP_AGD = {
    "dp-agd, default": ("dp-agd", None),
    "dp-agd, preset paper": ("dp-agd", "paper"),
}
WITH_PUBLIC_SIZE = {
    "rsgd-ar, default": ("rsgd-ar", None),
    "rsgd-ar, preset paper": ("rsgd-ar", "paper"),
    "psgd": ("psgd", None),
    "nsgd": ("nsgd", None),
    "outpert-gd": ("outpert-gd", None),
    "bolt-on": ("bolt-on", None),
}
"""Name in the table -> algorithm and preset."""

Found = dict[tuple[str, float | None], list[tuple[float, float]]]
"""Name and epsilon (None: takes none) -> accuracy in % and mean training loss of every run."""


@dataclass(frozen=True)
class Task:
    """One fold of one data set: everything that is fitted on it."""

    data: str
    fold: int
    epsilons: tuple[float, ...]
    repeats: int
    relation: str
    loss: str


def fold_rows(n_rows: int, fold: int) -> np.ndarray:
    """Return a bool mask of the rows of one fold, of a seeded permutation cut into equal parts."""
    order = np.random.default_rng(FOLD_SEED).permutation(n_rows)
    mask = np.zeros(n_rows, dtype=bool)
    mask[np.array_split(order, FOLDS)[fold]] = True
    return mask


def algorithms(task: Task) -> dict[str, tuple[str, str | None]]:
    size_is_public = parse_relation(task.relation).size_is_public
    return DP_AGD | (WITH_PUBLIC_SIZE if size_is_public else {})


def run_task(task: Task) -> Found:
    """Return what every algorithm reaches at every epsilon."""
    dataset = load_registry().load("dataset", task.data)()
    held_out = fold_rows(dataset.X.shape[0], task.fold)
    train, test = dataset.take(~held_out), dataset.take(held_out)
    bounds = {"row_norm": dataset.row_norm, "raw_norm_bound": dataset.raw_norm_bound}
    engine = LocalEngine(Table.from_matrix(train.X, train.y, **bounds))
    loss = load_registry().load("loss", task.loss)()
    found: Found = defaultdict(list)
    for name, (algo, preset) in algorithms(task).items():
        for epsilon in task.epsilons:
            settings = Settings(
                algo=algo,
                epsilon=epsilon,
                delta=DELTA,
                preset=preset,
                relation=task.relation,
                loss=task.loss,
            )
            for _ in range(task.repeats):
                w = private_fit(settings, engine, train, bounds)
                found[name, epsilon].append((accuracy(test, w), mean_loss(train, w, loss)))
    w = non_private_fit(train, loss)
    found["non-private", None].append((accuracy(test, w), mean_loss(train, w, loss)))
    most = 1.0 if train.y.mean() > 0 else -1.0
    idle = mean_loss(train, np.zeros(train.X.shape[1]), loss)
    found["majority", None].append((100 * float((test.y == most).mean()), idle))
    return found


def private_fit(
    settings: Settings, engine: LocalEngine, train: Any, bounds: dict[str, float]
) -> np.ndarray:
    plan = make_plan(settings)
    n_rows = int(train.X.shape[0])
    problem = Problem(
        loss=plan.loss,
        l2=0.0,
        n_features=int(train.X.shape[1]),
        relation=plan.relation,
        n=n_rows if plan.relation.size_is_public else None,
        n0=n_rows,
        intercept=train.schema.intercept,
        **bounds,
    )
    problem = with_default_l2(problem, plan)
    session = PrivacySession(engine, plan.accountant, plan.relation, SystemNoise())
    return plan.optimizer.minimize(problem, session).w


def non_private_fit(train: Any, loss: Any) -> np.ndarray:
    """Return the minimiser of the mean loss, by SciPy's L-BFGS."""
    X, y = _matrix(train.X), train.y
    out, n_rows = np.empty(y.shape[0]), y.shape[0]

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = np.ascontiguousarray(X @ w)
        loss.value(z, y, out)
        value = out.mean()
        loss.dvalue(z, y, out)
        return value, X.T @ out / n_rows

    start = np.zeros(X.shape[1])
    options = {"maxiter": 2000, "ftol": 1e-10, "gtol": 1e-6}
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x


def mean_loss(train: Any, w: np.ndarray, loss: Any) -> float:
    out = np.empty(train.y.shape[0])
    loss.value(np.ascontiguousarray(_matrix(train.X) @ w), train.y, out)
    return float(out.mean())


def accuracy(test: Any, w: np.ndarray) -> float:
    return 100 * float(((_matrix(test.X) @ w > 0) == (test.y > 0)).mean())


def _matrix(X: Any) -> Any:
    """Return the rows as NumPy or SciPy multiplies them: coded rows as CSR."""
    return X.tocsr() if isinstance(X, CodedRows) else X


def mean_and_error(values: list[tuple[float, float]], metric: int = 0) -> tuple[float, float]:
    """Return the mean of the accuracy (metric 0) or the loss (1) and its standard error, the runs
    of all folds taken as one sample."""
    picked = [value[metric] for value in values]
    return float(np.mean(picked)), float(np.std(picked, ddof=1) / math.sqrt(len(picked)))


def measure(tasks: list[Task], jobs: int) -> dict[str, Found]:
    """Return the accuracies of each data set, the folds' runs together."""
    results: dict[str, Found] = {}
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for task, found in zip(tasks, pool.map(run_task, tasks), strict=True):
            merged = results.setdefault(task.data, defaultdict(list))
            for key, values in found.items():
                merged[key] += values
    return results


def print_table(data: str, found: Found, task: Task) -> None:
    print(
        f"\n{data}: 5-fold mean test accuracy in %, delta {DELTA:g}, {task.relation}, "
        f"{task.loss}; standard error after +-"
    )
    width = 40
    print(f"{'epsilon':<{width}}" + "".join(f"{epsilon:>12g}" for epsilon in task.epsilons))
    for name in algorithms(task):
        cells = (mean_and_error(found[name, epsilon]) for epsilon in task.epsilons)
        print(f"{name:<{width}}" + "".join(f"{m:>7.2f} +-{e:3.2f}" for m, e in cells))
    for name in PLAIN:
        mean, error = mean_and_error(found[name, None])
        expected = {"non-private": NON_PRIVATE, "majority": MAJORITY}[name].get(data)
        note = "" if expected is None else f"   (expected {expected})"
        print(f"{name:<{width}}{mean:>7.2f} +-{error:3.2f}{note}")
    _print_references(data, found, task)


def print_objectives(data: str, found: Found, task: Task) -> None:
    print(f"\n{data}: mean {task.loss} loss of the training rows")
    for name in algorithms(task):
        cells = (mean_and_error(found[name, epsilon], 1)[0] for epsilon in task.epsilons)
        print(f"{name:<40}" + "".join(f"{mean:>12.4f}" for mean in cells))
    for name in PLAIN:
        print(f"{name:<40}{mean_and_error(found[name, None], 1)[0]:>12.4f}")


def _print_references(data: str, found: Found, task: Task) -> None:
    known = {
        ("add-or-remove-one", "logistic"): (REFERENCES, "dp-agd, default"),
        ("replace-one", "logistic"): (REPLACE_ONE, "rsgd-ar, default"),
    }
    references, ours = known.get((task.relation, task.loss), ({}, ""))
    for name, figures in references.get(data, {}).items():
        picked = [figures[EPSILONS.index(epsilon)] for epsilon in task.epsilons]
        print(f"{name:<40}" + "".join(f"{figure:>7.1f}     " for figure in picked))
        if name == TO_REACH:
            means = [mean_and_error(found[ours, e])[0] for e in task.epsilons]
            gaps = [mean - figure for mean, figure in zip(means, picked, strict=True)]
            print(f"{ours + ' above it':<40}" + "".join(f"{gap:>+7.2f}     " for gap in gaps))
            verdict = "yes" if min(gaps) >= -ALLOWANCE else "NO"
            print(f"reached within {ALLOWANCE} at every epsilon: {verdict}")


def write_csv(path: Path, results: dict[str, Found], task: Task) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        header = "data relation loss delta algorithm epsilon mean error train_loss runs"
        writer.writerow(header.split())
        for data, found in results.items():
            for (name, epsilon), values in found.items():
                mean, error = mean_and_error(values)
                trained = mean_and_error(values, 1)[0]
                figures = (f"{mean:.3f}", f"{error:.3f}", f"{trained:.5f}", len(values))
                shown = "" if epsilon is None else epsilon
                writer.writerow((data, task.relation, task.loss, DELTA, name, shown, *figures))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    registered = load_registry().names("dataset")
    parser.add_argument("--data", action="append", choices=registered)
    parser.add_argument("--relation", default="add-or-remove-one")
    parser.add_argument("--loss", default="logistic", choices=load_registry().names("loss"))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--objective", action="store_true", help="the training loss too")
    parser.add_argument("--quick", action="store_true", help="epsilon 0.1 and 0.8 only")
    parser.add_argument("--jobs", type=int, default=2, choices=(1, 2))
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    parse_relation(chosen.relation)
    started = time.perf_counter()
    epsilons = (0.1, 0.8) if chosen.quick else EPSILONS
    first = Task("", 0, epsilons, chosen.repeats, chosen.relation, chosen.loss)
    names = chosen.data or ["adult", "bank"]
    tasks = [replace(first, data=data, fold=fold) for data in names for fold in range(FOLDS)]
    results = measure(tasks, chosen.jobs)
    for data, found in results.items():
        print_table(data, found, first)
        if chosen.objective:
            print_objectives(data, found, first)
    if chosen.out is not None:
        write_csv(chosen.out, results, first)
    print(f"\n{time.perf_counter() - started:.0f} s in {chosen.jobs} processes")


if __name__ == "__main__":
    main()
