"""Does it pay to shrink each curve towards a line, as far as noise may explain it?

A curve's eight hats have coefficients w_h, whose noise has a covariance S. What is no line is
c = w_h - B b, where B holds 1 and the knots' places and b is the fit by S^-1; without a curve
c' S^-1 c is chi^2 with 6 degrees of freedom. Block James-Stein multiplies c by
max(0, 1 - 4 / c' S^-1 c), so that a column without evidence becomes a line. A run does not know S.
Here S is that of the fits of one split, with seeds 1, 2, ...: better than any estimate of a run's
own, so that numbers are what shrinking would do at best. The mean margin is kept.

Fits are of dp-gd with `curves=all` at delta 1e-8, on four fifths of a development table's rows,
drawn anew for each split; metrics are of the other fifth, over all fits of a split: accuracy in %,
area under the ROC curve times 100, or R2 times 100. For each table and epsilon: u, the metric of
curves as fitted, what shrinking adds, with the standard error over splits, and the part of columns
that become lines.

    DPCORE_DATA_DIR=... python bench/shrunken_curves.py --packages FOLDER [--tables adult,pima]
        [--epsilon 0.1] [--splits 3] [--fits 20] [--out bench/results/shrunken_curves.csv]

FOLDER is that of bench/curves.py.
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from curves import DELTA, Rows, tables_of
from printed import OUT, keep, mean_and_error, parser_of

from dpcore import fit
from dpcore.errors import DpcoreWarning

TABLES, EPSILONS = "adult,credit-default,phoneme,compas,pima", (0.1, 1.0)


@dataclass(frozen=True)
class Scored:
    """Margins or predictions of test rows, as a model has them."""

    values: np.ndarray

    @classmethod
    def of(cls, model: Any, frame: pd.DataFrame) -> Scored:
        is_real = model.schema.label.is_real
        return cls(np.asarray((model.predict if is_real else model.decision_function)(frame)))

    def decision_function(self, frame: pd.DataFrame) -> np.ndarray:
        return self.values

    predict = decision_function


def hats_of(model: Any) -> Iterator[slice]:
    """Yield the places of each curve's hats among the coefficients."""
    for first, width in model.schema.curve_features:
        yield slice(first, first + width)


def shrunken(w: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, float]:
    """Return hats' coefficients with what is no line shrunk, and the factor."""
    inverse = np.linalg.pinv(covariance, rcond=1e-6, hermitian=True)
    line = np.column_stack([np.ones(w.size), np.linspace(0.0, 1.0, w.size)])
    straight = line @ (np.linalg.pinv(line.T @ inverse @ line) @ (line.T @ inverse @ w))
    evidence = float((w - straight) @ inverse @ (w - straight))
    factor = max(0.0, 1 - (w.size - 4) / max(evidence, 1e-12))
    return straight + factor * (w - straight), factor


def measure(rows: Rows, epsilon: float, split: int, fits: int) -> dict[str, float]:
    """Return the means over the fits of a split: metrics, what shrinking adds, and the columns that
    become lines."""
    train, test = rows.split(split)
    known: dict[str, Any] = {"schema": rows.schema, "epsilon": epsilon, "delta": DELTA}
    known |= {"algo": "dp-gd", "params": {"curves": "all"}}
    models = [fit(train, seed=seed, **known) for seed in range(1, fits + 1)]
    of_fits, found, factors = np.array([model.w for model in models]), [], []
    # An inverse of a covariance of so few fits is too large by this.
    times = (fits - 1) / (fits - 10)
    for model in models:
        w = model.w.copy()
        for place in hats_of(model):
            w[place], factor = shrunken(w[place], times * np.cov(of_fits[:, place].T))
            factors.append(factor)
        before, after = (Scored.of(each, test).values for each in (model, replace(model, w=w)))
        scored = Scored(before), Scored(after + np.mean(before) - np.mean(after))
        own, other = (rows.figures(each, test) for each in scored)
        own.pop("log loss", None)  # A run would calibrate what it shrank.
        found.append(own | {f"{name} gained": other[name] - own[name] for name in own})
    mean = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
    u = float(models[0].details["u_with_hats"])
    return mean | {"u": u, "lines": float(np.mean(np.array(factors) == 0))}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--packages", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--tables", metavar="NAMES", default=TABLES, help="some, by commas")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--fits", type=int, default=20, help="of each split, 12 and more")
    parser.add_argument("--out", type=Path, help=OUT)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", DpcoreWarning)
    kept: list[dict[str, object]] = []
    for rows in tables_of("development", asked.packages):
        for epsilon in (asked.epsilon or EPSILONS) if rows.name in asked.tables.split(",") else ():
            found = [measure(rows, epsilon, split, asked.fits) for split in range(asked.splits)]
            cell = {"table": rows.name, "epsilon": f"{epsilon:g}"}
            for name in ("u", "lines"):
                cell[name] = f"{np.mean([one[name] for one in found]):.2f}"
            for name in [name for name in found[0] if f"{name} gained" in found[0]]:
                gained, error = mean_and_error([one[f"{name} gained"] for one in found])
                curves = f"{np.mean([one[name] for one in found]):.2f}"
                of = {"metric": name, "curves": curves}
                of |= {"gained": f"{gained:+.2f}", "error": f"{error:.2f}"}
                kept.append(cell | of)
                print(*(f"{key} {value}" for key, value in kept[-1].items()), sep="  ", flush=True)
    keep(asked.out, kept)


if __name__ == "__main__":
    main()
