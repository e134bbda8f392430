"""Do the intervals of coefficients cover, and how wide are they?

Rows are drawn with replacement from a table, which so is the population, and its exact minimiser
the truth: 50,000 generated rows whose log odds are not linear; adult by age, years of education,
hours and sex; bank by age, housing, loan and earlier contact; bike's logarithm of the count by
working day and weather, for ridge. Algorithm by default and `--intervals-share .5`,
add-or-remove-one, delta 1e-6. By cell: in how many of the repeats intervals were given, which share
of the coefficients' 95 % intervals hold the truth, the coefficient that is covered least, and the
median width over that of the sandwich interval without privacy.

    python bench/intervals.py --results FILE [--fits 20] [--repeats 2000] [--tables generated,adult]

Each of the `--fits` is a fit on fresh rows and fresh noise. Each of the `--repeats` has fresh rows
and fresh noise too, but in place of a fit, which is most of the time, it starts at the minimiser of
its rows, moved as one of the fits ended off the minimiser of its own; sums are in floats and the
noise normal, with the deviations, rules and steps of dpcore itself. A line of the file for each.
The cells of `--fits 12 --repeats 2000` are kept in bench/results/intervals.csv.
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import itertools
import json
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from interval_tables import TABLES, Population

from dpcore.fitting.planning.plan import Plan, make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.steps.views import PublicFacts
from dpcore.plugin.commands import Run
from dpcore.plugin.steps import StepSession
from dpcore_baselines.queries.standardized import StandardizedGradientSum
from dpcore_report.intervals.estimate import NORMAL_975
from dpcore_report.intervals.inference import Inference
from dpcore_report.intervals.row_products import ON_DIAGONAL, OVER_DIAGONAL, RowProducts
from dpcore_report.intervals.step import Intervals

SIZES, EPSILONS = (1_000, 10_000, 100_000), (0.1, 1.0, 4.0)
SHARE, DELTA = 0.5, 1e-6


class FloatSums:
    """Sums over drawn rows in place of a session's, in floats, with normal noise."""

    def __init__(self, population: Population, counts: np.ndarray, rng: np.random.Generator):
        self.population, self.counts, self.rng = population, counts, rng

    def release(self, query: Any, mechanism: Any) -> np.ndarray:
        rows = self.population
        if not isinstance(query, RowProducts):
            answer = rows.gradient(query.w, self.counts)
            if isinstance(query, StandardizedGradientSum):
                answer = query.standardization.map_gradient(answer)
        else:
            whole = rows.products(query.w, self.counts, query.by)
            if query.centring is not None:
                mapped = query.centring.standardization.map_gradient
                whole = mapped(mapped(whole).T).T
            factors = np.where(np.eye(len(whole), dtype=bool), ON_DIAGONAL, OVER_DIAGONAL)
            answer = (whole * factors)[np.triu_indices(len(whole))]
        return answer + self.rng.normal(0.0, self.deviation(query, mechanism), answer.size)

    def deviation(self, query: Any, mechanism: Any) -> float:
        return StepSession.deviation_of(mechanism, query, query.problem)


def outcome(truth: np.ndarray, plain: np.ndarray, found: dict[str, Any]) -> dict[str, Any]:
    """Return by coefficient the error in standard errors and the ratio of widths, or why not.

    ``plain`` : the standard errors without privacy.
    """
    if "why_not" in found:
        return {"why_not": found["why_not"].partition(".")[0]}
    errors = np.sqrt(np.diag(np.array(found["covariance"])))
    off = (np.array(found["estimate"]) - truth) / errors
    return {"off": off.tolist(), "ratio": float(np.median(errors / plain))}


