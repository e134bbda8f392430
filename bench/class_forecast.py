"""Shares of the gain that fits of three classes and more keep: the curve of ``dpcore plan``.

Labels are columns with categories of adult, a table of development, predicted from the others, and
the digits of scikit-learn. Of samples of three sizes the errors of default
fits on straight lines, at three epsilons and delta 1e-6, are compared with those of a constant and
of a fit at epsilon 1,000 to all rows but those of the test. Two fits each; the share kept is their
mean. Then the constants of kept = 1 / (1 + (middle / u)^power): the middle and the power with the
least absolute error, and those of the curves with a 20th of the shares below and above them, at
steps of 2^(1/4) and of 1/8. Each label is left out once, and its shares are counted that lie
between the outer curves of the others.

    DPCORE_DATA_DIR=... python bench/class_forecast.py [--labels occupation,job]
        [--out bench/results/class_forecast.csv]
"""

from __future__ import annotations

import argparse
import math
import tomllib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from printed import OUT, keep
from public_tables import TABLES
from sklearn.datasets import load_digits

from dpcore import Schema, fit
from dpcore.accountants import GdpAccountant
from dpcore_tables.schemas.shipped import schema_text

DELTA, EPSILONS, SIZES, REPEATS, TESTED = 1e-6, (0.3, 1.0, 3.0), (800, 4000, 16000), 2, 5
LABELS = {
    "adult": ("relationship", "marital-status", "occupation", "workclass", "race"),
    "digits": ("target",),
}
OUTER, ROUNDED = 0.05, 0.005
"""Shares below and above the outer curves; and half a percent: a forecast is of whole ones."""
MIDDLES = 2.0 ** np.arange(0, 10.25, 0.25)
POWERS = np.arange(0.5, 3.125, 0.125)


@dataclass(frozen=True)
class Label:
    """A table with one of its columns as the label."""

    name: str
    frame: pd.DataFrame
    schema: Schema


def labels() -> Iterator[Label]:
    for table in TABLES:
        for name in LABELS.get(table.name, ()):
            if table.name == "digits":
                frame = table.load()
                columns: dict[str, Any] = {
                    str(pixel): {"kind": "numeric", "lower": 0, "upper": 16}
                    for pixel in load_digits().feature_names
                }
                columns["target"] = {"kind": "label", "classes": list(range(10))}
                yield Label("digits", frame, Schema.from_dict({"columns": columns}))
                continue
            told = tomllib.loads(schema_text(table.schema))
            columns = dict(told["columns"])
            (own,) = (key for key, column in columns.items() if column["kind"] == "label")
            columns[own] = {"kind": "drop"}
            columns[name] = {"kind": "label", "classes": columns[name]["categories"]}
            schema = Schema.from_dict({"columns": columns, "missing": told.get("missing", [])})
            yield Label(f"{table.name} {name}", table.load(), schema)


def errors_of(label: Label) -> Iterator[dict[str, Any]]:
    """Yield the share kept of each size and epsilon."""
    order = np.random.default_rng(0).permutation(len(label.frame))
    held = len(order) // TESTED
    tested, rest = label.frame.iloc[order[:held]], label.frame.iloc[order[held:]]
    name = label.schema.label.name
    assert name is not None
    truth = tested[name].astype(str).str.strip().to_numpy()
    constant = 1 - pd.Series(truth).value_counts(normalize=True).iloc[0]

    def error(rows: pd.DataFrame, epsilon: float, seed: int) -> tuple[float, tuple[int, ...]]:
        told = {"curves": "none"}
        model = fit(rows, schema=label.schema, epsilon=epsilon, delta=DELTA, seed=seed, params=told)
        said = np.asarray(model.predict(tested)).astype(str)
        return float(np.mean(said != truth)), model.w.shape

    least, (n_classes, width) = error(rest, 1000.0, 0)
    for n in (n for n in SIZES if n <= len(rest)):
        for epsilon in EPSILONS:
            samples = (rest.sample(n, random_state=seed) for seed in range(REPEATS))
            found = [error(rows, epsilon, seed)[0] for seed, rows in enumerate(samples)]
            mu = math.sqrt(GdpAccountant.from_budget(epsilon, DELTA).budget)
            yield {
                "label": label.name,
                "classes": n_classes,
                "columns": width,
                "rows": n,
                "epsilon": epsilon,
                "u": round(n * mu / math.sqrt(width * n_classes / 2), 2),
                "left": round(least / constant, 3),
                "kept": round((constant - float(np.mean(found))) / (constant - least), 3),
            }


def share_kept(u: np.ndarray, middle: float, power: float) -> np.ndarray:
    return 1 / (1 + (middle / u) ** power)


def fitted(u: np.ndarray, kept: np.ndarray, quantile: float) -> tuple[float, float]:
    """Return the constants of the curve with such a share of the cells below it (pinball loss)."""

    def cost(constants: tuple[float, float]) -> float:
        missed = kept - share_kept(u, *constants)
        return float(np.maximum(quantile * missed, (quantile - 1) * missed).sum())

    return min(((float(m), float(p)) for m in MIDDLES for p in POWERS), key=cost)


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--labels", metavar="NAMES", help="some, by commas")
    parser.add_argument("--out", type=Path, help=OUT)
    parser.add_argument("--known", type=Path, metavar="FILE", help="an --out: no fits are made")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = asked.labels.split(",") if asked.labels else None
    cells: list[dict[str, Any]] = []
    if asked.known:
        cells = pd.read_csv(asked.known, comment="#").to_dict("records")
    for label in () if asked.known else labels():
        if chosen is None or label.name.rpartition(" ")[2] in chosen:
            for cell in errors_of(label):
                cells.append(cell)
                print(*cell.values(), flush=True)
    u, kept = (np.array([cell[key] for cell in cells]) for key in ("u", "kept"))
    kept = np.clip(kept, 0.0, 1.0)
    names = np.array([cell["label"] for cell in cells])
    for quantile in (OUTER, 0.5, 1 - OUTER):
        print(f"quantile {quantile:g}: middle {fitted(u, kept, quantile)}")
    missed = np.abs(kept - share_kept(u, *fitted(u, kept, 0.5)))
    between = np.median(missed[(kept > 0.1) & (kept < 0.9)])
    print(f"off by {np.median(missed):.3f} in the median; of shares from .1 to .9, {between:.3f}")
    inside = []
    for name in dict.fromkeys(names):
        own, others = names == name, names != name
        if others.any():
            low, high = (fitted(u[others], kept[others], q) for q in (OUTER, 1 - OUTER))
            of_curves = share_kept(u[own], *low) - ROUNDED, share_kept(u[own], *high) + ROUNDED
            inside += [*((of_curves[0] <= kept[own]) & (kept[own] <= of_curves[1]))]
    if inside:
        print(f"{np.mean(inside):.0%} of shares of a label left out are between the outer curves")
    keep(asked.out, cells)


if __name__ == "__main__":
    main()
