"""DP-AGD (Lee & Kifer, KDD 2018), the experiments: accuracy and objective against epsilon for
logistic regression and for the support vector machine, add-or-remove-one, delta = 1e-8.

Objective and output perturbation need a loss with a bounded second derivative, which the hinge has
not. In the hinge's panels they are fitted with the huberised hinge, and have an accuracy alone:
their objective is another one.

    DPCORE_DATA_DIR=... python bench/figures/dp_agd.py --results FOLDER [--quick]
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial

from panels import EPSILONS, QUICK, Row, Run, asked, fits_of, publish, results_of

from dpcore_lab.compare.settings import Comparison

ALGORITHMS = (
    "dp-agd",
    "dp-agd:paper",
    "dp-agd:as-published",
    "dp-gd",
    "objpert",
    "outpert",
    "privgene",
    "sgd-adv",
    "sgd-ma",
)
ADDED = "privgene:paper"
"""A fit takes as long as all the others together: of the smallest data set alone."""
LOSSES = {"logistic": "logistic", "svm": "hinge-svm"}
DELTA = 1e-8
SMOOTHED = ("objpert", "outpert")
NOTE = (
    "objpert and outpert are of the huberised hinge: their theorems need a smooth loss, which the "
    "hinge is not. Their objective is another one, and not drawn."
)


def smoothed(name: str, comparison: Comparison, how: Run) -> list[Row]:
    """Return the rows of what needs a smooth loss, fitted with the huberised hinge."""
    other = replace(comparison, algorithms=SMOOTHED, loss="huber-svm")
    return [
        row | {"algorithm": f"{row['algorithm']}:huberised", "exact_objective": None}
        for row in fits_of(f"{name}-huberised", other, how)
    ]


def fits(name: str, loss: str, how: Run) -> list[Row]:
    """Return the rows of one loss, data set by data set."""
    is_smooth, rows = loss == "logistic", []
    named = tuple(label for label in ALGORITHMS if is_smooth or label not in SMOOTHED)
    named = named[::2] if how.quick else named
    for data in itertools.filterfalse(how.leaves_out, how.some(EPSILONS)):
        comparison = Comparison(named, (data,), EPSILONS[data], delta=DELTA, loss=loss)
        rows += results_of(f"{name}-{data}", comparison, how)
        if data == QUICK and not (how.quick or how.reduced):
            added = replace(comparison, algorithms=(ADDED,))
            rows += fits_of(f"{name}-{data}-{ADDED.replace(':', '-')}", added, how)
        rows += [] if is_smooth else smoothed(f"{name}-{data}", comparison, how)
    return rows


def main() -> None:
    how = asked(__doc__)
    for task, loss in how.of(LOSSES).items():
        name = f"dp-agd-{task}"
        settings = Comparison(ALGORITHMS, tuple(EPSILONS), (), delta=DELTA, loss=loss)
        note = "" if loss == "logistic" else NOTE
        publish(name, partial(fits, name, loss, how), settings, how, note, about="dp-agd")


if __name__ == "__main__":
    main()
