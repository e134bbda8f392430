"""How good is one clip for all classes, beside one fit for each, and what does a step cost?

Means over folds (drawn by coins of a seed, fresh for each repeat) of test accuracy and macro F1 in
%, with the standard error of the mean, of

* auto: one fit with the loss softmax, one clip and one release for all classes;
* each: one fit of two classes for every class against the rest (`--multiclass ovr`), each of 1/K of
  the budget's mu^2; the class of the largest margin; under a clip of its own each;
* objpert: the same by objective perturbation, which takes two classes alone, under `rdp`;
* exact: `nonprivate`, without privacy.

Data: `kddcup99-10-classes` (five classes; u2r has 52 rows of 494,021, so that one row of about ten
in a fold moves macro F1 by one to two points), `digits` (scikit-learn's 1,797 x 64, rows divided by
their lengths), `education` (adult's column of 16 levels from the others, income left out).

    DPCORE_DATA_DIR=... python bench/classes.py [--data digits] [--repeats 1] [--seconds]

`--seconds` prints CPU seconds of one step over adult's rows with K classes over those with two, a
gradient of standardised rows with its noise, alternating, the least of each.
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from printed import OUT, keep

from dpcore import Schema
from dpcore.accountants import GdpAccountant
from dpcore.data.dataset import Dataset
from dpcore.engines.local import LocalEngine
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.losses.logistic import Logistic, Softmax
from dpcore.mechanisms.gaussian import Gaussian
from dpcore.noise.source import SystemNoise
from dpcore.plugin.commands import Run
from dpcore.plugin.parts import dataset_from_arrays
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.protocols.problem import Problem
from dpcore.registry.catalogue import load_registry
from dpcore.session.session import TableSession
from dpcore_baselines.queries.standardization import Standardization
from dpcore_baselines.queries.standardized import StandardizedGradientSum
from dpcore_report.exact.diagnostics import class_metrics
from dpcore_tables.datasets import adult

FOLDS = 5


@dataclass(frozen=True)
class Source:
    """Rows of several classes, and the budgets to fit at."""

    data: Dataset
    epsilons: tuple[float, ...]
    delta: float

    @property
    def n_classes(self) -> int:
        return self.data.schema.label.n_classes


def kddcup() -> Source:
    return Source(load_registry().load("dataset", "kddcup99-10-classes")(), (0.4, 1.6), 1e-8)


def digits() -> Source:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    data = dataset_from_arrays(X, y, classes=range(10), row_norm=1.0)
    return Source(data, (1.0, 3.0, 10.0), 1e-5)


def education() -> Source:
    """Return adult with its education as the label, the number of years of it left out."""
    known = adult.schema()
    levels = next(c.levels for c in known.columns if c.name == "education")
    changed = {
        "education": {"kind": "label", "classes": list(levels)},
        "education-num": {"kind": "drop"},
        known.label.name: {"kind": "drop"},
    }
    columns = [
        {"name": column["name"], **changed.get(column["name"], column)}
        for column in known.to_dict()["columns"]
    ]
    schema = Schema.from_dict(known.to_dict() | {"columns": columns})
    return Source(adult.load(schema), (0.4, 1.6, 6.4), 1e-8)


SOURCES: dict[str, Callable[[], Source]] = {
    "kddcup99-10-classes": kddcup,
    "digits": digits,
    "education": education,
}


def together(source: Source, train: Dataset, test: Dataset, epsilon: float) -> np.ndarray:
    """Return the margins of the test rows by one fit, of shape (n_classes, n_rows)."""
    settings = Settings(algo="auto", loss="softmax", epsilon=epsilon, delta=source.delta)
    return Run(make_plan(settings), train).model().margins(test.X)


def each(source: Source, train: Dataset, test: Dataset, epsilon: float) -> np.ndarray:
    """Return the margins of the test rows by a fit for each class."""
    return _against_the_rest("auto", source, train, test, epsilon)


def perturbed(source: Source, train: Dataset, test: Dataset, epsilon: float) -> np.ndarray:
    """Return them by an algorithm that takes two classes alone."""
    return _against_the_rest("objpert", source, train, test, epsilon, accountant="rdp")


def _against_the_rest(
    algo: str, source: Source, train: Dataset, test: Dataset, epsilon: float, **more: str
) -> np.ndarray:
    budget = {"epsilon": epsilon, "delta": source.delta}
    settings = Settings(algo=algo, loss="logistic", multiclass="ovr", **budget, **more)
    return Run(make_plan(settings), train).model().margins(test.X)


def exact(source: Source, train: Dataset, test: Dataset, epsilon: float) -> np.ndarray:
    settings = Settings(algo="nonprivate", loss="softmax", epsilon=epsilon, l2=1e-6)
    return Run(make_plan(settings), train).model().margins(test.X)


WAYS = {"auto": together, "each": each, "objpert": perturbed, "exact": exact}


def metrics(source: Source, margins: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return accuracy and macro F1 in %."""
    k = source.n_classes
    pairs = k * y.astype(np.int64) + margins.argmax(0)
    counts = np.bincount(pairs, minlength=k * k).reshape(k, k)
    f1 = class_metrics(tuple(range(k)), counts)["test_macro_f1"]
    return 100 * np.trace(counts) / y.size, 100 * f1


