"""Does gram-ridge lose anything by scaling columns and turning rows?

R2 times 100 on a fifth of the rows of public tables and of generated ones, in means over
``repeats`` splits with their standard errors, of `gram-ridge` with its columns as they are
(`spreads_share=0`), of `gram-ridge` by default, and of `dp-gd`, at delta 1e-6, on the same splits.
`less` is the mean of the default's R2 less the better of the other two means, each on the same
split, with its standard error; "!" marks one that is below 0 by more than two of them.

    python bench/scaled_ridge.py --packages FOLDER [--tables diamonds,wine] [--epsilon 0.1]
        [--repeats 6] [--out bench/results/scaled_ridge.csv]

With `--use reporting` the rows are those of bench/results/scaled_ridge_reporting.csv.

FOLDER holds the packages of development.toml, unpacked: pip install --no-deps --target FOLDER.
Names with ``-sim`` are generated: `housing-sim` (20,640 rows, four columns with few far cells),
`insurance-sim` (1,338, a target far from the middle of its bounds that one category makes) and
`narrow-sim` (10,000, columns of deviations of a hundredth of their bounds).
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from listed_tables import ListedTable, listed_tables
from printed import OUT, keep, mean_and_error, parser_of

from dpcore import Schema, fit
from dpcore.errors import DpcoreWarning

EPSILONS, DELTA, TESTED = (0.1, 1.0), 1e-6, 5
ARMS: dict[str, tuple[str, dict[str, float]]] = {
    "as they are": ("gram-ridge", {"spreads_share": 0.0}),
    "gram-ridge": ("gram-ridge", {}),
    "dp-gd": ("dp-gd", {}),
}
FIELDS = ("table", "rows", "epsilon", "repeats", "arm", "R2", "error")


def housing() -> pd.DataFrame:
    rng, n = np.random.default_rng(6), 20_640
    income = np.clip(np.exp(rng.normal(1.24, 0.47, n)), 0.5, 15)
    age = np.clip(rng.normal(28.6, 12.6, n), 1, 52).round()
    south = rng.random(n) < 0.58
    latitude = np.where(south, rng.normal(33.9, 0.5, n), rng.normal(37.9, 0.9, n))
    longitude = -118.2 - (latitude - 34) * 0.9 + rng.normal(0, 0.7, n)
    rooms = 3.2 + 0.5 * income + np.exp(rng.normal(-0.3, 0.6, n))
    rooms[rng.random(n) < 0.004] *= 8
    bedrooms = 1.02 + 0.05 * rng.standard_normal(n) + 0.03 * (rooms - 5)
    population = np.exp(rng.normal(7.0, 0.74, n))
    occupants = np.exp(rng.normal(1.05, 0.26, n))
    population[-1], occupants[:3] = 35_682.0, (500.0, 230.0, 1243.3)
    value = 0.35 + 0.43 * income + 0.0096 * age - 0.11 * (rooms - 5.4) + 0.65 * (bedrooms - 1.1)
    value -= 0.42 * (latitude - 35.6) + 0.43 * (longitude + 119.57) - rng.normal(0.2, 0.7, n)
    columns = {"income": income, "age": age, "rooms": rooms, "bedrooms": bedrooms}
    columns |= {"population": population, "occupants": occupants}
    columns |= {"latitude": latitude, "longitude": longitude, "target": np.clip(value, 0.15, 5)}
    return pd.DataFrame(columns)


def insurance() -> pd.DataFrame:
    rng, n = np.random.default_rng(5), 1338
    age, bmi = rng.integers(18, 65, n), np.clip(rng.normal(30.7, 6.1, n), 16, 53)
    smoker, children = rng.random(n) < 0.2, rng.choice(6, n, p=[0.43, 0.24, 0.18, 0.11, 0.03, 0.01])
    charges = 2000 + 3.2 * age**2 + 600 * children
    charges = charges + (rng.random(n) < 0.25) * 7000 * rng.exponential(1, n) ** 1.5
    charges = charges + smoker * (17_000 + 1400 * (bmi - 30) + 15_000 * (bmi > 30))
    columns = {
        "age": age,
        "bmi": bmi,
        "children": children,
        "smoker": np.where(smoker, "yes", "no"),
    }
    columns |= {"sex": rng.choice(["female", "male"], n), "region": rng.choice(list("nesw"), n)}
    return pd.DataFrame({**columns, "target": np.clip(charges, 1121, 63_770)})


def narrow() -> pd.DataFrame:
    rng, n = np.random.default_rng(7), 10_000
    a, b, c = 0.3 + 0.02 * rng.standard_normal(n), rng.random(n), rng.normal(0.9, 0.01, n)
    d = rng.beta(2, 30, n)
    target = (a - 0.3) / 0.02 + 0.5 * b + 8 * d + 0.7 * rng.standard_normal(n)
    a[0], a[1], c[0] = 0.0, 1.0, 0.0
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "target": target})


GENERATED = {"housing-sim": housing, "insurance-sim": insurance, "narrow-sim": narrow}


def tables_of(use: str, packages: Path) -> Iterator[tuple[str, pd.DataFrame, Schema, str]]:
    """Return the name, the rows, the schema and the target's name of each table."""
    for listed in listed_tables(use):
        if listed.task == "regression":
            frame = listed.frame(packages)
            yield listed.name, frame, listed.schema(frame), listed.target
    if use == "development":
        for name, made in GENERATED.items():
            words = {"name": name, "use": use, "task": "regression", "package": "", "file": ""}
            frame = made()
            schema = ListedTable(**words, sha256="", target="target").schema(frame)
            yield name, frame, schema, "target"


