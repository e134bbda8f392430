"""How far from the mean's error is a ridge regression on small tables, beside published metrics?

Eight sets of DPCORE_DATA_DIR/regression, prepared as their benchmark does (Wang, UAI 2018): the
target less its mean, over its largest size; columns standardised; rows scaled to length 1. Test
error over that of the mean, mean of the folds with its standard error, for ten epsilons at delta
1e-6, beside the published errors of AdaSSP and without privacy. The line `to reach` is the least of
1.02 and the largest of AdaSSP's metrics from that epsilon on; "!" marks a metric above it.

    python bench/small_regression.py [--algos auto,NAME:PRESET] [--sets NAME,...] [--repeats 1]
        [--out bench/results/small_regression.csv]

With ``--left-out``, for each set: the constants of ``gram-ridge`` that are best on the seven
others, of a few about the defaults, at epsilons .1, .5 and 1; what they reach on this set, and what
the defaults do.

    python bench/small_regression.py --left-out
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import json
import math
import os
import warnings
from pathlib import Path

import numpy as np
from printed import OUT, keep, mean_and_error

from dpcore import fit
from dpcore.errors import DpcoreWarning

FOLDS, DELTA = 10, 1e-6
AROUND: list[dict[str, float]] = [
    {},
    {"squares_share": 0.15},
    {"squares_share": 0.5},
    {"steps": 4},
    {"steps": 24},
    {"looks_share": 0.03},
    {"looks_share": 0.12},
]
PUBLIC = {"target_bounds": (-1, 1), "row_norm": 1.0, "loss": "ridge", "delta": DELTA}


def prepared(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return features and targets as the benchmark has them."""
    rows = np.loadtxt(file, delimiter=",", skiprows=1)
    X, y = rows[:, :-1], rows[:, -1] - rows[:, -1].mean()
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y / np.abs(y).max()


def fold_errors(X: np.ndarray, y: np.ndarray, repeats: int, **words) -> list[float]:
    """Return the test error over the mean's of every fold, in ``repeats`` ways of dealing them."""
    errors = []
    for repeat in range(repeats):
        dealt = np.random.default_rng(repeat).permutation(len(y)) % FOLDS
        for fold in range(FOLDS):
            test = dealt == fold
            model = fit(X[~test], y[~test], **PUBLIC, **words)
            missed = np.mean((model.predict(X[test]) - y[test]) ** 2)
            errors.append(float(missed / np.mean(y[test] ** 2)))
    return errors


def to_reach(published: list[float]) -> list[float]:
    """Return what is to be reached at each epsilon: AdaSSP's metrics are not monotone."""
    return [min(1.02, max(published[k:])) for k in range(len(published))]


def cell(errors: list[float], limit: float = math.inf) -> str:
    mean, error = np.mean(errors), np.std(errors, ddof=1) / math.sqrt(len(errors))
    return f"{mean:6.3f}{'!' if mean > limit else ' '}({error:.3f})"


def line(name: str, cells: list[str]) -> None:
    print(f"  {name:24}" + "".join(f"{text:>15}" for text in cells), flush=True)


def left_out(folder: Path, names: list[str], epsilons: list[str]) -> None:
    """Print, for each set, what the constants that are best on all others reach on it."""
    metrics = np.empty((len(AROUND), len(names), len(epsilons)))
    for k, name in enumerate(names):
        X, y = prepared(folder / f"{name}.csv.gz")
        for i, params in enumerate(AROUND):
            words = {"algo": "gram-ridge", "params": params}
            errors = [fold_errors(X, y, 1, epsilon=float(e), **words) for e in epsilons]
            metrics[i, k] = np.mean(errors, axis=1)
    print(f"left out, epsilon {', '.join(epsilons)}: best on the others; the defaults")
    for k, name in enumerate(names):
        others = np.delete(metrics, k, axis=1)
        best = int(np.argmin(others.mean(axis=(1, 2))))
        cells = [f"{metric:.3f}" for metric in (*metrics[best, k], *metrics[0, k])]
        line(name, [*cells, str(AROUND[best] or "the defaults")])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--algos", default="auto")
    parser.add_argument("--sets", default="")
    parser.add_argument("--epsilons", default="")
    parser.add_argument("--relation", default="add-or-remove-one")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--left-out", action="store_true")
    parser.add_argument("--out", type=Path, help=OUT)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", DpcoreWarning)
    folder = Path(os.environ["DPCORE_DATA_DIR"]) / "regression"
    published = json.loads((folder / "published.json").read_text())
    if asked.left_out:
        left_out(folder, list(published), ["0.1", "0.5", "1"])
        return
    rows = []
    for name in asked.sets.split(",") if asked.sets else published:
        X, y = prepared(folder / f"{name}.csv.gz")
        metrics = published[name]["AdaSSP"]
        epsilons = asked.epsilons.split(",") if asked.epsilons else list(metrics)
        limits = dict(zip(metrics, to_reach(list(metrics.values())), strict=True))
        print(f"{name}, {len(y)} x {X.shape[1]}, epsilon {', '.join(epsilons)}")
        line("AdaSSP, published", [f"{metrics[e]:.3f}" for e in epsilons])
        line("to reach", [f"{limits[e]:.3f}" for e in epsilons])
        for algo in asked.algos.split(","):
            base, _, preset = algo.partition(":")
            words = {"algo": base, "preset": preset or None, "relation": asked.relation}
            found = {
                e: fold_errors(X, y, asked.repeats, epsilon=float(e), **words) for e in epsilons
            }
            line(algo, [cell(errors, limits[e]) for e, errors in found.items()])
            head = {"table": name, "rows": len(y), "columns": X.shape[1]}
            for e, errors in found.items():
                ratio, error = mean_and_error(errors)
                row = head | {"epsilon": e, "algorithm": algo, "error ratio": f"{ratio:.3f}"}
                rows.append(row | {"standard error": f"{error:.3f}", "published": metrics[e]})
        line("non-private", [cell(fold_errors(X, y, asked.repeats, algo="nonprivate"))])
    keep(asked.out, rows)


if __name__ == "__main__":
    main()
