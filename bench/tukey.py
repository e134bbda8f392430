"""Where does `tukey-em` pay? R2 on rows held out, beside `gram-ridge`, by how wide the bounds are.

    DPCORE_DATA_DIR=... python bench/tukey.py [--epsilon 1 --epsilon 4] [--sets NAME,...]
        [--folds 5] [--out bench/results/tukey.csv]

The tables of DPCORE_DATA_DIR/regression with 3,000 rows or more, columns and target standardised,
and two made ones of 100,000 rows of 10 columns, normal and Student's t (3), R2 1/2 without noise.
Public bounds are 1, 10 and 100 times the largest size of a column. Under add-or-remove-one, delta
1e-6: the mean over the folds with its standard error, and in how many folds the test failed.
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import os
import warnings
from pathlib import Path

import numpy as np
from printed import OUT, keep, mean_and_error, parser_of

from dpcore import Algorithm, fit
from dpcore.errors import DpcoreWarning

DELTA, TIMES = 1e-6, (1, 10, 100)
ALGORITHMS = {
    "tukey-em": Algorithm("tukey-em"),
    "tukey-em:paper": Algorithm("tukey-em", preset="paper"),
    "gram-ridge": Algorithm("gram-ridge"),
}
SETS = ("skillcraft", "pol", "bike", "normal", "student")


def table_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised features and targets."""
    if name in ("normal", "student"):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(100_000, 10)) if name == "normal" else rng.standard_t(3, (100_000, 10))
        signal = X @ rng.normal(size=10)
        y = signal + signal.std() * rng.normal(size=len(X))
    else:
        file = Path(os.environ["DPCORE_DATA_DIR"]) / "regression" / f"{name}.csv.gz"
        rows = np.loadtxt(file, delimiter=",", skiprows=1)
        X, y = rows[:, :-1], rows[:, -1]
    varied = X.std(axis=0) > 0
    X = (X[:, varied] - X[:, varied].mean(axis=0)) / X[:, varied].std(axis=0)
    return X, (y - y.mean()) / y.std()


def folds_of(X: np.ndarray, y: np.ndarray, folds: int, times: int, **words) -> list[list[float]]:
    """Return R2 of each fold, and 1 where the test failed."""
    size = times * np.abs(X).max(axis=0)
    width = times * float(np.abs(y).max())
    public = {"bounds": (-size, size), "target_bounds": (-width, width), "loss": "ridge"}
    dealt, found = np.random.default_rng(0).permutation(len(y)) % folds, []
    for fold in range(folds):
        test = dealt == fold
        model = fit(X[~test], y[~test], delta=DELTA, seed=fold, **public, **words)
        missed = np.mean((model.predict(X[test]) - y[test]) ** 2)
        passed = model.report["details"].get("test_passed", True)
        found.append([1 - missed / np.var(y[test]), float(not passed)])
    return found


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--out", type=Path, help=OUT)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", DpcoreWarning)
    rows = []
    for name in asked.sets.split(","):
        X, y = table_of(name)
        fitted = {"epsilon": 1.0, "algo": "nonprivate"}
        plain = mean_and_error([r2 for r2, _ in folds_of(X, y, asked.folds, 1, **fitted)])
        print(f"{name}, {len(y)} x {X.shape[1]}, without privacy {plain[0]:.3f}")
        for epsilon in asked.epsilon or (1.0, 4.0):
            for algorithm, algo in ALGORITHMS.items():
                for times in TIMES:
                    found = folds_of(X, y, asked.folds, times, epsilon=epsilon, algo=algo)
                    r2, error = mean_and_error([each for each, _ in found])
                    failed = int(sum(each for _, each in found))
                    print(
                        f"  epsilon {epsilon:g}  {algorithm:16} bounds x {times:<4} "
                        f"R2 {r2:7.3f} ({error:.3f})  failed {failed} of {asked.folds}",
                        flush=True,
                    )
                    head = {"table": name, "rows": len(y), "columns": X.shape[1]}
                    head |= {"epsilon": epsilon, "algorithm": algorithm, "bounds times": times}
                    figures = {"R2": f"{r2:.3f}", "standard error": f"{error:.3f}"}
                    plainly = {"failed": failed, "R2 without privacy": f"{plain[0]:.3f}"}
                    rows.append(head | figures | plainly)
    keep(asked.out, rows)


if __name__ == "__main__":
    main()
