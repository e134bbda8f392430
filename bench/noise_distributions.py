"""What does noise by an author's distribution cost, over the core's Laplace noise?

Releases of zeros, the mechanisms in turn, on one thread. Numbers are medians of CPU time.

    python bench/noise_distributions.py [--repeats 40] [--coordinates 1000]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import time
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from dpcore.plugin import Laplace, NeighboringRelation
from dpcore.plugin.parts import NoiseSource, Sensitivity
from dpcore_accounting.distributions import (
    AddedDeviates,
    ContinuousDistribution,
    IntegerDistribution,
    TableNoise,
)

ONE = Sensitivity("l1", 1.0, NeighboringRelation.ADD_OR_REMOVE_ONE)


@dataclass(frozen=True)
class LaplaceAndNormal(AddedDeviates):
    """A sum of two exact deviates; its cost is asked by nobody here."""

    name = "laplace-and-normal"
    needs = "l1"
    distribution = ContinuousDistribution((("laplace", 1.0), ("normal", 0.25)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--coordinates", type=int, default=1000)
    options = parser.parse_args()
    exact, noise = np.zeros(options.coordinates, dtype=np.int64), NoiseSource.of_seed()
    masses = [0.9 ** abs(z) for z in range(-150, 151)]
    made: dict[str, Any] = {
        "laplace": Laplace(10.0),
        "table of 301 weights": TableNoise(
            IntegerDistribution.of(masses, -150), options.coordinates
        ),
        "laplace and normal": LaplaceAndNormal(10.0),
    }
    taken: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(options.repeats + 1):
        for name, mechanism in made.items():
            start = time.process_time()
            mechanism.release(exact, ONE, noise)
            taken[name].append(1e3 * (time.process_time() - start))
    middle = {name: median(times[1:]) for name, times in taken.items()}
    for name, ms in middle.items():
        print(f"{name:24}{ms:9.3f} ms{ms / middle['laplace']:8.1f} times laplace")


if __name__ == "__main__":
    main()
