"""RSGD-AR (Chen, Lee & Kifer, AISTATS 2019), Figure 3: how long fits of 50 to 250 thousand rows of
KDD Cup 1999 take, one thread, and the ratio to RSGD-AR's.

Replace-one (SGD-MA, which has no bound there, under add-or-remove-one), epsilon .4, delta = 1e-12,
defaults; CPU times of whole fits, from encoded rows to the model: the median of three, and from the
least to the largest.

    DPCORE_DATA_DIR=... python bench/figures/rsgd_ar_time.py --results FOLDER [--quick]
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import matplotlib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.figure import Figure
from panels import Run, asked

from dpcore.errors import DpcoreError
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.run import fit_dataset
from dpcore.registry.catalogue import load_registry
from dpcore_lab.compare.styles import curve_style
from dpcore_lab.compare.svg import STYLE, svg_of

ALGORITHMS = {
    "rsgd-ar": "replace-one",
    "objpert": "replace-one",
    "outpert-gd": "replace-one",
    "dp-agd": "replace-one",
    "sgd-ma": "add-or-remove-one",
    "nsgd": "replace-one",
    "psgd": "replace-one",
    "bolt-on": "replace-one",
    "dp-gd": "replace-one",
}
"""Those of the paper first."""
ROWS = (50_000, 100_000, 150_000, 200_000, 250_000)
QUICK_ROWS = (5_000,)
REPEATS = 3

Times = dict[str, list[list[float]]]
"""Algorithm -> for each number of rows the seconds of each fit."""


def seconds_of(algo: str, relation: str, dataset: Any, n_rows: int) -> list[float]:
    """Return the CPU times of warm fits to the first rows."""
    settings = Settings(algo=algo, epsilon=0.4, delta=1e-12, relation=relation, threads=1)
    plan, rows = make_plan(settings), dataset.take(np.arange(dataset.X.shape[0]) < n_rows)
    table = rows.table()
    fit_dataset(plan, dataset.take(np.arange(dataset.X.shape[0]) < 64))
    spent = []
    for _ in range(REPEATS):
        started = time.process_time()
        fit_dataset(plan, rows, table=table)
        spent.append(time.process_time() - started)
    return spent


def measure(sizes: tuple[int, ...], how: Run) -> Times:
    """Return the times, those that are kept, or new ones."""
    path = how.results / "rsgd-ar-time.parquet"
    if path.exists():
        return {row["algorithm"]: row["seconds"] for row in pq.read_table(path).to_pylist()}
    (data,) = how.some(("kddcup99-10",)) or ("kddcup99-10",)
    dataset = load_registry().load("dataset", data)()
    found: Times = {}
    for algo, relation in ALGORITHMS.items():
        try:
            found[algo] = [seconds_of(algo, relation, dataset, n_rows) for n_rows in sizes]
        except DpcoreError as error:
            print(f"  left out {algo}: {error}")
    rows = [{"algorithm": algo, "seconds": seconds} for algo, seconds in found.items()]
    pq.write_table(pa.Table.from_pylist(rows), path)
    return found


def draw(found: Times, sizes: tuple[int, ...], how: Run) -> None:
    matplotlib.rcParams.update(STYLE)
    figure = Figure(figsize=(6.0, 4.2), layout="constrained")
    axis = figure.subplots()
    for place, (algo, seconds) in enumerate(found.items()):
        drawn = curve_style(place)
        middles = np.array([median(of_size) for of_size in seconds])
        aside = np.array(sizes) / 1000 + 0.7 * (place - len(found) / 2)
        axis.plot(aside, middles, label=algo, **drawn)
        ends = np.array([(min(of_size), max(of_size)) for of_size in seconds])
        axis.vlines(aside, ends[:, 0], ends[:, 1], color=drawn["color"], lw=1.0)
    axis.set(xlabel="thousand rows", ylabel="CPU seconds of a fit", yscale="log")
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=8, handlelength=3.2)
    axis.grid(axis="y", color="0.9", lw=0.8)
    axis.spines[["top", "right"]].set_visible(False)
    (how.pictures / "rsgd-ar-time.svg").write_bytes(svg_of(figure))


def main() -> None:
    how = asked(__doc__)
    sizes = QUICK_ROWS if how.quick else ROWS
    found = measure(sizes, how)
    print("| rows |" + "".join(f" {n_rows:,} |" for n_rows in sizes))
    print("| --- |" + " --- |" * len(sizes))
    for algo, seconds in found.items():
        pairs = [
            (median(one), median(ours)) for one, ours in zip(seconds, found["rsgd-ar"], strict=True)
        ]
        cells = (f" {second:.2f} s, {second / ours:.2f} times |" for second, ours in pairs)
        print(f"| {algo} |" + "".join(cells))
    draw(found, sizes, how)


if __name__ == "__main__":
    main()
