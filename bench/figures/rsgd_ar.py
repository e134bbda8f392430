"""RSGD-AR (Chen, Lee & Kifer, AISTATS 2019), Figures 1 and 2: accuracy and objective against
epsilon for logistic regression and for the huberised support vector machine, replace-one.

delta = 1e-8 and, as in the paper, 1e-12 on KDD Cup 1999.

    DPCORE_DATA_DIR=... python bench/figures/rsgd_ar.py --results FOLDER [--quick]
"""

from __future__ import annotations

from panels import EPSILONS, asked, draw, results_of

from dpcore.compare.settings import Comparison

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
DELTAS = {"a9a": 1e-8, "bank": 1e-8, "kddcup99-10": 1e-12}
LOSSES = {"logistic": "logistic", "svm": "huber-svm"}


def main() -> None:
    how = asked(__doc__)
    for task, loss in how.of(LOSSES).items():
        for delta in dict.fromkeys(DELTAS[data] for data in how.some(DELTAS)):
            name, rows = f"rsgd-ar-{task}-delta-{delta:g}", []
            for data in (known for known in how.some(DELTAS) if DELTAS[known] == delta):
                comparison = Comparison(
                    ALGORITHMS,
                    (data,),
                    EPSILONS[data],
                    delta=delta,
                    loss=loss,
                    relation="replace-one",
                )
                rows += results_of(f"{name}-{data}", comparison, how)
            draw(name, rows, comparison, how)


if __name__ == "__main__":
    main()
