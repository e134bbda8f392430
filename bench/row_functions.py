"""What does a function of one row cost, over the same sum by a kernel written for it?

The forms take turns at fresh points over the same made table of 20,000 dense rows, each as often
first as second, on one thread. Numbers are medians of CPU time, and of the ratios of pairs. Moments
and counts write a row's numbers, which are clipped and rounded one by one, where their kernels add
up columns and none: so they stay kernels. What each part of these takes is printed too. The hinge's
own slope is a function of a row too: its ratio is that of two queries.

    python bench/row_functions.py [--repeats 40] [--columns 100]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dpcore.plugin import ClippedGradientSum, NeighboringRelation, Problem, RowCount
from dpcore.plugin.parts import (
    CoefficientSum,
    ContributionSum,
    LocalEngine,
    RowFunction,
    Table,
    load_registry,
)
from dpcore.queries.clipping import add_clipped
from dpcore_accuracy_first.queries.gram import GramMatrix
from dpcore_accuracy_first.queries.weighted_gram import WeightedGram
from dpcore_baselines.queries.moments import ColumnMoments

ROWS, CLIP = 20_000, 1.0
RELATION = NeighboringRelation.ADD_OR_REMOVE_ONE


def hinge(z: float, y: float, parameters: Any) -> float:
    return -y if y * z < 1.0 else 0.0


def logistic(z: float, y: float, parameters: Any) -> float:
    e = math.exp(-abs(y * z))
    return -y * ((e if y * z > 0.0 else 1.0) / (1.0 + e))


def moments(x: Any, y: float, parameters: Any, out: Any) -> None:
    for k in range(len(x)):
        out[k] = x[k]
        out[len(x) + k] = x[k] * x[k]


def one(x: Any, y: float, parameters: Any, out: Any) -> None:
    out[0] = 1.0


def unit(z: float, y: float, parameters: Any) -> float:
    return 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--columns", type=int, default=100)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, options.columns))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(rng.random(ROWS) < 0.5, 1.0, -1.0)
    table = Table.from_matrix(X, y, row_norm=1.0, raw_norm_bound=1.0)
    engine = LocalEngine(table)

    def problem(loss: str) -> Problem:
        made = load_registry().load("loss", loss)()
        return Problem(made, 0.0, options.columns, 1.0, 1.0, RELATION)

    own_hinge, own_logistic = RowFunction.coefficient(hinge), RowFunction.coefficient(logistic)
    own_moments, own_count, own_weight = (
        RowFunction.contribution(moments),
        RowFunction.contribution(one),
        RowFunction.weight(unit),
    )
    hinges, logistics, width = problem("hinge-svm"), problem("logistic"), 2 * options.columns
    forms: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
        "hinge gradient": (
            lambda w: ClippedGradientSum(hinges, w, CLIP),
            lambda w: CoefficientSum(hinges, w, own_hinge, CLIP),
        ),
        "logistic gradient": (
            lambda w: ClippedGradientSum(logistics, w, CLIP),
            lambda w: CoefficientSum(logistics, w, own_logistic, CLIP),
        ),
        "moments": (
            lambda w: ColumnMoments(logistics, CLIP),
            lambda w: ContributionSum(logistics, own_moments, width, CLIP),
        ),
        "count": (
            lambda w: RowCount(),
            lambda w: ContributionSum(logistics, own_count, 1, CLIP),
        ),
        "x x'": (
            lambda w: GramMatrix(logistics),
            lambda w: WeightedGram(logistics, w, own_weight, CLIP),
        ),
    }
    for name, makers in forms.items():
        times: tuple[list[float], list[float]] = ([], [])
        for repeat in range(2 * options.repeats):
            w = rng.normal(size=options.columns)
            pairs = [*zip(makers, times, strict=True)]
            for make, taken in pairs[:: -1 if repeat % 2 else 1]:
                query = make(w)
                began = time.process_time()
                engine.answer(query)
                taken.append(1e3 * (time.process_time() - began))
        usual, own = (np.array(taken[2:]) for taken in times)
        print(
            f"{name}: kernel {np.median(usual):.3f} ms, function of a row {np.median(own):.3f} ms, "
            f"{np.median(own / usual):.2f}"
        )
    for name, function, size in (("moments", own_moments, width), ("count", own_count, 1)):
        parts = parts_of_a_sum(table, function, size, options.repeats)
        print(f"{name}: {', '.join(f'{part} {ms:.3f} ms' for part, ms in parts.items())}")


def parts_of_a_sum(
    table: Table, function: RowFunction, width: int, repeats: int
) -> dict[str, float]:
    """Return the medians of what each part of a ContributionSum takes: the rows as float64, where
    the function reads them, the function, and the clip of each row with the rounding and the sum,
    by which the core bounds what a row contributes."""
    times: dict[str, list[float]] = {"rows": [], "function": [], "clip and sum": []}
    rows, total = 2**17 // width, np.zeros(width, np.int64)
    for _ in range(repeats):
        taken = dict.fromkeys(times, 0.0)
        for block in table.blocks:
            began = time.process_time()
            x = block.rows() if width > 1 else np.empty((block.n_rows, 0))
            taken["rows"] += time.process_time() - began
            for first in range(0, block.n_rows, rows):
                some, y = x[first : first + rows], block.y[first : first + rows]
                out = np.empty((len(some), width))
                began = time.process_time()
                function.fill(some, y, np.empty(0), out)
                between = time.process_time()
                add_clipped(out, np.inf, CLIP, 2.0**20, False, np.empty(len(some)), total)
                taken["function"] += between - began
                taken["clip and sum"] += time.process_time() - between
        for part, each in taken.items():
            times[part].append(1e3 * each)
    return {part: float(np.median(found)) for part, found in times.items()}


if __name__ == "__main__":
    main()
