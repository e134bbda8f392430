"""Draws accuracy against epsilon, ours and others', from the results of `utility.py`.

    python bench/utility.py --out results.csv
    python bench/figure.py results.csv [--png accuracy.png]

Writes `bench/accuracy.svg`.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from references import AUTHORS, EPSILONS, OPACUS, REFERENCES

# Colours of Okabe & Ito (2008), which stay distinct for the colour-blind; markers differ as well.
OURS = {
    "dp-agd, default": {"color": "#0072B2", "marker": "o", "ls": "-", "label": "dp-agd (default)"},
    "dp-agd, preset paper": {
        "color": "#E69F00",
        "marker": "s",
        "ls": "--",
        "label": "dp-agd --preset paper",
    },
}
OTHERS = {
    OPACUS: {"color": "#CC79A7", "marker": "D", "ls": "-.", "label": "Opacus DP-SGD"},
    AUTHORS: {
        "color": "#009E73",
        "marker": "^",
        "ls": ":",
        "label": "DP-AGD authors' code, noise sign fixed",
    },
}
PLAIN = {
    "non-private": {"color": "black", "ls": "-", "lw": 1.0, "label": "not private"},
    "majority": {"color": "0.55", "ls": "-", "lw": 1.0, "label": "majority class"},
}
TITLES = {
    "adult": "Adult (48,842 rows, 108 features)",
    "bank": "Bank marketing (45,211 rows, 32 features)",
}

Points = dict[str, list[tuple[float | None, float, float]]]


def read(path: Path) -> tuple[dict[str, Points], dict[str, str]]:
    """Return (epsilon, mean, standard error) by data set and algorithm, and what was run."""
    results: dict[str, Points] = defaultdict(lambda: defaultdict(list))
    row: dict[str, str] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            epsilon = float(row["epsilon"]) if row["epsilon"] else None
            point = (epsilon, float(row["mean"]), float(row["error"]))
            results[row["data"]][row["algorithm"]].append(point)
    return results, row


def draw_panel(axis: Any, data: str, points: Points) -> None:
    for name, style in PLAIN.items():
        axis.axhline(points[name][0][1], zorder=1, **style)
    for name, style in OTHERS.items():
        if name in REFERENCES[data]:
            axis.plot(EPSILONS, REFERENCES[data][name], ms=5, lw=1.4, zorder=2, **style)
    for name, style in OURS.items():
        epsilons, means, errors = zip(*points[name], strict=True)
        strong = 2.2 if name == "dp-agd, default" else 1.4
        axis.errorbar(epsilons, means, errors, ms=6, lw=strong, capsize=2.5, zorder=3, **style)
    axis.set_xscale("log", base=2)
    axis.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    axis.set_title(TITLES[data], fontsize=10)
    axis.set_xlabel("privacy budget: epsilon (delta = $10^{-8}$)")
    axis.grid(axis="y", color="0.9", lw=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def draw(results: dict[str, Points]) -> Any:
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 4.4), layout="constrained")
    for axis, data in zip(axes, TITLES, strict=True):
        draw_panel(axis, data, results[data])
    axes[0].set_ylabel("test accuracy in %: 5-fold mean, standard error")
    # The first panel has every line; a fixed order, ours first.
    handles, labels = axes[0].get_legend_handles_labels()
    wanted = [style["label"] for style in (*OURS.values(), *OTHERS.values(), *PLAIN.values())]
    handles = [handles[labels.index(label)] for label in wanted]
    figure.legend(handles, wanted, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--svg", type=Path, default=Path(__file__).with_name("accuracy.svg"))
    parser.add_argument("--png", type=Path, help="the same, to look at")
    chosen = parser.parse_args()
    results, run = read(chosen.results)
    missing = [data for data in TITLES if data not in results]
    if missing or (run["relation"], run["loss"]) != ("add-or-remove-one", "logistic"):
        raise SystemExit("Expected results of adult and bank, add-or-remove-one, logistic.")
    plt.rcParams.update({"svg.fonttype": "path", "svg.hashsalt": "dpcore", "font.size": 9.5})
    figure = draw(results)
    figure.savefig(chosen.svg, metadata={"Date": None, "Creator": None}, facecolor="white")
    if chosen.png is not None:
        figure.savefig(chosen.png, dpi=130)


if __name__ == "__main__":
    main()
