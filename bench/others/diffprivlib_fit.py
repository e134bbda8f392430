"""Logistic regression of diffprivlib on the rows of .npz files; prints JSON, one object per fit.

Run by ``bench/fit.py`` in an environment of its own. Objective perturbation
(Chaudhuri, Monteleoni & Sarwate 2011), delta = 0: pure epsilon is the only guarantee that it
offers. ``C``, the weight of the losses against the regulariser, takes its default, 1, and smaller
values, which the noise calls for; everything else is at its default. The first fit of each is not
counted.
"""

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np
from diffprivlib.models import LogisticRegression

WEIGHTS = (1.0, 0.01, 0.003, 0.001)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="+")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float)
    parser.add_argument("--repeats", type=int, required=True)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")  # that 100 iterations, its default, were not enough
    found = []
    for path in chosen.rows:
        with np.load(path) as file:
            found += fits_of(dict(file), chosen.epsilon, chosen.repeats)
    print(json.dumps(found))


def fits_of(rows: dict[str, np.ndarray], epsilon: float, repeats: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for weight in WEIGHTS:
        setting = f"C={weight:g}" + (" (default)" if weight == 1.0 else "")
        for repeat in range(repeats + 1):
            wall, cpu = time.perf_counter(), time.process_time()
            model = LogisticRegression(
                epsilon=epsilon, data_norm=float(rows["data_norm"]), C=weight
            )
            model.fit(rows["X_train"], rows["y_train"])
            seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
            right = model.predict(rows["X_test"]) == rows["y_test"]
            if repeat:
                found.append({"setting": setting, **seconds, "accuracy": 100 * right.mean()})
    return found


if __name__ == "__main__":
    main()
