"""How private a model can be that meets an accuracy: ex-post epsilon against the target.

    python bench/accuracy_first.py [--runs 10] [--figure]

Prints a table of the KDD Cup experiment (logistic regression, l2 = .005, failure probability .1,
100,000 rows of 38 features) and of a ridge one on generated rows, beside the figures of the
authors' code as they were reported to us; with --figure it also draws `bench/accuracy_first.svg`,
the four panels of the paper's Figure 1. Times are CPU seconds of whole runs, the kernels warm.

Rows are divided by 12 in l1, a public figure (features lie in [0, 1]); none of the KDD rows is
longer. "l1 only" uses no more than that, "l2 too" the public bound 1/3 of a row's l2 norm.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from dpcore.accountants.pure import PureAccountant
from dpcore.compare.svg import STYLE, svg_of
from dpcore.data.blocks.table import Table
from dpcore.engines.local import LocalEngine
from dpcore.errors import DpcoreError
from dpcore.losses.logistic import Logistic
from dpcore.losses.squared import Squared
from dpcore.noise.source import SeededNoise
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.protocols.problem import Problem
from dpcore.registry.catalogue import load_registry
from dpcore.session.session import TableSession

RELATION = NeighboringRelation.REPLACE_ONE
N_ROWS, L2, FAILURE, WORST_CASE = 100_000, 0.005, 0.1, 5.0
TARGETS = (0.05, 0.1, 0.2)
AUTHORS = {"noise reduction": (0.210, 0.121, 0.071), "doubling": (0.661, 0.379, 0.182)}
"""Mean ex-post epsilon of the authors' code, of 10 runs. Its constants are half of the sound ones:
it takes B / n for what an excess risk moves by, and 2 B / n is right."""
L1_BOUND, L2_BOUND = 12.0, 1 / 3
PANELS = (0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2)


class Experiment:
    """Rows with their public facts, and runs of an algorithm on them."""

    def __init__(self, X, y, loss, row_norm, raw_norm_bound, **options):
        self.table = Table.from_matrix(X, y, row_norm=row_norm, raw_norm_bound=raw_norm_bound)
        self.options = options
        self.problem = Problem(
            loss=loss,
            l2=L2,
            n_features=X.shape[1],
            row_norm=row_norm,
            raw_norm_bound=raw_norm_bound,
            relation=RELATION,
            n=X.shape[0],
        )

    def run(self, algo, seed, worst_case=WORST_CASE, **options):
        """Return ex-post epsilon, CPU seconds and whether the target was met, of one run."""
        factory = load_registry().load("optimizer", algo)
        given = {**(self.options if algo.startswith("cov") else {}), **options}
        session = TableSession(
            LocalEngine(self.table),
            PureAccountant.from_budget(worst_case, 0.0),
            RELATION,
            SeededNoise(seed),
        )
        started = time.process_time()
        solution = factory(**given).minimize(self.problem, session)
        seconds = time.process_time() - started
        return session.ex_post_epsilon, seconds, solution.details.get("target_met", True)

    def mean(self, algo, runs, **options):
        """Return mean and largest ex-post epsilon and the median time; NaN where it is refused."""
        try:
            results = [self.run(algo, seed, **options) for seed in range(runs)]
        except DpcoreError:
            return np.nan, np.nan, np.nan
        epsilons, seconds, _ = zip(*results, strict=True)
        return float(np.mean(epsilons)), float(np.max(epsilons)), float(np.median(seconds))


def kdd(row_norm):
    """Return the KDD experiment: a fixed 100,000 of the rows, a public benchmark."""
    from dpcore.data.datasets.kddcup99 import load_numeric

    data = load_numeric()
    rows = np.random.default_rng(1).choice(len(data.y), N_ROWS, replace=False)
    X = np.asarray(data.X)[rows, :-1] / L1_BOUND
    return Experiment(X, data.y[rows], Logistic(), row_norm, 1.0)


def buzz():
    from dpcore.data.datasets.buzz_sim import load

    data = load()
    return Experiment(np.asarray(data.X), data.y, Squared(), 1.0, data.raw_norm_bound, l1_norm=1.0)


def line(name, cells):
    print(f"    {name:46}" + "".join(f"{cell:>9}" for cell in cells))


def table(title, experiment, rows, runs):
    print(f"\n{title}: mean ex-post epsilon of {runs} runs, target {', '.join(map(str, TARGETS))}")
    for name, algo, options in rows:
        cells = [experiment.mean(algo, runs, **options(alpha)) for alpha in TARGETS]
        times = f"{cells[0][2]:.2f} s" if np.isfinite(cells[0][2]) else ""
        line(name, [*(f"{cell[0]:.3f}" for cell in cells), times])


def excess(**fixed):
    return lambda alpha: {"target_excess_risk": alpha, **fixed}


def right(share):
    return lambda alpha: {"target_accuracy": share, "slack": alpha}


def print_tables(runs):
    for name, row_norm in (("l1 only", 1.0), ("l2 too", L2_BOUND)):
        experiment = kdd(row_norm)
        experiment.run("output-nr", 0, target_excess_risk=0.1)
        rows = [
            ("output-nr", "output-nr", excess(failure_probability=FAILURE)),
            ("output-nr, 1,000 levels", "output-nr", excess(levels=1000)),
            ("output-nr, the paper's constants", "output-nr", excess(threshold="paper")),
            ("output-doubling", "output-doubling", excess()),
            ("output-theory", "output-theory", excess()),
            ("output-nr, accuracy .80 within the same", "output-nr", right(0.80)),
        ]
        table(f"KDD logistic, {name}", experiment, rows, runs)
        for what, figures in AUTHORS.items():
            line(f"authors' code, {what} (constants halved)", [f"{f:.3f}" for f in figures])
    experiment = buzz()
    experiment.run("cov-nr", 0, target_excess_risk=0.1)
    rows = [
        ("cov-nr", "cov-nr", excess()),
        ("cov-nr, 1,000 levels", "cov-nr", excess(levels=1000)),
        ("cov-doubling", "cov-doubling", excess()),
        ("cov-theory", "cov-theory", excess()),
        ("output-nr", "output-nr", excess()),
    ]
    table("buzz-sim ridge", experiment, rows, runs)


def draw(runs):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    # Colours of Okabe & Ito (2008), which stay distinct for the colour-blind; markers differ too.
    looks = {"nr": ("#0072B2", "o", "-"), "theory": ("#D55E00", "s", "--"),
             "doubling": ("#009E73", "^", ":")}  # fmt: skip
    names = {"nr": "noise reduction", "theory": "theory", "doubling": "doubling"}
    plt.rcParams.update({**STYLE, "lines.markeredgewidth": 0})
    figure, axes = plt.subplots(2, 2, figsize=(8.4, 6.0), sharex=True)
    for column, (title, experiment, base) in enumerate(
        [
            ("ridge, buzz-sim (cov)", buzz(), "cov"),
            ("logistic, KDD Cup (output)", kdd(1.0), "output"),
        ]
    ):
        for row, other in enumerate(("theory", "doubling")):
            panel = axes[row][column]
            for kind in (other, "nr"):
                algo = f"{base}-{kind}"
                # A theorem may ask for more than anybody would agree to.
                worst = 100.0 if kind == "theory" else 20.0
                points = [
                    experiment.mean(algo, runs, worst_case=worst, **excess()(a))[0] for a in PANELS
                ]
                color, marker, style = looks[kind]
                panel.plot(PANELS, points, color=color, marker=marker, ls=style, label=names[kind])
            panel.set_yscale("log")
            panel.set_title(f"{title}: against {names[other]}", fontsize=10)
            panel.grid(alpha=0.3)
            panel.legend(frameon=False)
        axes[1][column].set_xlabel("excess risk asked for")
    for row in (0, 1):
        axes[row][0].set_ylabel("mean ex-post epsilon")
    figure.tight_layout()
    path = Path(__file__).with_name("accuracy_first.svg")
    path.write_bytes(svg_of(figure))
    print(f"\n{path.name} written")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--figure", action="store_true", help="draw bench/accuracy_first.svg")
    options = parser.parse_args()
    print_tables(options.runs)
    if options.figure:
        draw(max(1, options.runs // 2))


if __name__ == "__main__":
    main()
