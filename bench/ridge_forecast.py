"""Between what shares of a ridge regression's gain does a default fit keep, as `dpcore plan` says?

Fits by `auto` at delta 1e-6 on samples of public tables and of generated ones, whose columns and
targets have the bounds that the table has, and on the eight sets of small_regression.py with the
bounds of their columns. A share is that of the gain over the mean: squared error on rows that the
fit did not see below the variance, over what a ridge regression without privacy on the same rows
has (its penalty picked by cross-validation); cut at 0 below and at 1 above, and left out where
that one gains less than 5 % of the variance. Then, for u = n mu / sqrt(columns), the constants c
and p of 1 / (1 + (c / u)^p) whose curve has 5 % of the shares below it, and 95 % (pinball loss;
each table weighs the same), and for each table how many of its shares are between curves that were
fitted on the others.

    DPCORE_DATA_DIR=... python bench/ridge_forecast.py --packages FOLDER [--repeats 3]
        [--measured results/ridge_forecast.csv]

With ``--measured`` a file of earlier values is read if it is there, and written if it is not.
FOLDER holds the packages of development.toml, unpacked: pip install --no-deps --target FOLDER.
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import math
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from listed_tables import ListedTable
from printed import parser_of
from public_tables import TABLES
from scaled_ridge import tables_of
from scipy.optimize import minimize
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dpcore import Schema, fit
from dpcore.accountants import GdpAccountant
from dpcore.errors import DpcoreWarning

EPSILONS, DELTA, SIZES = (0.05, 0.1, 0.3, 1.0, 3.0), 1e-6, (200, 500, 1000, 3000, 10_000)
SETS = ("airfoil", "autompg", "bike", "concrete", "energy", "pol", "skillcraft", "stock")
LEAST_GAIN = 0.05
LEFT_OUT = (0.05, 0.95)


def development() -> Iterator[tuple[str, pd.DataFrame, Schema, str]]:
    """Return the tables of DPCORE_DATA_DIR and of public_tables.py that have a real target."""
    words = {"use": "development", "task": "regression", "package": "", "file": "", "sha256": ""}
    for name in SETS:
        frame = pd.read_csv(Path(os.environ["DPCORE_DATA_DIR"]) / "regression" / f"{name}.csv.gz")
        frame.columns = [f"c{k}" for k in range(frame.shape[1])]
        target = str(frame.columns[-1])
        yield name, frame, ListedTable(name=name, target=target, **words).schema(frame), target
    for table in TABLES:
        schema = Schema.read(table.schema)
        if schema.label.is_real:
            yield table.name, table.load(), schema, str(schema.label.name)
    affairs = __import__("statsmodels.datasets.fair", fromlist=["fair"]).load_pandas().data
    schema = ListedTable(name="affairs", target="affairs", **words).schema(affairs)
    yield "affairs", affairs, schema, "affairs"


def without_privacy(train: pd.DataFrame, test: pd.DataFrame, target: str) -> np.ndarray:
    """Return the predictions of a ridge regression of the columns, categories one by one."""
    both = pd.get_dummies(pd.concat([train, test]).drop(columns=target).fillna(0)).to_numpy(float)
    model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 4, 11)))
    model.fit(both[: len(train)], train[target].to_numpy(float))
    return np.asarray(model.predict(both[len(train) :]))


def measure(
    name: str, frame: pd.DataFrame, schema: Schema, target: str, repeats: int
) -> Iterator[dict[str, object]]:
    """Return the mean share that is kept by fits of each size and epsilon."""
    for size in sorted({min(size, len(frame) * 4 // 5) for size in SIZES}):
        gains: dict[float, list[tuple[float, float]]] = {epsilon: [] for epsilon in EPSILONS}
        for repeat in range(repeats):
            order = np.random.default_rng(repeat).permutation(len(frame))
            rows = order[:size], order[size : size + 4000]
            train, test = (frame.iloc[k].reset_index(drop=True) for k in rows)
            y = test[target].to_numpy(float)

            def gain(predicted: np.ndarray, y: np.ndarray = y) -> float:
                return 1 - float(np.mean((y - predicted) ** 2) / np.var(y))

            plain = gain(without_privacy(train, test, target))
            for epsilon in EPSILONS:
                words = {"schema": schema, "loss": "ridge", "delta": DELTA}
                model = fit(train, epsilon=epsilon, **words)
                gains[epsilon].append((gain(np.asarray(model.predict(test))), plain))
        for epsilon, found in gains.items():
            ours, plain = np.mean(found, axis=0)
            if plain >= LEAST_GAIN:
                mu = math.sqrt(GdpAccountant.from_budget(epsilon, DELTA).budget)
                u = size * mu / math.sqrt(model.w.size)
                head = {"table": name, "rows": size, "columns": model.w.size, "epsilon": epsilon}
                yield {**head, "u": round(u, 3), "kept": round(ours / plain, 4)}


def share_kept(u: np.ndarray, c: float, p: float) -> np.ndarray:
    return 1 / (1 + (c / u) ** p)


def curve(measured: pd.DataFrame, share: float) -> tuple[float, float]:
    """Return c and p of the curve that has this share of the values below it."""
    u, kept = measured["u"].to_numpy(), np.clip(measured["kept"].to_numpy(), 0, 1)
    weights = 1 / measured.groupby("table")["u"].transform("size").to_numpy()

    def pinball(point: np.ndarray) -> float:
        apart = kept - share_kept(u, math.exp(point[0]), point[1])
        return float(np.sum(weights * np.where(apart > 0, share * apart, (share - 1) * apart)))

    starts = [[np.log(c), p] for c in (5, 20, 80) for p in (1.0, 2.5)]
    best = min((minimize(pinball, s, method="Nelder-Mead") for s in starts), key=lambda r: r.fun)
    return math.exp(best.x[0]), float(best.x[1])


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--measured", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", DpcoreWarning)
    if asked.measured and asked.measured.exists():
        measured = pd.read_csv(asked.measured)
    else:
        lines = []
        for table in (*development(), *tables_of("development", asked.packages)):
            lines += measure(*table, asked.repeats)
            print(table[0], len(lines), flush=True)
        measured = pd.DataFrame(lines)
        if asked.measured:
            measured.to_csv(asked.measured, index=False)
    ends = [curve(measured, share) for share in LEFT_OUT]
    middle = curve(measured, 0.5)
    print(f"u: a 20th below c={ends[0][0]:.1f}, p={ends[0][1]:.2f}; half c={middle[0]:.1f}, "
          f"p={middle[1]:.2f}; a 20th above c={ends[1][0]:.1f}, p={ends[1][1]:.2f}")  # fmt: skip
    inside = []
    for name, own in measured.groupby("table"):
        others = measured[measured["table"] != name]
        low, high = (share_kept(own["u"].to_numpy(), *curve(others, share)) for share in LEFT_OUT)
        kept = np.clip(own["kept"].to_numpy(), 0, 1)
        held = (kept >= low - 0.005) & (kept <= high + 0.005)
        inside.append(held.mean())
        print(f"{name:14} {held.sum():>3} of {len(held):>3} between the curves of the others")
    print(f"mean over tables: {np.mean(inside):.3f}")


if __name__ == "__main__":
    main()
