"""Accuracy with private bounds by the exponential mechanism, beside those that dpcore releases.

The exponential mechanism picks both quantiles of each column on scores of exact ranks (Smith 2011,
on public leaves in place of intervals), for equal parts of what the release of counts costs: under
pure epsilon e / (2 m) each, under zCDP by epsilon^2 / 8. For two quantiles the recursion of Kaplan,
Schnapp & Stemmer 2022 asks as often at that price. Its ranks are those that an empty leaf is chosen
at with a chance of 1 in 1,000. It is a simulation, in floats and from seeds: no release.
"""

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import math
import tempfile

import numpy as np
from private_bounds import accuracy, adult_file, without_bounds

from dpcore import Schema
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.plugin.parts import Dataset
from dpcore_tables.bounds import step as private_bounds
from dpcore_tables.bounds.bins import LEAVES, edge, leaves_of
from dpcore_tables.bounds.unbounded_rows import UnboundedRows
from dpcore_tables.datasets import adult, bank
from dpcore_tables.datasets.fetch import fetch

COUNTS = private_bounds.bounds_of
DELTAS = {"pure": 0.0, "zcdp": 1e-6}


class Seen(UnboundedRows):
    """Rows in waiting whose columns are left behind for the simulation."""

    columns: list = []

    def __init__(self, dataset):
        super().__init__(dataset)
        Seen.columns = list(self._columns)


def quantile(counts, epsilon, rng):
    """Return the leaf of the lower quantile, of a rank that noise alone seldom reaches."""
    up_to = np.append(0, np.cumsum(counts))
    safe = math.log(2 * LEAVES * len(Seen.columns) * 1000) / epsilon
    rank = 0.01 * up_to[-1] + min(safe, 0.4 * up_to[-1])
    scores = -np.maximum(0, np.maximum(up_to[:-1] - rank, rank - up_to[1:]))
    return int(np.argmax(epsilon * scores + rng.gumbel(size=LEAVES)))


def by_exponential(budget, unit, rng):
    """Return what takes the place of ``bounds_of``, column by column, for a share of the budget."""
    columns = iter(range(10**6))

    def bounds(counts, noise, lower, upper):
        m = len(Seen.columns)
        cells = Seen.columns[next(columns) % m]
        exact = np.bincount(leaves_of(cells[~np.isnan(cells)]), minlength=LEAVES)
        part = float(private_bounds.SHARE) * budget / (2 * m)
        epsilon = part if unit == "epsilon" else math.sqrt(8 * part)
        ends = quantile(exact, epsilon, rng), LEAVES - 1 - quantile(exact[::-1], epsilon, rng)
        return edge(min(ends)), edge(max(ends) + 1)

    return bounds


def some(dataset, n, seed):
    """Return so many rows, drawn by the seed; all for ``None``."""
    if n is None:
        return dataset
    kept = np.zeros(dataset.X.shape[0], dtype=bool)
    kept[np.random.default_rng(seed).permutation(kept.size)[:n]] = True
    return dataset.take(kept)


def one_private(schema, name):
    """Return the schema with private bounds of one column."""
    data, free = schema.to_dict(), without_bounds(schema).to_dict()
    pairs = zip(data["columns"], free["columns"], strict=True)
    data["columns"] = [other if own["name"] == name else own for own, other in pairs]
    return Schema.from_dict(data, private_bounds=True)


def compare(name, pair, settings, asked):
    """Print the mean accuracies, and the standard error of the difference."""
    found = []
    for seed in range(asked.fits):
        made = Settings(**settings, seed=seed)
        accountant, rng = make_plan(made).accountant, np.random.default_rng((seed, 1))
        exponential = by_exponential(accountant.budget, accountant.unit, rng)
        row = []
        for dataset, chosen in ((pair[0], COUNTS), (pair[1], COUNTS), (pair[1], exponential)):
            private_bounds.bounds_of = chosen
            row.append(accuracy(some(dataset, asked.n, seed), made)[0])
        found.append(row)
    known, counts, exponential = 100 * np.mean(found, axis=0)
    error = 100 * np.std(np.diff(found, axis=1)[:, 1]) / math.sqrt(asked.fits)
    print(
        f"{name}, {settings['accountant']}, epsilon {settings['epsilon']}: known {known:.2f} %, "
        f"counts {counts:.2f} %, exponential {exponential:.2f} % ({exponential - counts:+.2f}, "
        f"standard error {error:.2f})",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=8)
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.1, 0.4, 2.0])
    parser.add_argument("--n", type=int, help="use so many rows")
    parser.add_argument("--one", action="store_true", help="one column per data set alone")
    asked = parser.parse_args()
    private_bounds.UnboundedRows = Seen
    with tempfile.TemporaryDirectory() as folder:
        tables = {
            "adult": (adult_file(folder), adult.schema(), "capital-gain"),
            "bank": (fetch(bank.FILES[0]), bank.schema(), "balance"),
        }
        for name, (path, known, column) in tables.items():
            private = one_private(known, column) if asked.one else without_bounds(known)
            pair = [Dataset.from_file(path, schema, name=name) for schema in (known, private)]
            print(f"{name}: {', '.join(c.name for c in private.unbounded)}")
            for epsilon in asked.epsilon:
                for accountant, delta in DELTAS.items():
                    settings = {"epsilon": epsilon, "delta": delta, "accountant": accountant}
                    compare(name, pair, settings, asked)


if __name__ == "__main__":
    main()
