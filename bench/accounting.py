"""How much does each accountant give away, beside exact or known values?

Two tables. Epsilon at delta 1e-5 of Gaussian noise over Poisson samples, add-or-remove-one, at
settings whose value is known to four digits or so; and the noise multiplier of whole schedules, as
a run is calibrated, over that of `pld` (of `gdp` where that is exact), with the CPU seconds that
`pld` took to find it.

    python bench/accounting.py [--out bench/results/accounting.csv]     # of the second table
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path

from printed import OUT, keep

from dpcore.accountants.registered import registered_accountants
from dpcore.accountants.schedule import Schedule
from dpcore.errors import DpcoreError
from dpcore.plugin import FixedSchedule
from dpcore.privacy.events import (
    DpEvent,
    ExponentialMechanismDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
)
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore_accounting.privacy_loss_composition import composed_delta_up
from dpcore_accounting.smallest_epsilon import smallest_epsilon

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
KNOWN = (
    (1.5, 0.04, 2249, 6.767),
    (1.0, 0.01, 1000, 1.828),
    (0.8, 0.001, 20000, 1.100),
    (3.0, 0.2, 50, 2.061),
)
"""Noise multiplier, rate, rounds, and epsilon at delta 1e-5 as others print it."""


def sampled(p: float, rounds: int) -> Schedule:
    return lambda m: {PoissonSampledDpEvent(p, GaussianDpEvent(m), ADD): rounds}


def descent(m: float) -> Mapping[DpEvent, int]:
    return {GaussianDpEvent(m): 100, ExponentialMechanismDpEvent(1 / m): 100}


def drawn(relation: NeighboringRelation) -> Schedule:
    """Rounds of a user of 100 rows, one of them in each, as `a-ddp` has them."""
    return lambda m: {SampledWithoutReplacementDpEvent(100, 1, GaussianDpEvent(m), relation): 1000}


SCHEDULES: dict[str, tuple[float, float, Schedule]] = {
    "400 samples of .05": (0.05, 1e-8, sampled(0.05, 400)),
    "400 samples of .05 ": (0.4, 1e-8, sampled(0.05, 400)),
    "400 samples of .05  ": (1.6, 1e-8, sampled(0.05, 400)),
    "400 samples of .001": (1.0, 1e-8, sampled(0.001, 400)),
    "1,000 draws of a row of 100": (2.0, 1e-8, drawn(NeighboringRelation.REPLACE_ONE)),
    "the same, replace-special": (2.0, 1e-8, drawn(NeighboringRelation.REPLACE_SPECIAL)),
    "400 Gaussian, tiny epsilon": (1e-4, 1e-8, lambda m: {GaussianDpEvent(m): 400}),
    "100 Gaussian": (0.4, 1e-8, lambda m: {GaussianDpEvent(m): 100}),
    "100 Gaussian, 100 selections": (0.4, 1e-8, descent),
    "100 Laplace": (0.4, 1e-8, lambda m: {LaplaceDpEvent(m): 100}),
    "100 selections": (0.4, 1e-8, lambda m: {ExponentialMechanismDpEvent(1 / m): 100}),
}


def print_known() -> None:
    print("| noise multiplier, rate, rounds | known | pld |\n|---|---|---|")
    for m, p, rounds, known in KNOWN:
        counts = tuple(sampled(p, rounds)(m).items())

        def holds(epsilon: float, counts: tuple[tuple[DpEvent, int], ...] = counts) -> bool:
            return composed_delta_up(counts, epsilon, 1e-5) <= 1e-5

        found = smallest_epsilon(holds, known, 1e-6)
        print(f"| {m:g}, {p:g}, {rounds} | {known:.3f} | {found:.4f} |")


def print_schedules() -> list[dict[str, object]]:
    """Print the table of schedules, and return its cells."""
    rows: list[dict[str, object]] = []
    names = [accountant.name for accountant in registered_accountants()]
    print("\n| schedule | epsilon, delta | pld | seconds | " + " | ".join(names) + " |")
    print("|---" * (4 + len(names)) + "|")
    for what, (epsilon, delta, schedule) in SCHEDULES.items():
        found: dict[str, float] = {}
        for accountant in registered_accountants():
            start = time.process_time()
            try:
                opened = FixedSchedule.planned_accountant(
                    accountant, epsilon, delta, None, schedule
                )
                found[accountant.name] = FixedSchedule.noise_multiplier(opened, schedule)
            except DpcoreError:
                continue
            if accountant.name == "pld":
                seconds = time.process_time() - start
        cells = [f"{found[n] / found['pld']:.4f}" if n in found else "-" for n in names]
        head = f"| {what.strip()} | {epsilon:g}, {delta:g} | {found['pld']:.5g} | {seconds:.2f} |"
        print(head + " " + " | ".join(cells) + " |")
        row = {"schedule": what.strip(), "epsilon": epsilon, "pld seconds": f"{seconds:.2f}"}
        for name, cell in zip(names, cells, strict=True):
            rows.append(row | {"accountant": name, "noise over pld": cell})
    return rows


if __name__ == "__main__":
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--out", type=Path, help=OUT)
    asked = parser.parse_args()
    print_known()
    keep(asked.out, print_schedules())
