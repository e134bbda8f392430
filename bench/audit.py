"""How much of each algorithm's epsilon can be proved from what it gives out?

Every private algorithm, with every loss and relation that it takes, on the made tables of
``dpcore audit``, at epsilon 4 and delta 1e-5 (0 where the algorithm is pure): the epsilon that
final models prove, and the one that each release does, over the claimed one, rounded down: of the
first and the last release of a kind where a run has several. Final models take as many runs as fit
in ``--seconds`` of CPU time for each combination, and how many runs a second of it takes is
printed: all on one pair of tables, a quarter learns a set of outcomes, the others are counted.
``--finals first`` audits those of an algorithm's first loss and relation alone, ``none`` no final
models. Noise is seeded: on a machine as fast the same command has the same results.

    python bench/audit.py [--seconds 10] [--draws 100000] [--jobs 2] [--finals all]
        [--algo NAME] [--write bench/results/audit.csv]
    python bench/audit.py --summary bench/results/audit.csv     # the table of docs/audit.md
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import csv
import math
import multiprocessing
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from dpcore.errors import DpcoreError, InvalidInputError
from dpcore.plugin import Settings
from dpcore.registry.catalogue import load_registry
from dpcore.registry.tables.optimizer_spec import optimizer_facts
from dpcore_lab.audit.claim import Claim
from dpcore_lab.audit.fits import Fits, Request
from dpcore_lab.audit.recorded import releases_of
from dpcore_lab.audit.releases import audit_release, claim_of, noise_of
from dpcore_lab.audit.statistic import learn
from dpcore_lab.audit.two_world import count_again

EPSILON, SEED, MOST_RUNS = 4.0, 1, 3_000
FIELDS = "algorithm loss relation audited first last runs verdict".split()
PARAMS = {"a-ddp": {"most_rounds": 20}, "sgd-pass": {"rounds": 2}}
"""Where a run at its defaults takes seconds."""
PAIRS = {"ridge": "a row against rows that agree"}
"""By theory rather than by scouting: a squared loss is steepest at a row that contradicts others,
all others move furthest by a row where nobody else has anything."""
USUAL_PAIR, FEWEST = "a row beside empty rows", 32


def ratio(found: float, claimed: float) -> str:
    """Return a share with two decimals, rounded down."""
    return f"{math.floor(100 * found / claimed) / 100:.2f}"


def of_finals(fits: Fits, seconds: float) -> tuple[list[str], bool]:
    """Return the results of final models, with the runs counted, and whether they contradict the
    claim; print the runs that a second of CPU time takes, by the least of three."""
    fits.run(0, 1, 0)
    times = []
    for number in range(1, 4):
        started = time.process_time()
        fits.run(0, 1, number)
        times.append(time.process_time() - started)
    each = sum(times) / len(times)
    print(f"{fits.plan.entry.name}: {1 / min(times):.0f} runs a second of CPU time", flush=True)
    runs = max(FEWEST, min(MOST_RUNS, int(seconds / each)))
    words = PAIRS.get(fits.plan.settings.loss, USUAL_PAIR)
    pair = next(k for k, tables in enumerate(fits.pairs) if tables.words == words)
    learning = runs // 8
    statistic = learn(fits.claim, *(fits.draw(pair, world, 0, learning) for world in (0, 1)))
    counted = learning, 3 * runs // 8
    found = count_again(fits.claim, fits.draw, pair, statistic, counted)
    share = ratio(found.epsilon, found.claim.epsilon)
    return ["final model", share, share, str(found.counts.runs)], found.is_violation


def enough(release: Any, whole: Claim, draws: int) -> int:
    """Return how many draws a release takes: all, or a quarter of them where its claim is 4 or
    more, or is brought there, and no sample hides the row: nine tenths take a tenth of ``draws``
    there, and four fifths of them at 1."""
    own = claim_of(release.event, whole)
    return draws if own.sampled < 1 or 1 <= own.epsilon < 3 else draws // 4


def of_releases(fits: Fits, draws: int) -> tuple[list[list[str]], bool]:
    """Return the results of each kind of release, and whether one contradicts its claim."""
    shares: dict[str, list[str]] = {}
    releases = releases_of(fits, SEED)
    found = [
        audit_release(release, fits.claim, enough(release, fits.claim, draws), noise, len(releases))
        for release, noise in ((each, noise_of(SEED, k)) for k, each in enumerate(releases))
    ]
    for one in found:
        share = ratio(one.finding.epsilon, one.finding.claim.epsilon)
        shares.setdefault(one.release.kind, []).append(share)
    told = [[kind, each[0], each[-1], ""] for kind, each in shares.items()]
    return told, any(one.is_violation for one in found)


def rows_of(seconds: float, draws: int, asked: tuple[str, str, str, bool]) -> list[dict[str, str]]:
    """Return the results of a combination, none where its parts do not fit each other."""
    name, loss, relation, with_finals = asked
    request = Request(name, loss, relation, EPSILON, params=PARAMS.get(name, {}), seed=SEED)
    try:
        fits = Fits(request)
        fits.try_out()
    except DpcoreError:
        return []
    told, violations = [], []
    if with_finals:
        found, is_violation = of_finals(fits, seconds)
        told, violations = [found], [is_violation]
    try:
        releases, is_violation = of_releases(fits, draws)
        told, violations = [*told, *releases], [*violations, is_violation]
    except InvalidInputError:
        pass  # rows that stay with users
    verdict = "VIOLATION" if any(violations) else "consistent"
    return [dict(zip(FIELDS, [name, loss, relation, *each, verdict], strict=True)) for each in told]


def combinations(only: list[str] | None, finals: str) -> list[tuple[str, str, str, bool]]:
    """Return algorithm, loss, relation and whether final models are audited."""
    registry, found = load_registry(), []
    losses = [entry.name for entry in registry.entries("loss")]
    losses.sort(key=lambda loss: (loss not in ("logistic", "ridge"), loss))
    for entry in registry.entries("optimizer"):
        factory = registry.load("optimizer", entry.name)
        if (only and entry.name not in only) or not optimizer_facts(factory).private:
            continue
        if entry.name == Settings.default_algorithm():  # It is one of the others.
            continue
        first = "ridge" if "squared-loss" in factory.needs else "logistic"
        found += [
            (
                entry.name,
                loss,
                relation,
                finals == "all" or (finals, loss, k) == ("first", first, 0),
            )
            for loss in losses
            for k, relation in enumerate(factory.relations)
        ]
    return found


def summary(rows: list[dict[str, str]]) -> list[str]:
    """Return a table with a line for each thing that is audited: the ratios of all algorithms,
    losses and relations, of the first and the last release."""
    ratios: dict[str, list[float]] = {}
    for row in rows:
        ratios.setdefault(row["audited"], []).extend((float(row["first"]), float(row["last"])))
    lines = ["| audited | least | median | largest |", "|---|---|---|---|"]
    for audited in sorted(ratios, key=lambda each: -statistics.median(ratios[each])):
        found = ratios[audited]
        values = " | ".join(f"{f(found):.2f}" for f in (min, statistics.median, max))
        lines.append(f"| {audited} | {values} |")
    return lines


def main() -> None:
    raw: Any = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--draws", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--finals", choices=("none", "first", "all"), default="all")
    parser.add_argument("--algo", action="append")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--summary", type=Path)
    options = parser.parse_args()
    if options.summary is not None:
        with options.summary.open(newline="") as file:
            print("\n".join(summary(list(csv.DictReader(file)))))
        return
    asked = combinations(options.algo, options.finals)
    context, rows = multiprocessing.get_context("spawn"), []
    with ProcessPoolExecutor(options.jobs, context) as pool:
        for told in pool.map(partial(rows_of, options.seconds, options.draws), asked):
            rows.extend(told)
            for each in told:
                print(" | ".join(each.values()), flush=True)
    if options.write is not None:
        with options.write.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    print("\n".join(summary(rows)))


if __name__ == "__main__":
    main()