def score(
    frame: pd.DataFrame, schema: Schema, target: str, epsilon: float, repeat: int, arm: str
) -> float:
    """Return R2 times 100 of one fit on the rows that it did not see."""
    order = np.random.default_rng(1000 + repeat).permutation(len(frame))
    tested = len(order) // TESTED
    train, test = (frame.iloc[k].reset_index(drop=True) for k in (order[tested:], order[:tested]))
    algo, params = ARMS[arm]
    words = {"schema": schema, "loss": "ridge", "delta": DELTA}
    model = fit(train, epsilon=epsilon, algo=algo, params=params, **words)
    y = test[target].to_numpy(float)
    return 100 * (1 - float(np.mean((y - model.predict(test)) ** 2) / np.var(y)))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--tables", default="")
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--use", default="development", choices=("development", "reporting"))
    parser.add_argument("--out", type=Path, help=OUT)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", DpcoreWarning)
    lines = []
    for name, frame, schema, target in tables_of(asked.use, asked.packages):
        if asked.tables and name not in asked.tables.split(","):
            continue
        for epsilon in asked.epsilon or EPSILONS:
            rows = (frame, schema, target, epsilon)
            found = {a: [score(*rows, k, a) for k in range(asked.repeats)] for a in ARMS}
            best = max((a for a in ARMS if a != "gram-ridge"), key=lambda a: np.mean(found[a]))
            less, error = mean_and_error(np.subtract(found["gram-ridge"], found[best]))
            means = {arm: mean_and_error(values) for arm, values in found.items()}
            cells = [f"{arm} {mean:8.2f} ({spread:.2f})" for arm, (mean, spread) in means.items()]
            mark = "!" if less < -2 * error else " "
            print(f"{name:14}{len(frame):>7}{epsilon:>5g}  {'  '.join(cells)}", end="")
            print(f"  less {less:6.2f} ({error:.2f}){mark}", flush=True)
            head = (name, len(frame), f"{epsilon:g}", asked.repeats)
            lines += [(*head, a, f"{m:.2f}", f"{e:.2f}") for a, (m, e) in means.items()]
    keep(asked.out, [dict(zip(FIELDS, line, strict=True)) for line in lines])


if __name__ == "__main__":
    main()
