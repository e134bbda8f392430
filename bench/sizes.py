"""What does `auto` reach at every size, beside what is to be reached?

One table, a line for each table of rows and epsilon: mean and standard error of `auto`, what to
beat (the mean of the targets or the commoner class), what is to be reached, without privacy, and
whether constants of `auto` were developed on these rows. "!" marks a metric short of what is to be
reached by more than two standard errors. Parts, each of a script of its own here, which says how:

* regression (`small_regression.py`): test error over the mean's, eight sets, ten folds.
* classification (`small_classification.py`): accuracy in %, samples of a9a, breast-cancer,
  kddcup99-10 with the hinge; from n mu = 60 on, .3 below the commoner class is to be reached.
* wide (`wide.py`): accuracy in %, a9a's crosses, to reach 1.5 (epsilon .1) or 1 below its plain
  columns, which are given as what there is to beat.
* large (`few_passes.py`): accuracy in %, four fifths of adult, bank, census-sim and a9a.

    DPCORE_DATA_DIR=... python bench/sizes.py [--part wide --part large] [--quick]

`--quick` makes fewer fits, of fewer tables: a look, and no measurement.
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import json
import math
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import few_passes
import numpy as np
import small_classification
import small_regression
import wide
from printed import OUT, keep, mean_and_error

from dpcore.accountants import GdpAccountant
from dpcore.errors import DpcoreWarning

DEVELOPED_ON = ("adult", "bank", "census-sim")
"""The constants of dp-gd; those of gram-ridge: the eight sets of the regression, among others."""
A9A_TO_REACH = {(300, 1.0): 79.0, (1000, 0.1): 76.4, (1000, 0.5): 81.2, (1000, 1.0): 83.2}
LARGE_TO_REACH = {("adult", 0.05): 84.0, ("adult", 0.1): 84.4}
LARGE_EPSILONS = (0.05, 0.1, 0.4, 1.6)
REGRESSION_EPSILONS = (0.1, 0.5, 1.0)
HALF_WAY = {
    "autompg": 0.76,
    "stock": 0.66,
    "energy": 0.11,
    "concrete": 0.385,
    "airfoil": 0.52,
    "skillcraft": 0.48,
}
"""Half of a former default's distance to no privacy, at epsilon 1."""


@dataclass(frozen=True)
class Line:
    """A line of the table. ``sign`` : 1 where more is better, -1 where less is."""

    name: str
    epsilon: float
    metrics: tuple[float, float]
    beat: float
    reach: float = math.nan
    non_private: float = math.nan
    developed: bool = False
    sign: int = 1

    @property
    def kept(self) -> dict[str, str]:
        """The metrics as a row of a file, empty where there is none."""
        mean, error = self.metrics
        metrics = {
            "auto": mean,
            "error": error,
            "to beat": self.beat,
            "non-private": self.non_private,
        }
        row = {name: "" if math.isnan(x) else f"{x:.3f}" for name, x in metrics.items()}
        return {"rows": self.name, "epsilon": f"{self.epsilon:g}"} | row

    @property
    def text(self) -> str:
        mean, error = self.metrics
        short = self.sign * (self.reach - mean) > 2 * (0.0 if math.isnan(error) else error)
        places = 2 if self.sign > 0 else 3
        cells = [f"{metric:.{places}f}" for metric in (mean, error, self.beat)]
        cells += [
            "-" if math.isnan(x) else f"{x:.{places}f}" for x in (self.reach, self.non_private)
        ]
        marks = "!" if short else " ", "developed on" if self.developed else ""
        return (
            f"{self.name:<24}{self.epsilon:>6g}"
            + (
                f"{cells[0]:>9}{marks[0]}"
                + "".join(f"{cell:>9}" for cell in cells[1:])
                + f"  {marks[1]}"
            ).rstrip()
        )


