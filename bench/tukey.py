"""Where does `tukey-em` pay? R2 on rows held out, beside `gram-ridge`, by how wide the bounds are.

    DPCORE_DATA_DIR=... python bench/tukey.py [--epsilon 1 --epsilon 4] [--sets NAME,...]
        [--folds 5] [--out bench/results/tukey.csv]
    DPCORE_DATA_DIR=... python bench/tukey.py --columns [--out bench/results/tukey_columns.csv] ...
    python bench/tukey.py --shares [--folds 3]

The tables of DPCORE_DATA_DIR/regression with 3,000 rows or more, columns and target standardised,
and two made ones of 100,000 rows of 10 columns, normal and Student's t (3), R2 1/2 without noise.
Public bounds are 1, 10 and 100 times the largest size of a column. Under add-or-remove-one, delta
1e-6: the mean over the folds with its standard error, and in how many folds the test failed.

``--columns``: with the private choice of 3 and of 5 columns, bounds 10 and 100 times as wide, and
made tables of which 5 columns explain the target, R2 1/2 without noise: 50,000 rows of 100 normal
columns, and 20,000 of 40 where each has half of its variance in common with nine others ("alike").
``--shares``: R2 by the share of epsilon for the choice of 5 columns, on made tables.
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from printed import OUT, keep, mean_and_error, parser_of

from dpcore import Algorithm, fit
from dpcore.errors import DpcoreWarning

DELTA, TIMES = 1e-6, (1, 10, 100)
ALGORITHMS: dict[str, dict[str, Any]] = {
    "tukey-em": {"algo": "tukey-em"},
    "tukey-em:paper": {"algo": Algorithm("tukey-em", preset="paper")},
    "gram-ridge": {"algo": "gram-ridge"},
}
SETS = ("skillcraft", "pol", "bike", "normal", "student")
WITH_COLUMNS = {
    "tukey-em": {"algo": "tukey-em"},
    "tukey-em, 3 columns": {"algo": "tukey-em", "params": {"columns": 3}},
    "tukey-em, 5 columns": {"algo": "tukey-em", "params": {"columns": 5}},
    "gram-ridge": {"algo": "gram-ridge"},
}
WIDE = {"wide40": (20_000, 40), "wide100": (50_000, 100), "alike": (20_000, 40)}
SETS_OF_COLUMNS = ("skillcraft", "pol", "bike", "alike", "wide100")
SHARES = (0.03, 0.05, 0.1, 0.2, 0.3, 0.5)


def table_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised features and targets."""
    if name in ("normal", "student"):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(100_000, 10)) if name == "normal" else rng.standard_t(3, (100_000, 10))
        signal = X @ rng.normal(size=10)
        y = signal + signal.std() * rng.normal(size=len(X))
    elif name in WIDE:
        X, y = wide_table(*WIDE[name], groups=name == "alike")
    else:
        file = Path(os.environ["DPCORE_DATA_DIR"]) / "regression" / f"{name}.csv.gz"
        rows = np.loadtxt(file, delimiter=",", skiprows=1)
        X, y = rows[:, :-1], rows[:, -1]
    varied = X.std(axis=0) > 0
    X = (X[:, varied] - X[:, varied].mean(axis=0)) / X[:, varied].std(axis=0)
    return X, (y - y.mean()) / y.std()


def wide_table(n: int, d: int, groups: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of d columns, in groups of ten or not, of which 5 explain the target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    if groups:
        X += np.repeat(rng.normal(size=(n, d // 10)), 10, axis=1)
    columns = rng.choice(d, 5, replace=False)
    signal = X[:, columns] @ rng.normal(size=5)
    return X, signal + signal.std() * rng.normal(size=n)


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


def print_shares(folds: int, epsilons: list[float]) -> None:
    """Print R2 by the share of epsilon for the choice of 5 columns, on made tables."""
    for name in ("normal", *WIDE):
        X, y = table_of(name)
        for epsilon in epsilons:
            for share in SHARES:
                words = {"algo": "tukey-em", "params": {"columns": 5, "choice_share": share}}
                found = folds_of(X, y, folds, 10, epsilon=epsilon, **words)
                r2, error = mean_and_error([each for each, _ in found])
                print(
                    f"{name:8} epsilon {epsilon:g}  share {share:g}  R2 {r2:.3f} ({error:.3f})"
                    f"  failed {sum(each for _, each in found):g} of {folds}",
                    flush=True,
                )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--sets", help="Names of tables, with commas between.")
    parser.add_argument("--columns", action="store_true", help="With the choice of columns.")
    parser.add_argument("--shares", action="store_true", help="R2 by the share of the choice.")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--out", type=Path, help=OUT)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", DpcoreWarning)
    if asked.shares:
        return print_shares(asked.folds, asked.epsilon or [0.3, 1.0])
    sets, algorithms, bounds = SETS, ALGORITHMS, TIMES
    if asked.columns:
        sets, algorithms, bounds = SETS_OF_COLUMNS, WITH_COLUMNS, TIMES[1:]
    rows = []
    for name in asked.sets.split(",") if asked.sets else sets:
        X, y = table_of(name)
        fitted = {"epsilon": 1.0, "algo": "nonprivate"}
        plain = mean_and_error([r2 for r2, _ in folds_of(X, y, asked.folds, 1, **fitted)])
        print(f"{name}, {len(y)} x {X.shape[1]}, without privacy {plain[0]:.3f}")
        for epsilon in asked.epsilon or (1.0, 4.0):
            for algorithm, words in algorithms.items():
                for times in bounds:
                    found = folds_of(X, y, asked.folds, times, epsilon=epsilon, **words)
                    r2, error = mean_and_error([each for each, _ in found])
                    failed = int(sum(each for _, each in found))
                    print(
                        f"  epsilon {epsilon:g}  {algorithm:19} bounds x {times:<4} "
                        f"R2 {r2:7.3f} ({error:.3f})  failed {failed} of {asked.folds}",
                        flush=True,
                    )
                    head = {"table": name, "rows": len(y), "columns": X.shape[1]}
                    head |= {"epsilon": epsilon, "algorithm": algorithm, "bounds times": times}
                    values = {"R2": f"{r2:.3f}", "standard error": f"{error:.3f}"}
                    plainly = {"failed": failed, "R2 without privacy": f"{plain[0]:.3f}"}
                    rows.append(head | values | plainly)
    keep(asked.out, rows)


if __name__ == "__main__":
    main()
