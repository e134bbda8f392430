"""The two experiments of Accuracy First, and runs of its algorithms on them, in processes.

logistic: KDD Cup 1999 (10 %), 100,000 rows of 38 features. ridge: `buzz-sim`, 100,000 generated
rows of 77 features in the shape of the Twitter set, which cannot be shipped; where its file is in
the folder of data (`buzz-twitter`), 100,000 of its rows.

Rows are divided by public values: KDD's by 12 in l1, a little above the longest of them (and with
`logistic-l2` a bound of 1/3 in l2 is told as well), `buzz-sim`'s as its schema says. Noise comes
from seeds, so that a value repeats to the bit.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, fields
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from committed import commit_of, made_in
from panels import is_there

from dpcore.accountants.pure import PureAccountant
from dpcore.data.blocks.table import Table
from dpcore.engines.local import LocalEngine
from dpcore.losses.logistic import Logistic
from dpcore.losses.squared import Squared
from dpcore.noise.source import SeededNoise
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.protocols.problem import Problem
from dpcore.registry.catalogue import load_registry
from dpcore.session.session import TableSession
from dpcore_accuracy_first.objectives.loss_sum import ObjectiveSum
from dpcore_lab.compare.settings import AS_PUBLISHED

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Of the products of matrices, in each process."""
RELATION = NeighboringRelation.REPLACE_ONE
N_ROWS, L2, L1_BOUND, L2_BOUND = 100_000, 0.005, 12.0, 1 / 3
COLUMNS = pa.schema(
    [
        ("task", pa.string()),
        ("curve", pa.string()),
        *((name, pa.float64()) for name in ("alpha", "zero", "epsilon")),
        *((name, pa.float64()) for name in ("test_epsilon", "level_epsilon")),
        *((name, pa.int64()) for name in ("run", "tests")),
        ("met", pa.bool_()),
        *((name, pa.float64()) for name in ("excess", "norm", "seconds")),
    ]
)
WORST_CASE = 200.0
"""The paper sets none: enough for every run but for a theorem's."""


def ridge_data() -> str:
    """Return the data set of ridge regression: the paper's where the user has brought its file."""
    return "buzz-twitter" if is_there("buzz-twitter") else "buzz-sim"


class RepeatedRows:
    """An engine for figures: LocalEngine's answers, sooner, where many rows are alike.

    A logistic objective is summed over rows that differ, each times how often it is there, with
    margins in float64; answers to queries that every run asks alike are kept. Neither is what a
    fit does: it is not for measuring times.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, **norms: float) -> None:
        self._whole = LocalEngine(Table.from_matrix(X, y, **norms), threads=1)
        rows, counts = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
        self._X, self._y = rows[:, :-1].copy(), rows[:, -1].copy()
        self._counts = counts.astype(np.float64)
        self._kept: dict[Any, np.ndarray] = {}

    def answer(self, query: Any) -> np.ndarray:
        if isinstance(query, ObjectiveSum) and isinstance(query.loss, Logistic):
            return self._objective(query)
        if query.kind not in ("gram-matrix", "gradient"):
            return self._whole.answer(query)
        key = type(query), query.bits, getattr(query, "w", np.zeros(0)).tobytes()
        if key not in self._kept:
            self._kept[key] = self._whole.answer(query)
        return self._kept[key].copy()

    def _objective(self, query: ObjectiveSum) -> np.ndarray:
        values = np.empty(len(self._y))
        query.loss.value(self._X @ query.w, self._y, values)
        values = np.clip(values - query.ball.low, 0.0, query.ball.spread)
        steps = np.trunc(np.ldexp(values, query.bits))
        return query.start() + np.int64(self._counts @ steps)


class Experiment:
    """Rows with their public facts, and runs of an algorithm on them."""

    def __init__(self, X: np.ndarray, y: np.ndarray, loss: Any, row_norm: float = 1.0) -> None:
        norms = {"row_norm": row_norm, "raw_norm_bound": 1.0}
        self.engine = RepeatedRows(X, y, **norms)
        self.problem = Problem(
            loss=loss, l2=L2, n_features=X.shape[1], relation=RELATION, n=X.shape[0], **norms
        )
        self.X, self.y = X, y
        self.least = self.objective(self._minimizer())
        self.zero_excess = self.objective(np.zeros(X.shape[1])) - self.least

    def run(self, algo: str, given: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Return the values of one run; ``excess`` and ``norm`` are computed without privacy."""
        optimizer = load_registry().load("optimizer", algo)(**given)
        stated: Any = optimizer
        delta = stated.delta if "delta" in stated.targets else 0.0
        accountant = PureAccountant.with_reserve(WORST_CASE, delta, delta)
        session = TableSession(self.engine, accountant, RELATION, SeededNoise(seed))
        started = time.process_time()
        solution = optimizer.minimize(self.problem, session)
        seconds = time.process_time() - started
        return {
            "epsilon": session.ex_post_epsilon,
            "test_epsilon": solution.details.get("test_epsilon", 0.0),
            "level_epsilon": solution.details["level_epsilon"],
            "tests": solution.details.get("levels_tested", 0),
            "met": solution.details.get("target_met", True),
            "excess": self.objective(solution.w) - self.least,
            "norm": float(np.linalg.norm(solution.w)),
            "seconds": seconds,
        }

    def objective(self, w: np.ndarray) -> float:
        values = np.empty(len(self.y))
        self.problem.loss.value(self.X @ w, self.y, values)
        return float(values.mean() + L2 / 2 * w @ w)

    def _minimizer(self) -> np.ndarray:
        """Return the minimiser by Newton's method, whose first step is the last for squares."""
        w = np.zeros(self.X.shape[1])
        for _ in range(8):
            z = self.X @ w
            if isinstance(self.problem.loss, Squared):
                slopes, curves = z - self.y, np.ones(len(z))
            else:
                odds = 1 / (1 + np.exp(self.y * z))
                slopes, curves = -self.y * odds, odds * (1 - odds)
            gradient = self.X.T @ slopes / len(z) + L2 * w
            hessian = (self.X.T * curves) @ self.X / len(z) + L2 * np.eye(w.size)
            w = w - np.linalg.solve(hessian, gradient)
        return w


