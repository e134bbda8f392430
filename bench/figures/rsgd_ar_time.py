"""RSGD-AR (Chen, Lee & Kifer, AISTATS 2019), Figure 3: how long fits of 50 to 250 thousand rows of
KDD Cup 1999 take, one thread, and the ratio to RSGD-AR's.

Replace-one, epsilon .4, delta = 1e-12; medians of whole fits, from encoded rows to the model.

    DPCORE_DATA_DIR=... python bench/figures/rsgd_ar_time.py --results FOLDER [--quick]
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from panels import Run, asked

from dpcore.compare.svg import STYLE, svg_of
from dpcore.errors import DpcoreError
from dpcore.fitting.plan import make_plan
from dpcore.fitting.run import fit_dataset
from dpcore.fitting.settings import Settings
from dpcore.registry.catalogue import load_registry

ALGORITHMS = ("rsgd-ar", "psgd", "outpert-gd", "bolt-on", "objpert", "dp-agd", "dp-gd")
ROWS = (50_000, 100_000, 150_000, 200_000, 250_000)
QUICK_ROWS = (10_000,)
REPEATS = 3


def seconds_of(algo: str, dataset: Any, n_rows: int) -> float:
    """Return the median CPU time of warm fits to the first rows."""
    settings = Settings(algo=algo, epsilon=0.4, delta=1e-12, relation="replace-one", threads=1)
    plan, rows = make_plan(settings), dataset.take(np.arange(dataset.X.shape[0]) < n_rows)
    table = rows.table()
    fit_dataset(plan, dataset.take(np.arange(dataset.X.shape[0]) < 64))
    spent = []
    for _ in range(REPEATS):
        started = time.process_time()
        fit_dataset(plan, rows, table=table)
        spent.append(time.process_time() - started)
    return median(spent)


def draw(found: dict[str, list[float]], sizes: tuple[int, ...], how: Run) -> None:
    matplotlib.rcParams.update({**STYLE, "lines.markeredgewidth": 0})
    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axis = figure.subplots()
    for (algo, seconds), marker in zip(found.items(), "os^DvPX", strict=False):
        axis.plot([n / 1000 for n in sizes], seconds, marker=marker, label=algo)
    axis.set(xlabel="thousand rows", ylabel="CPU seconds of a fit", yscale="log")
    axis.legend(frameon=False, fontsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    (how.pictures / "rsgd-ar-time.svg").write_bytes(svg_of(figure))


def main() -> None:
    how = asked(__doc__)
    (data,) = how.some(("kddcup99-10",))
    dataset = load_registry().load("dataset", data)()
    sizes = QUICK_ROWS if how.quick else ROWS
    found: dict[str, list[float]] = {}
    for algo in ALGORITHMS:
        try:
            found[algo] = [seconds_of(algo, dataset, n_rows) for n_rows in sizes]
        except DpcoreError as error:
            print(f"  left out {algo}: {error}")
    print("| rows |" + "".join(f" {n_rows:,} |" for n_rows in sizes))
    print("| --- |" + " --- |" * len(sizes))
    for algo, seconds in found.items():
        pairs = zip(seconds, found["rsgd-ar"], strict=True)
        cells = (f" {second:.2f} s, {second / ours:.2f} times |" for second, ours in pairs)
        print(f"| {algo} |" + "".join(cells))
    draw(found, sizes, how)


if __name__ == "__main__":
    main()
