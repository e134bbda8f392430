"""How accurate is dp-agd on test data, beside other software and non-private fits?

5-fold mean test accuracy in %, with its standard error, for each epsilon: the defaults and
`--preset paper` through a real session with the system's noise. The folds are one seeded
permutation of the rows, the same for every algorithm, epsilon and repetition. The data are public
benchmarks: that is why folds of fixed size may be cut from them, and why n0 is the number of
training rows under either relation.

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
from references import EPSILONS, MAJORITY, NON_PRIVATE, REFERENCES, TO_REACH
from scipy.optimize import minimize

from dpcore.data.coded import CodedRows
from dpcore.data.table import Table
from dpcore.engines.local import LocalEngine
from dpcore.losses.logistic import Logistic
from dpcore.noise.source import SystemNoise
from dpcore.plan import Settings, make_plan, parse_relation
from dpcore.problem import Problem
from dpcore.registry import load_registry
from dpcore.session import PrivacySession

FOLDS = 5
FOLD_SEED = 2018
DELTA = 1e-8
ALLOWANCE = 0.2
PRESETS = {"dp-agd, default": None, "dp-agd, preset paper": "paper"}
PLAIN = ("non-private", "majority")

Accuracies = dict[tuple[str, float | None], list[float]]


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


def run_task(task: Task) -> Accuracies:
    """Return the test accuracies, in %, of every algorithm and epsilon (None: takes none)."""
    dataset = load_registry().load("dataset", task.data)()
    held_out = fold_rows(dataset.X.shape[0], task.fold)
    train, test = dataset.take(~held_out), dataset.take(held_out)
    bounds = {"row_norm": dataset.row_norm, "raw_norm_bound": dataset.raw_norm_bound}
    engine = LocalEngine(Table.from_matrix(train.X, train.y, **bounds))
    found: Accuracies = defaultdict(list)
    for name, preset in PRESETS.items():
        for epsilon in task.epsilons:
            settings = Settings(
                epsilon=epsilon,
                delta=DELTA,
                preset=preset,
                relation=task.relation,
                loss=task.loss,
            )
            for _ in range(task.repeats):
                w = private_fit(settings, engine, train, bounds)
                found[name, epsilon].append(accuracy(test, w))
    found["non-private", None].append(accuracy(test, non_private_fit(train)))
    most = 1.0 if train.y.mean() > 0 else -1.0
    found["majority", None].append(100 * float((test.y == most).mean()))
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
        **bounds,
    )
    session = PrivacySession(engine, plan.accountant, plan.relation, SystemNoise())
    return plan.optimizer.minimize(problem, session).w


def non_private_fit(train: Any) -> np.ndarray:
    """Return the minimiser of the mean logistic loss, by SciPy's L-BFGS."""
    loss, X, y = Logistic(), _matrix(train.X), train.y
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


def accuracy(test: Any, w: np.ndarray) -> float:
    return 100 * float(((_matrix(test.X) @ w > 0) == (test.y > 0)).mean())


def _matrix(X: Any) -> Any:
    """Return the rows as NumPy or SciPy multiplies them: coded rows as CSR."""
    return X.tocsr() if isinstance(X, CodedRows) else X


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """Return the mean and its standard error, the runs of all folds taken as one sample."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(len(values)))


def measure(tasks: list[Task], jobs: int) -> dict[str, Accuracies]:
    """Return the accuracies of each data set, the folds' runs together."""
    results: dict[str, Accuracies] = {}
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for task, found in zip(tasks, pool.map(run_task, tasks), strict=True):
            merged = results.setdefault(task.data, defaultdict(list))
            for key, values in found.items():
                merged[key] += values
    return results


def print_table(data: str, found: Accuracies, task: Task) -> None:
    print(
        f"\n{data}: 5-fold mean test accuracy in %, delta {DELTA:g}, {task.relation}, "
        f"{task.loss}; standard error after +-"
    )
    width = 40
    print(f"{'epsilon':<{width}}" + "".join(f"{epsilon:>12g}" for epsilon in task.epsilons))
    for name in PRESETS:
        cells = (mean_and_error(found[name, epsilon]) for epsilon in task.epsilons)
        print(f"{name:<{width}}" + "".join(f"{m:>7.2f} +-{e:3.2f}" for m, e in cells))
    for name in PLAIN:
        mean, error = mean_and_error(found[name, None])
        expected = {"non-private": NON_PRIVATE, "majority": MAJORITY}[name].get(data)
        note = "" if expected is None else f"   (expected {expected})"
        print(f"{name:<{width}}{mean:>7.2f} +-{error:3.2f}{note}")
    _print_references(data, found, task)


def _print_references(data: str, found: Accuracies, task: Task) -> None:
    references = REFERENCES.get(data, {})
    if references and (task.relation, task.loss) != ("add-or-remove-one", "logistic"):
        print("(The figures of other software are for add-or-remove-one and logistic loss.)")
        return
    for name, figures in references.items():
        picked = [figures[EPSILONS.index(epsilon)] for epsilon in task.epsilons]
        print(f"{name:<40}" + "".join(f"{figure:>7.1f}     " for figure in picked))
        if name == TO_REACH:
            means = [mean_and_error(found["dp-agd, default", e])[0] for e in task.epsilons]
            gaps = [mean - figure for mean, figure in zip(means, picked, strict=True)]
            print(f"{'default above it':<40}" + "".join(f"{gap:>+7.2f}     " for gap in gaps))
            verdict = "yes" if min(gaps) >= -ALLOWANCE else "NO"
            print(f"reached within {ALLOWANCE} at every epsilon: {verdict}")


def write_csv(path: Path, results: dict[str, Accuracies], task: Task) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow("data relation loss delta algorithm epsilon mean error runs".split())
        for data, found in results.items():
            for (name, epsilon), values in found.items():
                mean, error = mean_and_error(values)
                figures = (f"{mean:.3f}", f"{error:.3f}", len(values))
                shown = "" if epsilon is None else epsilon
                writer.writerow((data, task.relation, task.loss, DELTA, name, shown, *figures))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    registered = load_registry().names("dataset")
    parser.add_argument("--data", action="append", choices=registered)
    parser.add_argument("--relation", default="add-or-remove-one")
    parser.add_argument("--loss", default="logistic", choices=load_registry().names("loss"))
    parser.add_argument("--repeats", type=int, default=1)
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
    if chosen.out is not None:
        write_csv(chosen.out, results, first)
    print(f"\n{time.perf_counter() - started:.0f} s in {chosen.jobs} processes")


if __name__ == "__main__":
    main()
