"""How long does Frank-Wolfe take on a wide, sparse table, and where does it pay beside `auto`?

Time: made rows of 100 ones each, whose columns are drawn alike (`alike`) or with the odds of
words, column j about as 1/j (`words`), at epsilon 1 and 1,000 steps. Seconds are of `dpcore.fit` in
a process of its own, by the clock and of its CPU time, with the most memory that the process had.
`cpu_over_start`: CPU time over that of a fit of one step, which is what encoding takes.

    python bench/frank_wolfe.py time [--rows 100000] [--columns 1000000] [--steps 1000]

Use: accuracy in % on rows held out, of `frank-wolfe`, of `auto` and of the majority class, on
DPCORE_DATA_DIR's a9a (123 columns) and on made rows of words (60,000 of 50 ones; 30 of the 300
commonest columns have an effect) with 10,000 and 200,000 columns, at delta 1e-6 and n0 the number
of rows.

    DPCORE_DATA_DIR=... python bench/frank_wolfe.py use [--epsilon .1 --epsilon .5] [--repeats 5]

Both take the mean, or median, of `--repeats` fits, and write frank_wolfe_time.csv and
frank_wolfe_use.csv in bench/results.
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from dpcore import fit
from dpcore.errors import DpcoreWarning

RESULTS = Path(__file__).parent / "results"
DELTA = 1e-6


def ones(n: int, columns: int, of_row: int, kind: str, seed: int = 0) -> sparse.csr_matrix:
    """Return rows of ``of_row`` ones, or fewer where a column was drawn twice."""
    rng = np.random.default_rng(seed)
    uniform = rng.random((n, of_row))
    drawn = columns**uniform - 1 if kind == "words" else columns * uniform
    places = np.minimum(columns - 1, drawn.astype(np.int32)).ravel()
    ends = np.arange(0, n * of_row + 1, of_row, dtype=np.int32)
    X = sparse.csr_matrix((np.ones(places.size, np.float32), places, ends), shape=(n, columns))
    X.sum_duplicates()
    X.data[:] = 1.0
    return X


def labelled(X: sparse.csr_matrix, of: int, effects: int, seed: int = 1) -> np.ndarray:
    """Return labels of a logistic rule of some of the first ``of`` columns, about half of each."""
    rng = np.random.default_rng(seed)
    w = np.zeros(X.shape[1])
    w[rng.permutation(of)[:effects]] = rng.choice([-3.0, 3.0], effects)
    z = X @ w
    return np.where(rng.random(z.size) < 1 / (1 + np.exp(np.median(z) - z)), 1, -1)


def timed(kind: str, rows: int, columns: int, steps: int) -> dict[str, Any]:
    """Return what one fit in this process took."""
    X = ones(rows, columns, 100, kind)
    y = labelled(X, min(columns, 1000), 40)
    before, began = time.process_time(), time.perf_counter()
    words = {"epsilon": 1.0, "n0": rows, "row_norm": 10.0, "intercept": False}
    fit(X, y, algo="frank-wolfe", params={"steps": steps}, delta=DELTA, **words)
    return {
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - before,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def times(how: argparse.Namespace) -> None:
    found = []
    for kind in ("alike", "words"):
        start = None
        for steps in (1, how.steps):
            asked = ["--one", kind, "--rows", how.rows, "--columns", how.columns, "--steps", steps]
            command = [sys.executable, __file__, "time", *map(str, asked)]
            runs = [json.loads(subprocess.check_output(command)) for _ in range(how.repeats)]
            median = {name: float(np.median([run[name] for run in runs])) for name in runs[0]}
            start = start or median["cpu_seconds"]
            line = {"kind": kind, "rows": how.rows, "columns": how.columns, "steps": steps}
            line |= {name: round(value, 1) for name, value in median.items()}
            found.append({**line, "cpu_over_start": round(median["cpu_seconds"] / start, 2)})
            print(found[-1], flush=True)
    write("time", found)


def tables() -> dict[str, tuple[Any, ...]]:
    """Return rows and labels to fit, those to test on, and the rows' norm."""
    found: dict[str, tuple[Any, ...]] = {}
    if folder := os.environ.get("DPCORE_DATA_DIR"):
        from sklearn.datasets import load_svmlight_file

        files = [Path(folder) / name for name in ("a9a", "a9a.t")]
        (X, y), (Z, t) = (load_svmlight_file(path, n_features=123) for path in files)
        found["a9a"] = sparse.csr_matrix(X), y, sparse.csr_matrix(Z), t, 15**0.5 + 1e-6
    for columns in (10_000, 200_000):
        X = ones(60_000, columns, 50, "words")
        y = labelled(X, 300, 30)
        found[f"words-{columns}"] = X[:50_000], y[:50_000], X[50_000:], y[50_000:], 51**0.5 + 1e-6
    return found


def uses(how: argparse.Namespace) -> None:
    found = []
    for name, (X, y, Z, t, norm) in tables().items():
        majority = 100 * max((t > 0).mean(), (t < 0).mean())
        for epsilon in how.epsilon or (0.1, 0.5, 2.0):
            line = {"table": name, "columns": X.shape[1], "epsilon": epsilon}
            for algo in ("frank-wolfe", "auto"):
                words = {"epsilon": epsilon, "delta": DELTA, "n0": len(y), "row_norm": norm}
                began = time.process_time()
                models = [fit(X, y, algo=algo, **words) for _ in range(how.repeats)]
                took = (time.process_time() - began) / how.repeats
                right = [100 * (model.predict(Z) == t).mean() for model in models]
                line[algo] = round(float(np.mean(right)), 1)
                line[f"{algo} error"] = round(float(np.std(right) / how.repeats**0.5), 2)
                line[f"{algo} cpu_seconds"] = round(took, 2)
                kept = np.mean([np.count_nonzero(model.w) for model in models])
                line[f"{algo} coefficients"] = int(kept)
            found.append({**line, "majority": round(majority, 1)})
            print(found[-1], flush=True)
    write("use", found)


def write(name: str, lines: list[dict[str, Any]]) -> None:
    with (RESULTS / f"frank_wolfe_{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("time", "use"))
    for name, usual in (("rows", 100_000), ("columns", 1_000_000), ("steps", 1000), ("repeats", 1)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--epsilon", type=float, action="append")
    parser.add_argument("--one", choices=("alike", "words"), help=argparse.SUPPRESS)
    how = parser.parse_args()
    warnings.simplefilter("ignore", DpcoreWarning)
    if how.one:
        print(json.dumps(timed(how.one, how.rows, how.columns, how.steps)))
    else:
        {"time": times, "use": uses}[how.what](how)


if __name__ == "__main__":
    main()
