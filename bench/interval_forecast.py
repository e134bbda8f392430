"""How often are there intervals, by what is public of a table?

Eleven tables: those of ``bench/intervals.py``, and seven regressions by one, three and all of their
columns, each for ridge and, above or below the middle of its target, for logistic regression. Rows
are drawn with replacement, 300 to 1,000,000, and intervals taken at the minimiser of the table by
sums in floats, with the noise of dpcore at half of the budget, delta 1e-6. Printed by the clearness
of ``dpcore_report.intervals.forecast``: the mean over cells of the share with intervals, and its
standard error.

    python bench/interval_forecast.py [--repeats 25] [--out bench/results/interval_forecast.csv]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from interval_tables import TABLES, Population, of_arrays, population
from intervals import FloatSums, inference_in, planned
from printed import OUT, keep

from dpcore_report.intervals.forecast import clearness

REGRESSIONS = ("airfoil", "autompg", "concrete", "energy", "stock", "skillcraft", "pol")
CELLS = (
    (300, 50.0),
    (1_000, 4.0),
    (3_000, 4.0),
    (10_000, 0.3),
    (10_000, 1.0),
    (10_000, 4.0),
    (100_000, 0.1),
    (100_000, 1.0),
)
CELLS += ((100_000, 4.0), (1_000_000, 1.0))
FROM = (0.0, 1.0, 5.0, 14.0, 40.0)


def problems() -> Iterator[tuple[str, Population]]:
    """Yield the problems by name."""
    for name, load in TABLES.items():
        yield name, load()
    for name in REGRESSIONS:
        file = Path(os.environ["DPCORE_DATA_DIR"]) / "regression" / f"{name}.csv.gz"
        rows = np.loadtxt(file, delimiter=",", skiprows=1)
        X, y = rows[:, :-1], rows[:, -1]
        low, high = X.min(0), X.max(0)
        varied = high > low
        X = np.ascontiguousarray((X[:, varied] - low[varied]) / (high - low)[varied])
        halves, ends = (y > np.median(y)).astype(int), (float(y.min()), float(y.max()))
        of_loss: dict[str, Any] = {
            "logistic": (halves, {"classes": (0, 1)}),
            "ridge": (y, {"classes": None, "target_bounds": ends}),
        }
        for loss, (label, public) in of_loss.items():
            for columns in (1, 3, X.shape[1]):
                few = np.ascontiguousarray(X[:, :columns])
                rows_of = of_arrays(few, label, bounds=(0, 1), **public)
                yield f"{name} by {columns}, {loss}", population(rows_of, loss)


def cells(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield of each problem, number of rows and epsilon the clearness, and how often it has
    intervals."""
    for name, table in problems():
        truth = table.minimiser(table.whole())
        for n, epsilon in CELLS:
            inference = inference_in(table, planned(table, epsilon), n)
            rng, given = np.random.default_rng(1), 0
            for _ in range(repeats):
                session: Any = FloatSums(table, table.drawn(rng, n), rng)
                given += "why_not" not in inference.estimates(session, truth)
            value = clearness(inference, n)
            yield {
                "problem": name,
                "rows": n,
                "epsilon": epsilon,
                "columns": inference.problem.n_features,
                "clearness": f"{value:.4g}",
                "with_intervals": given / repeats,
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--out", type=Path, help=OUT)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found = list(cells(asked.repeats))
    keep(asked.out, found)
    print("| clearness from | cells | with intervals |\n|---|---|---|")
    for low, high in zip(FROM, (*FROM[1:], np.inf), strict=True):
        shares = [c["with_intervals"] for c in found if low <= float(c["clearness"]) < high]
        error = np.std(shares) / max(len(shares), 1) ** 0.5
        print(f"| {low:g} | {len(shares)} | {np.mean(shares):.1%} ± {error:.1%} |")


if __name__ == "__main__":
    main()
