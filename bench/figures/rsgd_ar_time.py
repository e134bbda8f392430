"""RSGD-AR (Chen, Lee & Kifer, AISTATS 2019), Figure 3: how long fits of 50 to 250 thousand rows of
KDD Cup 1999 take, one thread, and the ratio to RSGD-AR's.

Replace-one (SGD-MA, which has no bound there, under add-or-remove-one), epsilon .4, delta = 1e-12,
defaults; CPU times of whole fits, from encoded rows to the model: the median of three, and from the
least to the largest.

    DPCORE_DATA_DIR=... python bench/figures/rsgd_ar_time.py --results FOLDER [--quick]
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from committed import Row, commit_of, made_in, read, write
from kept_means import sign
from looks import look_of, write_below
from matplotlib.figure import Figure
from panels import Run, asked

from dpcore.errors import DpcoreError
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.plugin import commands
from dpcore.registry.catalogue import load_registry
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


def seconds_of(algo: str, relation: str, dataset: Any, n_rows: int, repeats: int) -> list[float]:
    """Return the CPU times of warm fits to the first rows."""
    settings = Settings(algo=algo, epsilon=0.4, delta=1e-12, relation=relation, threads=1)
    plan, rows = make_plan(settings), dataset.take(np.arange(dataset.X.shape[0]) < n_rows)
    table = rows.table()
    commands.Run(plan, dataset.take(np.arange(dataset.X.shape[0]) < 64)).model()
    spent = []
    for _ in range(repeats):
        started = time.process_time()
        commands.Run(plan, rows, table=table).model()
        spent.append(time.process_time() - started)
    return spent


def measure(sizes: tuple[int, ...], how: Run) -> Times:
    """Return the times, those that are kept, or new ones."""
    path = how.fits() / "rsgd-ar-time.parquet"
    made = made_in(how.fits())
    if path.exists():
        return {row["algorithm"]: row["seconds"] for row in pq.read_table(path).to_pylist()}
    if not made["commit"].startswith(commit_of()):
        print(f"rsgd-ar-time: missing; other fits are of commit {made['commit']}")
        return {}
    (data,) = how.some(("kddcup99-10",)) or ("kddcup99-10",)
    dataset = load_registry().load("dataset", data)()
    found: Times = {}
    repeats = 1 if how.reduced else REPEATS
    for algo, relation in ALGORITHMS.items():
        try:
            found[algo] = [seconds_of(algo, relation, dataset, n, repeats) for n in sizes]
        except DpcoreError as error:
            print(f"  left out {algo}: {error}")
    rows = [{"algorithm": algo, "seconds": seconds} for algo, seconds in found.items()]
    pq.write_table(pa.Table.from_pylist(rows), path)
    return found


def rows_of(found: Times, sizes: tuple[int, ...]) -> Iterator[Row]:
    """Yield the median time of each algorithm and size, the least and the largest."""
    for algo, seconds in found.items():
        for n_rows, of_size in zip(sizes, seconds, strict=True):
            shown = {"seconds": median(of_size), "least": min(of_size), "largest": max(of_size)}
            about = {"algorithm": algo, "rows": str(n_rows), "relation": ALGORITHMS[algo]}
            yield about | {k: f"{v:.3g}" for k, v in shown.items()} | {"fits": str(len(of_size))}


def draw(path: Path, how: Run) -> None:
    """Draw the times that are kept."""
    matplotlib.rcParams.update(STYLE)
    figure = Figure(figsize=(6.0, 4.2), layout="constrained")
    axis = figure.subplots()
    rows = read(path)[1]
    algorithms = list(dict.fromkeys(row["algorithm"] for row in rows))
    for place, algo in enumerate(algorithms):
        of = [row for row in rows if row["algorithm"] == algo]
        n, middles, least, largest = (
            np.array([float(row[name]) for row in of])
            for name in ("rows", "seconds", "least", "largest")
        )
        drawn = look_of(algo, about="rsgd-ar")
        aside = n / 1000 + 0.7 * (place - len(algorithms) / 2)
        axis.plot(aside, middles, label=algo, **drawn)
        axis.vlines(aside, least, largest, color=drawn["color"], lw=1.0)
    axis.set(xlabel="thousand rows", ylabel="CPU seconds of a fit", yscale="log")
    axis.yaxis.set_major_formatter("{x:g}")
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=8, handlelength=3.2)
    axis.grid(axis="y", color="0.9", lw=0.8)
    axis.spines[["top", "right"]].set_visible(False)
    write_below(figure, how.note)
    out = how.pictures / f"{path.stem}.svg"
    out.write_bytes(svg_of(figure))
    sign(out, path)


def main() -> None:
    how = asked(__doc__)
    path = how.kept / "rsgd-ar-time.csv"
    if how.results is not None:
        sizes = QUICK_ROWS if how.quick else ROWS[:: 4 if how.reduced else 1]
        found = measure(sizes, how)
        if found:
            write(path, rows_of(found, sizes), made_in(how.results))
    if path.exists():
        draw(path, how)


if __name__ == "__main__":
    main()
