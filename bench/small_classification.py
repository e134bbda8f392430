"""Is the default as good as the commoner class on small tables, and how far from no privacy?

Fits of `auto` at delta = 1e-6, each of a fresh sample of rows, with no public number of rows:

* a9a: samples of the training file, tested on the test file; logistic loss.
* breast-cancer: scikit-learn's 569 x 30, bounds of the columns public; ten folds; logistic loss.
* kddcup99-10: samples, tested on 20,000 other rows; hinge.
* shuffled: adult with its labels in a random order, which nothing tells apart; logistic loss.
* adult, bank, census-sim: samples, tested on the rest; on these the constants were developed.

Printed: n times mu of the budget, the share of the test rows' commoner class, mean test accuracy in
% with its standard error, and that of scikit-learn's LogisticRegression (C = 0.1, standardised
columns) on the same rows. "!" marks a mean more than .3 below the commoner class where n mu is 60
or more.

    DPCORE_DATA_DIR=... python bench/small_classification.py [--data a9a] [--samples 40]
        [--epsilon .5] [--least 1000] [--most 3000] [--out bench/results/small_classification.csv]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from printed import OUT, keep, mean_and_error, parser_of
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dpcore import fit
from dpcore.accountants import GdpAccountant
from dpcore.errors import DpcoreWarning
from dpcore.registry.catalogue import load_registry

DELTA, ALLOWED, TELLING = 1e-6, 0.3, 60.0
MOST_TESTED = 20_000


@dataclass(frozen=True)
class Source:
    """Rows without the intercept's column, labels -1 and 1, and what of them is public.

    ``training`` : so many of the first rows are for samples, the others for tests; 0: any rows.
    """

    X: Any
    y: np.ndarray
    public: dict[str, Any]
    sizes: tuple[int | None, ...]
    epsilons: tuple[float, ...]
    loss: str = "logistic"
    training: int = 0

    def splits(self, size: int | None, samples: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield numbers of rows to train and to test on; all rows: ten folds of each order."""
        n = len(self.y)
        for sample in range(samples):
            if size is None and not self.training:
                order = np.random.default_rng(sample // 10).permutation(n)
                test = order[sample % 10 :: 10]
                yield np.setdiff1d(order, test), test
                continue
            order = np.random.default_rng(sample).permutation(self.training or n)
            rest = np.arange(self.training, n) if self.training else order[size:]
            yield order[:size], rest[:MOST_TESTED]


def _of_dpcore(name: str, **settings: Any) -> Source:
    data = load_registry().load("dataset", name)()
    if name == "kddcup99-10":  # its rows are in the order of time
        data = data.take(np.random.default_rng(0).permutation(len(data.y))[: 3 * MOST_TESTED])
    public = {"classes": (-1, 1), "row_norm": data.row_norm}
    rows = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    return Source(rows[:, :-1], np.asarray(data.y), public, **settings)


def _breast_cancer() -> Source:
    X, y = load_breast_cancer(return_X_y=True)
    public = {"classes": (-1, 1), "bounds": (X.min(axis=0), X.max(axis=0)), "row_norm": None}
    return Source(X, 2.0 * y - 1, public, sizes=(None,), epsilons=(0.5, 1.0, 3.0))


def source_of(name: str) -> Source:
    if name == "breast-cancer":
        return _breast_cancer()
    if name == "kddcup99-10":
        return _of_dpcore(name, sizes=(500, 2000), epsilons=(0.1, 0.5, 1.0), loss="hinge-svm")
    settings: dict[str, Any] = {"sizes": (300, 1000, 3000, 10_000), "epsilons": (0.1, 0.5, 1.0)}
    if name == "shuffled":
        source = _of_dpcore("adult", **settings)
        return replace(source, y=np.random.default_rng(0).permutation(source.y))
    if name == "a9a":
        settings |= {"sizes": (300, 1000, 3000, 10_000, None), "training": 32_561}
    return _of_dpcore(name, **settings)


NAMES = ("adult", "bank", "census-sim", "breast-cancer", "kddcup99-10", "shuffled", "a9a")


def measure(source: Source, size: int | None, epsilon: float, samples: int) -> np.ndarray:
    """Return for each sample the shares in % of the commoner class, of right predictions, and of
    right ones without privacy, and the number of rows trained on."""
    found = []
    for train, test in source.splits(size, samples):
        X, y, told = source.X[train], source.y[train], source.y[test]
        model = fit(X, y, epsilon=epsilon, delta=DELTA, loss=source.loss, **source.public)
        plain = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000)).fit(X, y)
        right = [np.mean(m.predict(source.X[test]) == told) for m in (model, plain)]
        commoner = max(np.mean(told > 0), np.mean(told < 0))
        found.append([100 * commoner, *(100 * share for share in right), len(train)])
    return np.array(found)


def print_line(source: Source, size: int | None, epsilon: float, samples: int) -> dict[str, str]:
    """Print what was found of a size and an epsilon, and return it by its names."""
    found = measure(source, size, epsilon, samples)
    commoner, ours, plain, rows = found.mean(axis=0)
    error = mean_and_error(found[:, 1])[1]
    signal = rows * math.sqrt(GdpAccountant.from_budget(epsilon, DELTA).budget)
    mark = "!" if signal >= TELLING and ours < commoner - ALLOWED else " "
    print(
        f"{rows:>8.0f}{epsilon:>9g}{signal:>9.0f}{commoner:>10.1f}{ours:>8.1f}{mark}({error:.1f})"
        f"{plain:>13.1f}",
        flush=True,
    )
    shown = {"rows": f"{rows:.0f}", "commoner": f"{commoner:.1f}", "non-private": f"{plain:.1f}"}
    accuracy = {"accuracy": f"{ours:.1f}", "standard error": f"{error:.1f}"}
    return shown | {"epsilon": f"{epsilon:g}"} | accuracy


def main() -> None:
    parser = parser_of(__doc__, NAMES)
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--least", type=int, default=0, help="leave smaller samples out")
    parser.add_argument("--most", type=int, default=10**6, help="leave larger samples out")
    parser.add_argument("--out", type=Path, help=OUT)
    asked = parser.parse_args()
    rows = []
    warnings.simplefilter("ignore", DpcoreWarning)
    for name in asked.data or NAMES:
        source = source_of(name)
        print(f"{name}, {source.loss}")
        print("    rows  epsilon     n mu  commoner    auto (error)  non-private")
        for size in source.sizes:
            if not asked.least <= (size or source.training or len(source.y)) <= asked.most:
                continue
            for epsilon in asked.epsilon or source.epsilons:
                found = print_line(source, size, epsilon, samples=asked.samples)
                rows.append({"table": name, "loss": source.loss} | found)
    keep(asked.out, rows)


if __name__ == "__main__":
    main()
