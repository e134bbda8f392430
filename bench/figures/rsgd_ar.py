"""RSGD-AR (Chen, Lee & Kifer, AISTATS 2019), Figures 1 and 2: accuracy and objective against
epsilon for logistic regression and for the huberised support vector machine, replace-one.

As in the paper: rows of norm 1, lambda = .001 in every fit and in the objective of every curve,
delta = 1e-8, and 1e-12 on KDD Cup 1999.

SGD-MA is not offered under replace-one: rows of its Poisson samples are added or removed. A
replacement is a removal and an addition, so what is (e, d)-DP under add-or-remove-one is (2 e, (1 +
exp(e)) d)-DP under replace-one (group privacy: Vadhan 2017, Lemma 2.2). It is fitted at half of
epsilon and the delta that this leaves.

    DPCORE_DATA_DIR=... python bench/figures/rsgd_ar.py --results FOLDER [--quick]
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from functools import partial

from panels import (
    DEVELOPED_ON,
    EPSILONS,
    HERE,
    LARGEST,
    Row,
    Run,
    admitted_of,
    asked,
    fits_of,
    publish,
    results_of,
)

from dpcore_lab.compare.settings import Comparison

UNIT_ROWS = HERE / "unit_rows"
"""The plugin of the data sets: also for the processes that fit, which take over sys.path."""
ALGORITHMS = (
    "rsgd-ar",
    "rsgd-ar:paper",
    "rsgd-ar:as-published",
    "psgd",
    "nsgd",
    "outpert-gd",
    "bolt-on",
    "objpert",
    "dp-agd",
    "dp-gd",
)
SGD_MA = "sgd-ma (at half of epsilon)"
L2 = 0.001
DELTAS = {name: 1e-12 if name == LARGEST else 1e-8 for name in EPSILONS}
LOSSES = {"logistic": "logistic", "svm": "huber-svm"}
NOTE = (
    "Rows of norm 1; l2 = 0.001 in every fit and in the objective of every curve. SGD-MA is bounded"
    " under add-or-remove-one alone; at half of epsilon there it has this epsilon and delta here."
)


def sgd_ma(name: str, comparison: Comparison, how: Run) -> list[Row]:
    """Return the rows of SGD-MA with the comparison's guarantee, at the comparison's epsilons, and
    print why it is refused as it is."""
    admitted_of(replace(comparison, algorithms=("sgd-ma",)))
    halves = tuple(epsilon / 2 for epsilon in comparison.epsilons)
    delta = comparison.delta / (1 + math.exp(halves[-1]))
    other = replace(
        comparison,
        algorithms=("sgd-ma",),
        epsilons=halves,
        delta=delta * (1 - 2.0**-20),
        relation="add-or-remove-one",
    )
    held = {"relation": comparison.relation, "delta": comparison.delta}
    return [
        row | {"algorithm": SGD_MA, "epsilon": 2 * row["epsilon"], **held}
        for row in fits_of(name, other, how)
    ]


def settings_of(loss: str, delta: float, *data: str) -> Comparison:
    """Return the comparison of data sets that have the budgets of the first."""
    return Comparison(
        ALGORITHMS,
        tuple(f"{name}-unit" for name in data),
        EPSILONS[data[0]],
        delta=delta,
        loss=loss,
        l2=L2,
        relation="replace-one",
    )


def fits(name: str, loss: str, delta: float, how: Run) -> list[Row]:
    """Return the rows of one loss and delta, data set by data set."""
    rows = []
    for data in (known for known in how.some(DELTAS) if DELTAS[known] == delta):
        comparison = settings_of(loss, delta, data)
        rows += results_of(f"{name}-{data}", comparison, how)
        rows += sgd_ma(f"{name}-{data}-sgd-ma", comparison, how)
    return rows


def main() -> None:
    how = asked(__doc__)
    sys.path.append(str(UNIT_ROWS))
    remarks = {f"{data}-unit": words for data, words in DEVELOPED_ON.items()}
    for task, loss in how.of(LOSSES).items():
        for delta in dict.fromkeys(DELTAS[data] for data in how.some(DELTAS)):
            name = f"rsgd-ar-{task}-delta-{delta:g}"
            settings = settings_of(loss, delta, *DELTAS)
            of = partial(fits, name, loss, delta, how)
            publish(name, of, settings, how, NOTE, remarks, about="rsgd-ar")


if __name__ == "__main__":
    main()
