"""How much of a model without privacy does a default fit keep, by the signal u = n mu / sqrt(d)?

For each kind of loss the constants c and p of kept(u) = 1 / (1 + (c / u)^p) that miss the measured
shares by least in the mean (dpcore_baselines.expected_utility has them), then half and nine tenths
of what they miss by. A share is that of the gain over a constant: in accuracy over the commoner
class's, or in squared error below the variance. delta is 1e-6.

* two classes: samples of 300 to 30,000 rows of adult, bank and census-sim, logistic loss, beside
  scikit-learn's LogisticRegression on the same rows, as small_classification.py measures; of 1,000
  and 10,000 rows also with the 5 and the 20 columns alone that are correlated most with the label.
* squares: the eight sets of small_regression.py, ten folds, beside their models without privacy.
  Their rows were standardised without privacy; what `dpcore plan` says is of tables as they come
  (ridge_forecast.py).

    DPCORE_DATA_DIR=... python bench/expected_utility.py [--kinds classes,squares]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import json
import math
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import small_classification
import small_regression
from scipy.optimize import minimize

from dpcore.accountants import GdpAccountant
from dpcore.errors import DpcoreWarning

SAMPLES = {300: 12, 1000: 10, 3000: 6, 10_000: 4, 30_000: 3}
NARROW, SIZES_OF_NARROW = (5, 20), (1000, 10_000)
EPSILONS_OF_CLASSES = (0.02, 0.1, 0.3, 1.0, 3.0)
EPSILONS_OF_SQUARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
DELTA = small_regression.DELTA


@dataclass(frozen=True)
class Measured:
    """The share kept on average by default fits of so many rows and columns."""

    name: str
    n: float
    n_features: int
    epsilon: float
    kept: float

    @property
    def signal(self) -> float:
        mu = math.sqrt(GdpAccountant.from_budget(self.epsilon, DELTA).budget)
        return self.n * mu / math.sqrt(self.n_features)


def narrowed(X: np.ndarray, y: np.ndarray, columns: int) -> np.ndarray:
    """Return so many columns: those that are correlated most with the label."""
    spread = np.where(X.std(axis=0) > 0, X.std(axis=0), np.inf)
    correlated = np.abs((y - y.mean()) @ (X - X.mean(axis=0))) / spread
    return np.ascontiguousarray(X[:, np.argsort(-correlated)[:columns]])


def of_classes() -> Iterator[Measured]:
    for name in ("adult", "bank", "census-sim"):
        whole = small_classification._source(name)
        for columns in (*NARROW, whole.X.shape[1]):
            source = replace(whole, X=narrowed(whole.X, whole.y, columns))
            for size, samples in SAMPLES.items():
                if columns in NARROW and size not in SIZES_OF_NARROW:
                    continue
                for epsilon in EPSILONS_OF_CLASSES:
                    found = small_classification.measure(source, size, epsilon, samples)
                    commoner, ours, plain, rows = found.mean(axis=0)
                    kept = (ours - commoner) / (plain - commoner)
                    yield Measured(name, rows, columns + 1, epsilon, kept)
        left = (100 - plain) / (100 - commoner)
        print(f"{name}: {left:.3f} of the constant's errors are left without privacy", flush=True)


def of_squares() -> Iterator[Measured]:
    folder = Path(os.environ["DPCORE_DATA_DIR"]) / "regression"
    for name in json.loads((folder / "published.json").read_text()):
        X, y = small_regression.prepared(folder / f"{name}.csv.gz")
        rows, plain = 0.9 * len(y), small_regression.fold_errors(X, y, 1, algo="nonprivate")
        for epsilon in EPSILONS_OF_SQUARES:
            ours = small_regression.fold_errors(X, y, 1, epsilon=epsilon)
            kept = (1 - np.mean(ours)) / (1 - np.mean(plain))
            yield Measured(name, rows, X.shape[1] + 1, epsilon, float(kept))
        print(f"{name}: {np.mean(plain):.3f} of the variance is left without privacy", flush=True)


def share_kept(u: np.ndarray, c: float, p: float) -> np.ndarray:
    return 1 / (1 + (c / u) ** p)


def print_fit(kind: str, measured: list[Measured]) -> None:
    """Print c and p, fitted to shares cut at 0: worse than a constant is no more than none kept."""
    u, kept = (np.array([getattr(m, key) for m in measured]) for key in ("signal", "kept"))
    kept = np.maximum(kept, 0.0)

    def missed(point: np.ndarray) -> float:
        return float(np.mean(np.abs(share_kept(u, math.exp(point[0]), point[1]) - kept)))

    c, p = minimize(missed, [2.0, 1.5], method="Nelder-Mead").x
    errors = np.abs(share_kept(u, math.exp(c), p) - kept)
    middle = errors[(kept > 0.1) & (kept < 0.9)]
    print(
        f"{kind}: c = {math.exp(c):.1f}, p = {p:.2f}; half of {len(u)} within "
        f"{np.median(errors):.2f}, nine tenths within {np.quantile(errors, 0.9):.2f}; half of the "
        f"{len(middle)} with .1 to .9 kept within {np.median(middle):.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", default="classes,squares")
    kinds = parser.parse_args().kinds.split(",")
    warnings.simplefilter("ignore", DpcoreWarning)
    for kind, measure in {"classes": of_classes, "squares": of_squares}.items():
        if kind not in kinds:
            continue
        measured = []
        for m in measure():
            print(
                f"  {m.name:12}{m.n:>7.0f} x {m.n_features:<4}epsilon {m.epsilon:<6g}u "
                f"{m.signal:>8.1f}  kept {m.kept:6.2f}",
                flush=True,
            )
            measured.append(m)
        print_fit(kind, measured)


if __name__ == "__main__":
    main()
