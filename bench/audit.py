"""How much of each algorithm's epsilon can be proved from what it gives out?

Every private algorithm, with every loss and relation that it takes, on the made tables of
``dpcore audit``, at epsilon 4 and delta 1e-5 (0 where the algorithm is pure): the epsilon that
final models prove, and the one that each release does, over the claimed one, rounded down: of the
first and the last release of a kind where a run has several. Final models take as many runs as fit
in ``--seconds`` of CPU time for each combination, and how many runs a second of it takes is printed
beside the table: all on one pair of tables, a quarter learns a set of outcomes, the others are
counted. ``--finals first`` audits those of an algorithm's first loss and relation alone, ``none``
no final models.
Noise is seeded: on a machine as fast the same command prints the same table.

    python bench/audit.py [--seconds 10] [--draws 100000] [--jobs 2] [--finals all]
        [--algo NAME] [--write docs/audit.md]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import math
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from dpcore.errors import DpcoreError, InvalidInputError
from dpcore.fitting.request.settings import default_algorithm
from dpcore.registry.catalogue import load_registry
from dpcore.registry.tables.declarations import optimizer_facts
from dpcore_lab.audit.claim import Claim
from dpcore_lab.audit.fits import Fits, Request
from dpcore_lab.audit.recorded import releases_of
from dpcore_lab.audit.releases import audit_release, claim_of, noise_of
from dpcore_lab.audit.statistic import learn
from dpcore_lab.audit.two_world import count_again

EPSILON, SEED, MOST_RUNS = 4.0, 1, 3_000
MARKS = "<!-- audit -->\n", "<!-- /audit -->"
PARAMS = {"a-ddp": {"most_rounds": 20}, "sgd-pass": {"rounds": 2}}
"""Where a run at its defaults takes seconds."""
PAIRS = {"ridge": "a row against rows that agree"}
"""By theory rather than by scouting: a squared loss is steepest at a row that contradicts others,
all others move furthest by a row where nobody else has anything."""
USUAL_PAIR, FEWEST = "a row beside empty rows", 32


def ratio(found: float, claimed: float) -> str:
    """Return a share with two decimals, rounded down."""
    return f"{math.floor(100 * found / claimed) / 100:.2f}"


def of_finals(fits: Fits, seconds: float) -> tuple[str, bool]:
    """Return the share that final models prove, with the runs counted, and whether they contradict
    the claim; print the runs that a second of CPU time takes, by the least of three."""
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
    return f"{share} ({found.counts.runs})", found.is_violation


def enough(release: Any, whole: Claim, draws: int) -> int:
    """Return how many draws a release takes: all, or a quarter of them where its claim is 4 or
    more, or is brought there, and no sample hides the row: nine tenths take a tenth of ``draws``
    there, and four fifths of them at 1."""
    own = claim_of(release.event, whole)
    return draws if own.sampled < 1 or 1 <= own.epsilon < 3 else draws // 4


def of_releases(fits: Fits, draws: int) -> tuple[str, bool]:
    """Return the share that each kind of release proves, and whether one contradicts its claim."""
    shares: dict[str, list[str]] = {}
    releases = releases_of(fits, SEED)
    found = [
        audit_release(release, fits.claim, enough(release, fits.claim, draws), noise, len(releases))
        for release, noise in ((each, noise_of(SEED, k)) for k, each in enumerate(releases))
    ]
    for one in found:
        share = ratio(one.finding.epsilon, one.finding.claim.epsilon)
        shares.setdefault(one.release.kind, []).append(share)
    words = [f"{kind} {' / '.join(dict.fromkeys(each))}" for kind, each in shares.items()]
    return ", ".join(words), any(one.is_violation for one in found)


def row(seconds: float, draws: int, asked: tuple[str, str, str, bool]) -> list[str] | None:
    """Return the cells of a combination, nothing where its parts do not fit each other."""
    name, loss, relation, with_finals = asked
    request = Request(name, loss, relation, EPSILON, params=PARAMS.get(name, {}), seed=SEED)
    try:
        fits = Fits(request)
        fits.try_out()
    except DpcoreError:
        return None
    finals, releases = ("", False), ("", False)
    if with_finals:
        finals = of_finals(fits, seconds)
    try:
        releases = of_releases(fits, draws)
    except InvalidInputError:
        pass  # rows that stay with users
    verdict = "VIOLATION" if finals[1] or releases[1] else "consistent"
    return [f"`{name}`", loss, relation, finals[0], releases[0], verdict]


def combinations(only: list[str] | None, finals: str) -> list[tuple[str, str, str, bool]]:
    """Return algorithm, loss, relation and whether final models are audited."""
    registry, found = load_registry(), []
    losses = [entry.name for entry in registry.entries("loss")]
    losses.sort(key=lambda loss: (loss not in ("logistic", "ridge"), loss))
    for entry in registry.entries("optimizer"):
        factory = registry.load("optimizer", entry.name)
        if (only and entry.name not in only) or not optimizer_facts(factory).private:
            continue
        if entry.name == default_algorithm():  # It is one of the others.
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


def table(rows: list[list[str]], options: argparse.Namespace) -> str:
    head = ["algorithm", "loss", "relation", "final model (runs counted)", "releases", "verdict"]
    rows = [head, ["---"] * len(head), *rows]
    if options.finals == "none":
        rows = [cells[:3] + cells[4:] for cells in rows]
    said = (
        f"Audited over claimed, by `python bench/audit.py --seconds {options.seconds:g} --draws "
        f"{options.draws} --finals {options.finals}`: epsilon {EPSILON:g}, delta 1e-5; a release "
        "below epsilon 1 is audited at 4. Two figures are of the first and the last release of a "
        "kind. Draws are of both answers together, a quarter of them at claims of 4; runs counted "
        "are of each table.\n\n"
    )
    return said + "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def main() -> None:
    raw: Any = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--draws", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--finals", choices=("none", "first", "all"), default="all")
    parser.add_argument("--algo", action="append")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    asked = combinations(options.algo, options.finals)
    context, rows = multiprocessing.get_context("spawn"), []
    with ProcessPoolExecutor(options.jobs, context) as pool:
        for cells in pool.map(partial(row, options.seconds, options.draws), asked):
            if cells is not None:
                rows.append(cells)
                print(" | ".join(cells), flush=True)
    if options.write is not None:
        before, rest = options.write.read_text().split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        text = f"{before}{MARKS[0]}{table(rows, options)}{MARKS[1]}{after}"
        options.write.write_text(text)


if __name__ == "__main__":
    main()
