"""Accuracy with private bounds beside known ones, on adult and bank.

The known bounds are those of the shipped schemas; the private ones are of the same columns but for
0 and 1, released in each fit out of its own budget. Both fit the same rows, drawn anew for each
pair of fits, and are scored on the fifth that is left. Noise and splits come from seeds. Both have
curves, between quantiles where bounds are private.

    python bench/private_bounds.py [--fits 10] [--out bench/results/private_bounds.csv]
"""

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import tempfile
from pathlib import Path

import numpy as np
from printed import OUT, keep

from dpcore import Schema
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.rows.unbounded import encoded_rows
from dpcore.plugin.commands import Run
from dpcore.plugin.parts import Dataset
from dpcore_tables.datasets import adult, bank
from dpcore_tables.datasets.fetch import fetch


def adult_file(folder):
    """Return the path of both files of adult in one, without the remark in the second."""
    train, test = (Path(fetch(file)).read_text() for file in adult.FILES)
    path = Path(folder) / "adult.csv"
    path.write_text(train.rstrip() + "\n" + test.partition("\n")[2].rstrip() + "\n")
    return path


def without_bounds(schema):
    """Return the schema with private bounds of its numeric columns but for 0 and 1."""
    data = schema.to_dict()
    for column in data["columns"]:
        if column["kind"] == "numeric" and (column["lower"], column["upper"]) != (0, 1):
            del column["lower"], column["upper"]
    return Schema.from_dict(data, private_bounds=True)


def accuracy(dataset, settings):
    """Return the accuracy of a fit on the rows that it left out, and the model."""
    plan = make_plan(settings)
    train, test = dataset.split(0.2, plan.relation, settings.seed)
    model = Run(plan, train, kept_fraction=0.8).model()
    test = encoded_rows(test, model.schema)
    return float(((model.margins(test.X) > 0) == (test.y > 0)).mean()), model


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=10)
    parser.add_argument("--epsilon", type=float, default=0.4)
    parser.add_argument("--delta", type=float, nargs="*", default=[1e-8, 1e-6])
    parser.add_argument("--algo", default="auto")
    parser.add_argument("--out", type=Path, help=OUT)
    asked, kept = parser.parse_args(), []
    with tempfile.TemporaryDirectory() as folder:
        sources = {
            "adult": (adult_file(folder), adult.schema()),
            "bank": (fetch(bank.FILES[0]), bank.schema()),
        }
        tables = {
            name: [
                Dataset.from_file(path, each, name=name) for each in (known, without_bounds(known))
            ]
            for name, (path, known) in sources.items()
        }
    for name, pair in tables.items():
        for delta in asked.delta:
            found = []
            for seed in range(asked.fits):
                settings = Settings(asked.algo, epsilon=asked.epsilon, delta=delta, seed=seed)
                fits = [accuracy(dataset, settings) for dataset in pair]
                found.append([share for share, _ in fits])
            known, private = 100 * np.mean(found, axis=0)
            error = 100 * np.std(np.subtract(*np.transpose(found))) / np.sqrt(asked.fits)
            values = {"known bounds": known, "private bounds": private, "error": error}
            of = {"table": name, "epsilon": asked.epsilon, "delta": delta, "fits": asked.fits}
            kept.append(of | {each: f"{value:.2f}" for each, value in values.items()})
            print(
                f"{name}, epsilon {asked.epsilon}, delta {delta}, {asked.fits} fits each: known "
                f"bounds {known:.2f} %, private bounds {private:.2f} %, {private - known:+.2f} "
                f"points (standard error {error:.2f})",
                flush=True,
            )
        released = fits[1][1].schema
        for column in pair[1].schema.unbounded:
            lower, upper = next(c.bounds for c in released.features if c.name == column.name)
            own = next(c.bounds for c in pair[0].schema.features if c.name == column.name)
            print(
                f"  {column.name}: known {own[0]:g} to {own[1]:g}, last fit {lower:g} to {upper:g}"
            )
    keep(asked.out, kept)


if __name__ == "__main__":
    main()
