"""Do the intervals of coefficients cover, and how wide are they?

Rows are drawn with replacement from a table, which so is the population, and its exact minimiser
the truth: 50,000 generated rows whose log odds are not linear; adult by age, years of education,
hours and sex. Each repeat is a fit by the default algorithm (`--algo dp-gd`: with 20 steps, which
leaves the model farther from the minimum) and `--intervals-share .5`, on fresh rows and fresh
noise, add-or-remove-one, delta 1e-6. By cell: in how many of the repeats intervals were given,
which share of the coefficients' 95 % intervals hold the truth, and the median of their width over
that of the sandwich interval without privacy.

    python bench/intervals.py --results FILE [--repeats 2000] [--tables generated,adult]

Each repeat is a line of the file; those that it has already are not made again.
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import itertools
import json
import math
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.data.dataset import Dataset
from dpcore.data.datasets import adult
from dpcore.data.schema.schema import Schema
from dpcore.fitting.plan import make_plan
from dpcore.fitting.rows import dataset_of
from dpcore.fitting.run import fit_dataset
from dpcore.fitting.settings import Settings
from dpcore.inference.estimate import NORMAL_975

SIZES, EPSILONS = (1_000, 10_000, 100_000), (0.1, 1.0, 4.0)
SHARE, DELTA = 0.5, 1e-6
_TRIED = 20
"""A cell without an interval in so many repeats is left."""
_KEPT = {
    "age": {"kind": "numeric", "lower": 17, "upper": 90},
    "education-num": {"kind": "numeric", "lower": 1, "upper": 16},
    "hours-per-week": {"kind": "numeric", "lower": 1, "upper": 99},
    "sex": {"kind": "categorical", "categories": ["Male"]},
}


def generated() -> Dataset:
    """Return the generated population: two numbers and a rare truth value."""
    rng = np.random.default_rng(7)
    X = np.stack([rng.random(50_000), rng.beta(2, 4, 50_000), rng.random(50_000) < 0.2], 1)
    log_odds = 2.0 * X[:, 0] - 3.0 * X[:, 1] + X[:, 2] - 0.5 + 0.8 * np.sin(6.0 * X[:, 1])
    y = (rng.random(50_000) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
    public: dict[str, Any] = {"classes": (0, 1), "bounds": (0, 1), "row_norm": None}
    none: dict[str, Any] = {"target_bounds": None, "n0": None, "capacity": None}
    return dataset_of(X.astype(float), y, None, True, private_bounds=False, **public, **none)


def some_of_adult() -> Dataset:
    """Return adult by four of its columns."""
    content = adult.schema().to_dict()
    content.pop("rows", None)
    columns = [
        column
        if column["kind"] == "label"
        else {"name": column["name"], **_KEPT.get(column["name"], {"kind": "drop"})}
        for column in content["columns"]
    ]
    content.pop("row_norm", None)
    return adult.load(Schema.from_dict({**content, "columns": columns}))


def minimiser(X: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the minimiser of the sum of losses, by Newton's steps."""
    for _ in range(25):
        slope, curvature = slopes(X, y, w)
        step = np.linalg.solve((X * curvature[:, None]).T @ X, X.T @ slope)
        w = w - step
        if np.abs(step).max() < 1e-9:
            return w
    return w


def slopes(X: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return slopes and curvatures of the logistic loss at every row."""
    p = 1.0 / (1.0 + np.exp(y * (X @ w)))
    return -y * p, p * (1.0 - p)


def repeat(rows: Dataset, truth: np.ndarray, epsilon: float, algo: str) -> dict[str, Any]:
    """Return whether each coefficient is in its interval, and the ratio of widths, or why not."""
    asked: dict[str, Any] = {"intervals_share": SHARE, "l2": 0.0, "threads": 1}
    asked |= {"algo": algo, "params": {"steps": 20} if algo == "dp-gd" else {}}
    plan = make_plan(Settings(epsilon=epsilon, delta=DELTA, **asked))
    found: Any = fit_dataset(plan, rows).intervals
    if "why_not" in found:
        return {"why_not": found["why_not"].partition(".")[0]}
    error = np.abs(np.array(found["estimate"]) - truth)
    width = np.sqrt(np.diag(np.array(found["covariance"])))
    X, y = dense(rows), rows.y
    slope, curvature = slopes(X, y, minimiser(X, y, truth))
    inverse = np.linalg.inv((X * curvature[:, None]).T @ X)
    plain = np.sqrt(np.diag(inverse @ ((X * (slope**2)[:, None]).T @ X) @ inverse))
    covered = (error <= NORMAL_975 * width).tolist()
    return {"covered": covered, "ratio": float(np.median(width / plain))}


def dense(rows: Dataset) -> np.ndarray:
    """Return the encoded rows as an array."""
    X: Any = rows.X
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), float)


TABLES = {"generated": generated, "adult": some_of_adult}


def run(name: str, repeats: int, file: Path, algo: str) -> None:
    """Make the repeats of a table's cells that the file has not."""
    population = TABLES[name]()
    X = dense(population)
    truth = minimiser(X, population.y, np.zeros(X.shape[1]))
    earlier = [row for row in lines(file) if row["table"] == name]
    done = Counter((row["n"], row["epsilon"]) for row in earlier)
    given = Counter((row["n"], row["epsilon"]) for row in earlier if "covered" in row)
    cells = [*itertools.product(SIZES, EPSILONS)]
    with file.open("a") as out:
        for turn, (n, epsilon) in itertools.product(range(repeats), cells):
            hopeless = turn >= _TRIED and not given[n, epsilon]
            if done[n, epsilon] <= turn and not hopeless:
                places = np.random.default_rng().integers(0, X.shape[0], n)
                found = repeat(population.take(places), truth, epsilon, algo)
                given[n, epsilon] += "covered" in found
                row = {"table": name, "n": n, "epsilon": epsilon, **found}
                print(json.dumps(row), file=out, flush=True)


def table(file: Path) -> Iterator[str]:
    """Yield the lines of the table."""
    cells: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in lines(file):
        cells.setdefault((row["table"], row["n"], row["epsilon"]), []).append(row)
    yield "| table | rows | epsilon | repeats | with intervals | coverage | width, times |"
    yield "|---|---|---|---|---|---|---|"
    for (name, n, epsilon), rows in sorted(cells.items()):
        given = [row for row in rows if "covered" in row]
        start = f"| {name} | {n:,} | {epsilon:g} | {len(rows):,} | {len(given) / len(rows):.1%} |"
        if not given:
            yield f"{start} | |"
            continue
        covered = np.array([row["covered"] for row in given]).mean(1)
        error = covered.std() / math.sqrt(len(given))
        ratio = float(np.median([row["ratio"] for row in given]))
        yield f"{start} {covered.mean():.1%} ± {error:.1%} | {ratio:.2f} |"


def lines(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the repeats in a file."""
    if file.exists():
        yield from map(json.loads, file.read_text().splitlines())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--algo", default="auto")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in asked.tables.split(","):
        run(name, asked.repeats, asked.results, asked.algo)
    print("\n".join(table(asked.results)))


if __name__ == "__main__":
    main()