def regression(quick: bool) -> Iterator[Line]:
    folder = Path(os.environ["DPCORE_DATA_DIR"]) / "regression"
    published = json.loads((folder / "published.json").read_text())
    for name in list(published)[:3] if quick else published:
        X, y = small_regression.prepared(folder / f"{name}.csv.gz")
        metrics = published[name]["AdaSSP"]
        limits = small_regression.to_reach(list(metrics.values()))
        reach = {float(e): limit for e, limit in zip(metrics, limits, strict=True)}
        plain = float(np.mean(small_regression.fold_errors(X, y, 1, algo="nonprivate")))
        for epsilon in REGRESSION_EPSILONS[-1:] if quick else REGRESSION_EPSILONS:
            errors = small_regression.fold_errors(X, y, 1, algo="auto", epsilon=epsilon)
            limit = min(reach[epsilon], HALF_WAY.get(name, math.inf) if epsilon == 1 else math.inf)
            rows = f"{name}, {len(y):,} x {X.shape[1]}"
            yield Line(rows, epsilon, mean_and_error(errors), 1.0, limit, plain, True, sign=-1)


def classification(quick: bool) -> Iterator[Line]:
    samples = 4 if quick else 40
    for name in ("a9a", "breast-cancer", "kddcup99-10"):
        source = small_classification.source_of(name)
        for size in [size for size in source.sizes if size is not None or name != "a9a"]:
            for epsilon in source.epsilons:
                found = small_classification.measure(source, size, epsilon, samples)
                beat, _, plain, rows = found.mean(axis=0)
                signal = rows * math.sqrt(GdpAccountant.from_budget(epsilon, 1e-6).budget)
                telling = signal >= small_classification.TELLING
                least = beat - small_classification.ALLOWED if telling else math.nan
                asked = A9A_TO_REACH.get((size or 0, epsilon), least) if name == "a9a" else least
                metrics = mean_and_error(found[:, 1])
                yield Line(f"{name}, {rows:,.0f}", epsilon, metrics, beat, asked, plain)


def wide_tables(quick: bool) -> Iterator[Line]:
    widths, fits = wide.Widths(), 1 if quick else 4
    plain = widths.plain()
    for bits in (14,) if quick else (14, 16):
        crossed = widths.crossed(bits)
        for epsilon in wide.EPSILONS:
            beat = float(np.mean([plain.fit("auto", epsilon, 1)[0] for _ in range(fits)]))
            metrics = mean_and_error([crossed.fit("auto", epsilon, 1)[0] for _ in range(fits)])
            reach = beat - (1.5 if epsilon < 0.4 else 1.0)
            yield Line(f"a9a, {2**bits:,} crosses", epsilon, metrics, beat, reach)


def large(quick: bool) -> Iterator[Line]:
    for name in few_passes.DATA:
        folds = few_passes.folds_of(name)
        for epsilon in LARGE_EPSILONS[1::2] if quick else LARGE_EPSILONS:
            each = [
                fold.fit(epsilon, {}, "auto")[0] for fold in folds for _ in range(1 if quick else 4)
            ]
            shares = [np.mean(fold.train.y > 0) for fold in folds]
            beat = 100 * float(np.mean([max(share, 1 - share) for share in shares]))
            reach = LARGE_TO_REACH.get((name, epsilon), math.nan)
            rows = f"{name}, {len(folds[0].train.y):,}"
            developed = name in DEVELOPED_ON
            yield Line(rows, epsilon, mean_and_error(each), beat, reach, developed=developed)


PARTS: dict[str, Callable[[bool], Iterator[Line]]] = {
    "regression": regression,
    "classification": classification,
    "wide": wide_tables,
    "large": large,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, help=OUT)
    chosen = parser.parse_args()
    kept = []
    warnings.simplefilter("ignore", DpcoreWarning)
    print(f"{'rows':<24}{'eps':>6}{'auto':>9}    error  to beat to reach  non-private")
    for part in chosen.part or PARTS:
        print(part)
        for line in PARTS[part](chosen.quick):
            print(line.text, flush=True)
            kept.append({"part": part} | line.kept)
    keep(chosen.out, kept)


if __name__ == "__main__":
    main()