@cache
def experiment(task: str) -> Experiment:
    """Return an experiment, loaded once in a process."""
    if task.startswith("logistic"):
        from dpcore_tables.datasets.kddcup99 import load_numeric

        data = load_numeric()
        rows = np.random.default_rng(1).choice(len(data.y), N_ROWS, replace=False)
        X = np.asarray(data.X)[rows, :-1] / L1_BOUND
        return Experiment(X, data.y[rows], Logistic(), L2_BOUND if task.endswith("l2") else 1.0)
    data = load_registry().load("dataset", ridge_data())()
    rows = np.arange(len(data.y))
    if len(rows) > N_ROWS:
        rows = np.random.default_rng(1).choice(len(rows), N_ROWS, replace=False)
    X, y = np.asarray(data.X)[rows], data.y[rows]
    # As the paper has them: ||x||_1 <= 1, which l1-norm says to covariance perturbation.
    X = X / np.maximum(1.0, np.abs(X).sum(axis=1))[:, np.newaxis]
    return Experiment(X, y, Squared())


@dataclass(frozen=True)
class Cell:
    """The runs of one curve at one target.

    Parameters
    ----------
    curve : its name. ``variant`` : empty, "paper" or "as-published".
    options : of the algorithm, beside those.
    """

    task: str
    curve: str
    algo: str
    variant: str
    options: tuple[tuple[str, Any], ...]
    alpha: float
    runs: int

    @property
    def name(self) -> str:
        words = re.sub(r"[^a-z0-9]+", "-", self.curve.lower())
        return f"{self.task}-{words}-{self.alpha:g}-{self.runs}"

    def given(self) -> dict[str, Any]:
        """Return the options of the algorithm."""
        factory: Any = load_registry().load("optimizer", self.algo)
        given = {"target_excess_risk": self.alpha, **dict(self.options)}
        if "target_accuracy" in given:
            given["slack"] = given.pop("target_excess_risk")
        if "l1_norm" in {field.name for field in fields(factory)}:
            given["l1_norm"] = 1.0
        if self.variant == AS_PUBLISHED:
            return {**given, "as_published": True}
        return {**(factory.presets["paper"] if self.variant else {}), **given}


def runs_of(cell: Cell) -> list[dict[str, Any]]:
    """Return one row for each run of a cell; of a theorem one, as its epsilon is no outcome."""
    at, given = experiment(cell.task), cell.given()
    about = {"task": cell.task, "curve": cell.curve, "alpha": cell.alpha, "zero": at.zero_excess}
    if cell.algo.endswith("theory"):
        optimizer: Any = load_registry().load("optimizer", cell.algo)(**given)
        return [{**about, "run": 0, "epsilon": optimizer.needed_epsilon(at.problem)}]
    return [{**about, "run": i, **at.run(cell.algo, given, i)} for i in range(cell.runs)]


def results_of(cells: list[Cell], results: Path, jobs: int) -> list[dict[str, Any]]:
    """Return the rows of all cells: what the folder has, or what is run now and kept there, one
    file for each cell; with one job in this process. Where the folder is of another commit, those
    that it has."""
    os.environ.update(ONE_THREAD)
    folder, commit = results / "accuracy-first", made_in(results)["commit"]
    folder.mkdir(exist_ok=True)
    paths = {cell: folder / f"{cell.name}.parquet" for cell in cells}
    missing = [(cell, path) for cell, path in paths.items() if not path.exists()]
    if missing and not commit.startswith(commit_of()):
        print(f"{cells[0].task}: others are of commit {commit}, and without {len(missing)} cells:")
        print("\n".join(sorted(path.stem for _, path in missing)))
        missing = []
    started = time.perf_counter()
    with nullcontext() if jobs == 1 else ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for _ in (pool.map if pool else map)(_keep, missing):
            pass
    if missing:
        spent = time.perf_counter() - started
        print(f"{cells[0].task}: {len(missing)} cells, {spent / 60:.1f} minutes", flush=True)
    there = [path for path in paths.values() if path.exists()]
    return [row for path in there for row in pq.read_table(path).to_pylist()]


def _keep(missing: tuple[Cell, Path]) -> None:
    cell, path = missing
    half = path.with_suffix(".part")
    pq.write_table(pa.Table.from_pylist(runs_of(cell), schema=COLUMNS), half)
    half.rename(path)


def interval(values: list[float]) -> tuple[float, float]:
    """Return the mean and the half width of its 95 % interval (Student's t), 0 for one value."""
    from scipy.special import stdtrit

    n, mean = len(values), math.fsum(values) / len(values)
    if n < 2:
        return mean, 0.0
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return mean, float(stdtrit(n - 1, 0.975)) * math.sqrt(variance / n)
