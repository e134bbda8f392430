"""The made table of the records: two hundred visits of a hundred people, in every form."""

from functools import cache
from pathlib import Path

import numpy as np

N_ROWS = 240
COLUMNS = {
    "age": "lower = 0, upper = 100",
    "height": "lower = -1, upper = 1",
}
LABELS = {
    "hired": 'classes = ["no", "yes"]',
    "ward": 'classes = ["a", "b", "c"]',
    "income": "lower = 0, upper = 100",
}


@cache
def visits():
    """Return the columns of the table, as lists of numbers and texts, drawn once."""
    rng = np.random.default_rng(37)
    age, height = np.round(100 * rng.random(N_ROWS), 1), np.round(2 * rng.random(N_ROWS) - 1, 3)
    city = rng.integers(3, size=N_ROWS)
    score = age / 100 + height * 0.5 - 0.3 * (city == 1) + 0.1 * rng.standard_normal(N_ROWS)
    return {
        "person": [f"p{number // 2:03}" for number in range(N_ROWS)],
        "age": age.tolist(),
        "height": height.tolist(),
        "city": np.array(["Bern", "Basel", "Zug"])[city].tolist(),
        "hired": np.where(score > 0.4, "yes", "no").tolist(),
        "ward": np.array(["a", "b", "c"])[np.digitize(score, [0.2, 0.6])].tolist(),
        "income": np.round(np.clip(60 * score + 20, 0, 100), 1).tolist(),
    }


def csv():
    """Return the table as a CSV file's text."""
    columns = visits()
    lines = zip(*columns.values(), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(str, line)) for line in lines), ""])


def schema(label="hired", bounds=True, unit=False, rows=N_ROWS):
    """Return the text of a schema of the table, with one of its labels."""
    lines = [f"rows = {rows}"] if rows else []
    lines += ['unit = "person"', "rows_per_unit = 2"] if unit else []
    lines += ["[columns]"]
    for name, keys in COLUMNS.items():
        lines.append(f'{name} = {{ kind = "numeric"{f", {keys}" if bounds else ""} }}')
    lines.append('city = { kind = "categorical", categories = ["Bern", "Basel"] }')
    for name, keys in LABELS.items():
        kind = f'"label", {keys}' if name == label else '"drop"'
        lines.append(f"{name} = {{ kind = {kind} }}")
    lines += [] if unit else ['person = { kind = "drop" }']
    return "\n".join([*lines, ""])


def write(rows=N_ROWS):
    """Write the table and a schema for each label: ``rows.csv``, ``hired.toml`` and so on."""
    Path("rows.csv").write_text(csv())
    for label in LABELS:
        Path(f"{label}.toml").write_text(schema(label, rows=rows))
