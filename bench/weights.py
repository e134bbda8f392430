"""What do weights of classes bring, and what do they cost?

Means over fits, each on fresh noise, of the loss under the weights that were asked for, macro F1,
accuracy and the least recall of a class, on the rows trained on:

* none: no weights;
* public: a weight of 20 for the rarest class;
* balanced: n / (K count), from counts that the fit releases.

Data: `four` generated classes of 60, 30, 8 and 2 % of 15,000 rows; `two`, the rarest of them
against the rest.

    python bench/weights.py [--fits 5] [--algo dp-gd]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from printed import OUT, keep

from dpcore import BalancedWeights, fit

ROWS, SHARES, EPSILONS = 15_000, (0.6, 0.3, 0.08, 0.02), (0.3, 1.0, 4.0)
WEIGHT = 20.0


def generated(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return features in [0, 1] and the places of four classes."""
    rng = np.random.default_rng(seed)
    places = rng.choice(len(SHARES), ROWS, p=SHARES)
    centres = rng.uniform(0.2, 0.8, (len(SHARES), 5))
    return np.clip(centres[places] + rng.normal(0, 0.12, (ROWS, 5)), 0, 1), places


def scores(model: Any, X: np.ndarray, y: np.ndarray, n_classes: int) -> tuple[float, ...]:
    """Return weighted mean loss, macro F1, accuracy and the least recall, the last three in %."""
    margins = np.asarray(model.decision_function(X))
    z = np.stack([np.zeros(len(y)), margins], 1) if margins.ndim == 1 else margins
    log_p = z - z.max(1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(1, keepdims=True))
    weights = np.where(y == n_classes - 1, WEIGHT, 1.0)
    loss = -float((weights * log_p[np.arange(len(y)), y]).mean())
    counts = np.bincount(n_classes * y + z.argmax(1), minlength=n_classes**2)
    counts = counts.reshape(n_classes, n_classes)
    right, seen = np.diagonal(counts), counts.sum(0) + counts.sum(1)
    recall = float((right / counts.sum(1)).min())
    return loss, 100 * float((2 * right / seen).mean()), 100 * right.sum() / len(y), 100 * recall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--algo", default="auto")
    parser.add_argument("--out", type=Path, help=OUT)
    asked, kept = parser.parse_args(), []
    warnings.simplefilter("ignore")
    X, places = generated()
    tables = {"four": (places, 4), "two": ((places == 3).astype(int), 2)}
    print("table epsilon weights  loss  macro F1  accuracy  least recall")
    for name, (y, n_classes) in tables.items():
        for epsilon in EPSILONS:
            public = {"class_weight": {n_classes - 1: WEIGHT}}
            ways = {"none": {}, "public": public, "balanced": {"also": [BalancedWeights()]}}
            for way, weights in ways.items():
                fits = [
                    fit(
                        X,
                        y,
                        algo=asked.algo,
                        classes=range(n_classes),
                        bounds=(0, 1),
                        row_norm=None,
                        epsilon=epsilon,
                        delta=1e-6,
                        **weights,
                    )
                    for _ in range(asked.fits)
                ]
                found = np.mean([scores(model, X, y, n_classes) for model in fits], 0)
                loss, f1, accuracy, recall = found
                of = {"table": name, "epsilon": epsilon, "weights": way, "loss": f"{loss:.3f}"}
                shares = {"macro F1": f1, "accuracy": accuracy, "least recall": recall}
                kept.append(of | {each: f"{share:.1f}" for each, share in shares.items()})
                shown = f"{loss:.3f}     {f1:5.1f}     {accuracy:5.1f}         {recall:5.1f}"
                print(f"{name:5} {epsilon:7} {way:8} {shown}", flush=True)
    keep(asked.out, kept)


if __name__ == "__main__":
    main()
