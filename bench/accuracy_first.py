"""Mean ex-post epsilon of noise reduction and of Brownian noise reduction, side by side.

The experiments of ``bench/figures/accuracy_first_runs.py``: logistic regression on KDD Cup 1999,
rows bounded in l2 too, and ridge regression on ``buzz-sim``; replace-one, failure probability .1,
delta 1e-8 for Brownian noise, a worst case of 200 as there. Seeded. ``--more`` adds what decides:
levels, and tests whose noise does not fall.

    DPCORE_DATA_DIR=... python bench/accuracy_first.py [--runs 40] [--more]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "figures"))
from accuracy_first_runs import experiment, interval

TARGETS = (0.05, 0.1, 0.2)
CURVES: dict[str, tuple[str, dict[str, Any]]] = {
    "{}-nr": ("nr", {}),
    "{}-bnr": ("bnr", {}),
}
MORE: dict[str, tuple[str, dict[str, Any]]] = {
    "{}-bnr, 50 levels": ("bnr", {"levels": 50}),
    "{}-bnr, equal tests": ("bnr", {"first_test": 1.0}),
}
TASKS = {"logistic-l2": "output", "ridge": "cov"}


def epsilons(task: str, algo: str, alpha: float, options: dict[str, Any], runs: int) -> list[float]:
    """Return the ex-post epsilon of each run."""
    given = {"target_excess_risk": alpha, **options}
    if algo == "cov-nr":
        given["l1_norm"] = 1.0
    found = [experiment(task).run(algo, given, seed) for seed in range(runs)]
    beside = sum(bool(run["met"]) and run["excess"] > alpha for run in found)
    if beside or not all(run["met"] for run in found):
        unmet = sum(not run["met"] for run in found)
        print(f"({algo} at {alpha:g}: {beside} beside the target, {unmet} not met, of {runs})")
    return [float(run["epsilon"]) for run in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--more", action="store_true")
    asked = parser.parse_args()
    curves = {**CURVES, **(MORE if asked.more else {})}
    print("| | " + " | ".join(f"{alpha:g}" for alpha in TARGETS) + " |\n| --- | --- | --- | --- |")
    for task, kind in TASKS.items():
        first: dict[float, float] = {}
        for name, (algo, options) in curves.items():
            cells = []
            for alpha in TARGETS:
                found = epsilons(task, f"{kind}-{algo}", alpha, options, asked.runs)
                mean, width = interval(found)
                ratio = mean / first.setdefault(alpha, mean)
                cells.append(f"{mean:.3f} ±{width:.3f}, {max(found):.3f}; {ratio:.2f}")
                assert np.isfinite(mean)
            print(f"| {name.format(kind)} | {' | '.join(cells)} |", flush=True)
    print("(mean ±95 % interval, largest; mean over that of noise reduction)")


if __name__ == "__main__":
    main()
