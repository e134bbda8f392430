"""Accuracy First (Ligett et al., NeurIPS 2017), Figure 1 and the numbers printed in its text:
ex-post epsilon against the excess risk asked for, replace-one, failure probability .1.

Each mean is of 80 runs (ridge) or 40 (logistic), as in the paper, with its 95 % interval. Solid:
the defaults here; dashed: the paper's constants as printed, `--preset paper`; dotted, not private:
the authors' code, its tests counted twice as they count them for their figures.

    DPCORE_DATA_DIR=... python bench/figures/accuracy_first.py --results FOLDER [--quick]
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from accuracy_first_runs import Cell, interval, results_of, ridge_data
from committed import Row, made_in, read, write
from kept_means import sign
from looks import write_below
from panels import Run, asked

from dpcore_lab.compare.settings import AS_PUBLISHED
from dpcore_lab.compare.styles import curve_style
from dpcore_lab.compare.svg import STYLE, svg_of

TARGETS = (0.05, 0.075, 0.1, 0.2)
TASKS = {"ridge": "cov", "logistic": "output"}
"""Task -> what noise reduction and doubling put their noise on, in the paper."""
RUNS = {"ridge": 80, "logistic": 40, "logistic-l2": 40}
NR, DOUBLING, OUTPUT, COV = "noise reduction", "doubling", "OutputPert theory", "CovarPert theory"
VARIANTS = ("", "paper", AS_PUBLISHED)
PRINTED = {0.05: {NR: 10.0, DOUBLING: 495.0}, 0.075: {NR: 4.65, DOUBLING: 56.6}}
"""Section 4: e^epsilon of ridge regression."""
PANELS = {
    "a": ("ridge", "against theory", (COV, OUTPUT, NR)),
    "b": ("logistic", "against theory", (OUTPUT, NR)),
    "c": ("ridge", "against doubling", (DOUBLING, NR)),
    "d": ("logistic", "against doubling", (DOUBLING, NR)),
}
TITLES = {
    "buzz-sim": "ridge, buzz-sim (generated)",
    "buzz-twitter": "ridge, Twitter",
    "kddcup99-10": "logistic, KDD Cup 1999 *",
}
LOOKS = {NR: curve_style(0), OUTPUT: curve_style(2), COV: curve_style(3), DOUBLING: curve_style(5)}
"""Colours and markers, which tell the curves apart in grey; dashes tell their constants."""
LINES = {"": "-", "paper": "--", AS_PUBLISHED: ":"}

Runs = list[dict[str, Any]]


def label(curve: str, variant: str) -> str:
    return f"{curve}:{variant}" if variant else curve


def cells_of(task: str, how: Run) -> list[Cell]:
    """Return what is run of a task."""
    kind, runs = TASKS[task], 2 if how.quick else RUNS[task] // 5 if how.reduced else RUNS[task]
    curves = [(NR, f"{kind}-nr", v, ()) for v in VARIANTS]
    curves += [(DOUBLING, f"{kind}-doubling", v, ()) for v in VARIANTS]
    curves += [(OUTPUT, "output-theory", v, ()) for v in ("", AS_PUBLISHED)]
    if task == "ridge":
        curves += [(COV, "cov-theory", v, ()) for v in ("", "paper")]
        curves += [("noise reduction on the minimiser", "output-nr", "", ())]
    cells = [
        Cell(task, label(name, variant), algo, variant, options, alpha, runs)
        for alpha in ((0.1,) if how.quick else TARGETS)
        for name, algo, variant, options in curves
    ]
    # What takes long last: noise reduction over a thousand levels.
    ordered = sorted(cells, key=lambda cell: cell.algo.endswith("-nr") and bool(cell.variant))
    return ordered if how.quick or how.reduced else ordered + why_cells(task)


def why_cells(task: str) -> list[Cell]:
    """Return the runs that tell what decides between noise reduction and doubling, and what other
    bounds and targets give."""
    kind, runs = TASKS[task], RUNS[task]
    changed = {
        "noise reduction, 5 levels": (f"{kind}-nr", "", (("levels", 5),)),
        "noise reduction, 1000 levels": (f"{kind}-nr", "", (("levels", 1000),)),
        "doubling from 1/n": (f"{kind}-doubling", "", (("grid", "paper"),)),
    }
    cells = [
        Cell(task, name, *what, alpha, runs) for name, what in changed.items() for alpha in (0.05,)
    ]
    if task == "logistic":
        more = {
            "rows bounded in l2 too": (),
            "accuracy .80, that slack": (("target_accuracy", 0.8),),
        }
        cells += [
            Cell("logistic-l2", name, "output-nr", "", options, alpha, runs)
            for name, options in more.items()
            for alpha in (0.05, 0.1, 0.2)
        ]
    return cells


def counted(row: dict[str, Any]) -> float:
    """Return the epsilon that the paper's figures have: of the code's runs, whose tests are of half
    of the sensitivity, with the tests twice."""
    tests = 0.0
    if row["curve"].endswith(AS_PUBLISHED) and row.get("test_epsilon"):
        many = row["tests"] if row["curve"].startswith(DOUBLING) else 1
        tests = many * row["test_epsilon"]
    return float(row["epsilon"]) + tests


def epsilon_rows(rows: Runs) -> Iterator[Row]:
    """Yield mean and half width of epsilon for each curve and target, as the paper's figures count
    it, and with tests once."""
    groups: dict[tuple[str, float], Runs] = defaultdict(list)
    for row in rows:
        groups[row["curve"], row["alpha"]].append(row)
    for (curve, alpha), of in groups.items():
        told = {"curve": curve, "excess risk": f"{alpha:g}"}
        for name, count in (("epsilon", counted), ("tests once", itemgetter("epsilon"))):
            mean, width = interval([float(count(row)) for row in of])
            told |= {name: f"{mean:.4g}", f"{name} ±": f"{width:.2g}" if width else ""}
        yield told | {"runs": str(len(of))}


def run_rows(rows: Runs) -> Iterator[Row]:
    """Yield what the text says besides of the runs of a curve at all targets: excess risks, what
    missed, tests, their share of epsilon, and norms."""
    groups: dict[str, Runs] = defaultdict(list)
    for row in rows:
        if row.get("excess") is not None:
            groups[row["curve"]].append(row)
    for curve, of in groups.items():
        over = [row["excess"] / row["alpha"] for row in of]
        missed = np.mean([share > 1 and row["met"] for share, row in zip(over, of, strict=True)])
        many = [row["tests"] if curve.startswith(DOUBLING) else 1 for row in of]
        paid = [n * r["test_epsilon"] / r["epsilon"] for n, r in zip(many, of, strict=True)]
        shown = {
            "excess of the asked, nine in ten": np.quantile(over, 0.9),
            "missed %": 100 * missed,
            "not met %": 100 * np.mean([not row["met"] for row in of]),
            "tests": np.mean([row["tests"] for row in of]),
            "tests' share %": 100 * np.mean(paid),
            "norm": np.mean([row["norm"] for row in of]),
        }
        numbers = {name: f"{value:.3g}" for name, value in shown.items()}
        yield {"curve": curve, **numbers, "runs": str(len(of))}


def curves_of(rows: Sequence[Row]) -> dict[str, dict[float, tuple[float, float]]]:
    """Return mean and half width for each curve and target that is kept."""
    means: dict[str, dict[float, tuple[float, float]]] = defaultdict(dict)
    for row in rows:
        at = float(row["epsilon"]), float(row["epsilon ±"] or 0)
        means[row["curve"]][float(row["excess risk"])] = at
    return means


def draw(panel: str, path: Path, how: Run) -> None:
    """Write one panel of Figure 1."""
    from matplotlib import style
    from matplotlib.figure import Figure

    task, against, curves = PANELS[panel]
    said, rows = read(path)
    means, title = curves_of(rows), TITLES[said["data"]]
    with style.context(["default", {**STYLE, "font.size": 9.5}]):
        figure = Figure(figsize=(5.2, 5.2), layout="constrained")
        axis = figure.subplots()
        for curve in curves:
            for variant in VARIANTS:
                points = sorted(means.get(label(curve, variant), {}).items())
                if points:
                    _draw_curve(axis, curve, variant, points)
            if panel == "c":
                at = {alpha: math.log(values[curve]) for alpha, values in PRINTED.items()}
                look = {"color": LOOKS[curve]["color"], "marker": "x", "ms": 9, "mew": 2, "ls": ""}
                axis.plot(list(at), list(at.values()), label=f"{curve}, printed", **look)
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter("{x:g}")
        axis.set_title(f"1{panel}: {title}, {against}", fontsize=10)
        axis.set_xlabel("excess risk asked for")
        axis.set_ylabel("ex-post epsilon")
        axis.grid(axis="y", color="0.9", lw=0.8)
        axis.spines[["top", "right"]].set_visible(False)
        figure.legend(
            loc="outside upper left", ncols=1, frameon=False, handlelength=3.2, fontsize=8
        )
        runs = max(int(row["runs"]) for row in rows)
        notes = f"mean and 95 % interval of {runs} runs, replace-one; a theorem has one value"
        star = (
            "* default of l2 developed on it; here l2 is the paper's" if task == "logistic" else ""
        )
        write_below(figure, how.note, notes, star)
        out = how.pictures / f"accuracy-first-{panel}.svg"
        out.write_bytes(svg_of(figure))
        sign(out, path)


def _draw_curve(axis: Any, curve: str, variant: str, points: list[Any]) -> None:
    said = {
        "": "",
        "paper": ", the paper's constants",
        AS_PUBLISHED: ", as published (not private)",
    }
    alphas = np.array([alpha for alpha, _ in points])
    centres, widths = np.array([of for _, of in points]).T
    look = {**LOOKS[curve], "ls": LINES[variant], "zorder": 3}
    if variant == AS_PUBLISHED:
        look |= {"mfc": "white", "mew": 1.2}
    axis.plot(alphas, centres, label=f"{curve}{said[variant]}", **look)
    ends = np.column_stack([centres - widths, centres + widths, np.full_like(centres, np.nan)])
    axis.plot(np.repeat(alphas, 3), ends.ravel(), color=look["color"], lw=1.4, zorder=3)


def main() -> None:
    how = asked(__doc__)
    for task in how.of({task: task for task in TASKS}):
        path = how.kept / f"accuracy-first-{task}.csv"
        if how.results is not None:
            cells = cells_of(task, how)
            runs = results_of(cells, how.results, how.jobs)
            if not runs:
                continue
            data = ridge_data() if task == "ridge" else "kddcup99-10"
            said = made_in(how.results) | {"zeros": f"{runs[0]['zero']:.4f}", "data": data}
            write(path, epsilon_rows(runs), said)
            write(path.with_stem(f"{path.stem}-runs"), run_rows(runs), made_in(how.results))
        for panel, (of, *_) in PANELS.items():
            if of == task and path.exists():
                draw(panel, path, how)


if __name__ == "__main__":
    main()