def run_cell(
    population: Population, cell: dict[str, Any], asked: argparse.Namespace, earlier: list[Any]
) -> Iterator[dict[str, Any]]:
    """Yield the fits and repeats of a cell that are not made yet."""
    plan = planned(population, cell["epsilon"])
    truth, rng = population.minimiser(population.whole()), np.random.default_rng()
    ended = [np.array(row["ended"]) for row in earlier if "ended" in row]
    while len(ended) < asked.fits:
        places = rng.integers(0, population.place.size, cell["n"])
        counts = np.bincount(population.place[places], minlength=population.y.size).astype(float)
        model: Any = Run(plan, population.dataset.take(places)).model()
        least = population.minimiser(counts, truth)
        ended.append(model.w - least)
        found = outcome(truth, population.plain_errors(counts, least), model.intervals)
        yield {"ended": ended[-1].tolist(), **found}
    given = [row for row in earlier if "ended" not in row]
    inference = inference_in(population, plan, cell["n"])
    for _ in range(len(given), asked.repeats):
        counts = population.drawn(rng, cell["n"])
        least = population.minimiser(counts, truth)
        session: Any = FloatSums(population, counts, rng)
        estimates = inference.estimates(session, least + ended[rng.integers(len(ended))])
        yield outcome(truth, population.plain_errors(counts, least), estimates)


def planned(population: Population, epsilon: float) -> Plan:
    """Return the plan of every fit of a cell."""
    more: dict[str, Any] = {"also": (Intervals(SHARE),), "l2": 0.0, "threads": 1}
    return make_plan(Settings(epsilon=epsilon, delta=DELTA, loss=population.loss, **more))


def inference_in(population: Population, plan: Plan, n: int) -> Inference:
    """Return what a fit to ``n`` rows has from dpcore for its intervals."""
    dataset = population.dataset.take(np.zeros(n, dtype=np.int64))
    ready = Run(plan, dataset).ready()
    return Intervals(SHARE).check(PublicFacts(ready, dataset.schema))


def table(files: list[Path]) -> Iterator[str]:
    """Yield the lines of the table: of each cell the repeats, and its whole fits beside them."""
    cells: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in itertools.chain.from_iterable(map(lines, files)):
        cells.setdefault((row["table"], row["n"], row["epsilon"]), []).append(row)
    yield (
        "| table | rows | epsilon | repeats | with intervals | coverage | least | width, times "
        "| whole fits | with intervals | coverage |"
    )
    yield "|---" * 11 + "|"
    for (name, n, epsilon), rows in sorted(cells.items()):
        fits = [row for row in rows if "ended" in row]
        stood_in = _cells_of([row for row in rows if "ended" not in row])
        of_fits = itertools.islice(_cells_of(fits), 3)
        yield " | ".join((f"| {name}", f"{n:,}", f"{epsilon:g}", *stood_in, *of_fits)) + " |"


def _cells_of(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield how many repeats there are, in how many there were intervals, and what these cover: on
    the mean with a standard error, and of the coefficient that is covered least; their width."""
    given = [row for row in rows if "off" in row]
    yield f"{len(rows):,}"
    yield f"{len(given) / max(len(rows), 1):.1%}"
    if not given:
        yield from ("", "", "")
        return
    covered = np.abs([row["off"] for row in given]) <= NORMAL_975
    error = covered.mean(1).std() / math.sqrt(len(given))
    yield f"{covered.mean():.1%} ± {error:.1%}"
    yield f"{covered.mean(0).min():.1%}"
    yield f"{np.median([row['ratio'] for row in given]):.2f}"


def lines(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the repeats in a file."""
    if file.exists():
        yield from map(json.loads, file.read_text().splitlines())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    sizes, epsilons = map(int, asked.sizes.split(",")), map(float, asked.epsilons.split(","))
    cells = itertools.product(asked.tables.split(","), sizes, epsilons)
    populations: dict[str, Population] = {}
    for name, n, epsilon in cells:
        cell = {"table": name, "n": n, "epsilon": epsilon}
        population = populations.setdefault(name, TABLES[name]())
        earlier = [row for row in lines(asked.results) if cell.items() <= row.items()]
        with asked.results.open("a") as out:
            for row in run_cell(population, cell, asked, earlier):
                print(json.dumps({**cell, **row}), file=out, flush=True)
    print("\n".join(table([asked.results])))


if __name__ == "__main__":
    main()