def folds(n_rows: int, repeats: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield masks of rows to train and to test on."""
    for repeat in range(repeats):
        fold = np.random.default_rng(repeat).integers(0, FOLDS, n_rows)
        for k in range(FOLDS):
            yield fold != k, fold == k


def print_accuracy(name: str, repeats: int, ways: list[str]) -> Iterator[dict[str, object]]:
    """Print the metrics of each epsilon and way, and yield them as rows of a file."""
    source = SOURCES[name]()
    print(f"{name}: {source.n_classes} classes, delta = {source.delta:g}")
    for epsilon in source.epsilons:
        for way in ways:
            found = np.array(
                [
                    metrics(source, WAYS[way](source, data, test, epsilon), test.y)
                    for train, left in folds(len(source.data.y), repeats)
                    for data, test in [(source.data.take(train), source.data.take(left))]
                ]
            )
            mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(len(found))
            print(
                f"  epsilon {epsilon:<5g}{way:<8}accuracy {mean[0]:6.2f} ({error[0]:.2f})  "
                f"macro F1 {mean[1]:5.1f} ({error[1]:.1f})",
                flush=True,
            )
            both = {"accuracy": f"{mean[0]:.2f}", "accuracy error": f"{error[0]:.2f}"}
            both |= {"macro F1": f"{mean[1]:.1f}", "macro F1 error": f"{error[1]:.1f}"}
            yield {"table": name, "epsilon": epsilon, "way": way, "fits": len(found)} | both


def step_of(data: Dataset, n_classes: int) -> Callable[[], object]:
    """Return what releases one gradient of so many classes."""
    schema = data.schema
    y = np.random.default_rng(0).integers(0, n_classes, len(data.y)).astype(np.float64)
    problem = Problem(
        loss=Softmax() if n_classes > 2 else Logistic(),
        l2=0.0,
        n_features=schema.n_features,
        row_norm=schema.raw_norm_bound,
        raw_norm_bound=schema.raw_norm_bound,
        relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
        n_margins=n_classes if n_classes > 2 else 1,
    )
    engine = LocalEngine(replace(data, y=y if n_classes > 2 else 2 * y - 1).table(), threads=1)
    width = schema.n_features
    columns = Standardization.nearest(np.full(width, 2.0), np.full(width, 0.1), width - 1)
    accountant = GdpAccountant.from_budget(50.0, 1e-8)
    session = TableSession(engine, accountant, problem.relation, SystemNoise(), problem=problem)
    rng = np.random.default_rng(1)

    def step() -> object:
        w = rng.normal(size=problem.w_shape)
        query = StandardizedGradientSum(problem, w, columns, 1.0, 1e3)
        return session.release(query, Gaussian(1e3))

    return step


def print_seconds(rounds: int) -> None:
    data = load_registry().load("dataset", "adult")()
    counts = (2, 3, 5, 8, 10, 16)
    steps = {k: step_of(data, k) for k in counts}
    least = dict.fromkeys(counts, math.inf)
    for _ in range(rounds):
        for k, step in steps.items():
            started = time.process_time()
            step()
            least[k] = min(least[k], time.process_time() - started)
    print("one step over adult's rows, CPU ms, and over K times that of two classes:")
    for k in counts[1:]:
        ratio = least[k] / least[2] / k
        print(f"  K = {k:<4}{1e3 * least[k]:6.2f} / {1e3 * least[2]:.2f}  ({ratio:.2f} K)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", choices=SOURCES, action="append")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--seconds", action="store_true")
    parser.add_argument("--out", type=Path, help=OUT)
    chosen = parser.parse_args()
    if chosen.seconds:
        print_seconds(200)
        return
    ways, names = chosen.ways.split(","), chosen.data or SOURCES
    rows = (print_accuracy(name, chosen.repeats, ways) for name in names)
    keep(chosen.out, [row for of_table in rows for row in of_table])


if __name__ == "__main__":
    main()
