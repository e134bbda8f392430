"""DP-AGD (Lee & Kifer, KDD 2018), the experiments: accuracy and objective against epsilon for
logistic regression and for the support vector machine, add-or-remove-one, delta = 1e-8.

    DPCORE_DATA_DIR=... python bench/figures/dp_agd.py --results FOLDER [--quick]
"""

from __future__ import annotations

from panels import EPSILONS, asked, draw, results_of

from dpcore.compare.settings import Comparison

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
LOSSES = {"logistic": "logistic", "svm": "hinge-svm"}


def main() -> None:
    how = asked(__doc__)
    for task, loss in how.of(LOSSES).items():
        name, rows = f"dp-agd-{task}", []
        for data in how.some(EPSILONS):
            comparison = Comparison(ALGORITHMS, (data,), EPSILONS[data], delta=1e-8, loss=loss)
            rows += results_of(f"{name}-{data}", comparison, how)
        draw(name, rows, comparison, how)


if __name__ == "__main__":
    main()
