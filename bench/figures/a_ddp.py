"""A-DDP (Cheng et al., AAAI 2020), Figures 1 and 2: accuracy and objective against epsilon for
users of 100 rows each, one of them a round, T = 10, clip 3, delta = 1e-8, replace-one.

`a-ddp` has the noise with which 1,000 rounds take the whole budget. The preset of the paper runs
until no user can join, about 40,000 rounds; so does the published form, which is not private and is
run on the smallest data set alone. A reduced run has neither. Aggregated, 2/3 of the users open a
sum, and 1/10 may collude. Under replace-special, the weaker promise: what amplification by sampling
buys.

    DPCORE_DATA_DIR=... python bench/figures/a_ddp.py --results FOLDER [--quick]
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from panels import QUICK, Row, Run, asked, publish, results_of

from dpcore_lab.compare.settings import Comparison

DATA = ("adult", "bank", "a9a", "ipums-br")
EPSILONS = (0.5, 2.0, 8.0)
SHORT = ("a-ddp", "sgd-adv-local", "sgd-pass", "sgd-maj")
"""Ten rounds, or a thousand."""
PUBLISHED = ("a-ddp:paper", "a-ddp:as-published")
SPECIAL = ("a-ddp", "a-ddp:amplified")


def main() -> None:
    draw(asked(__doc__))


def draw(how: Run) -> None:
    """Draw the figures that were asked for."""
    if how.quick:
        figure("a-ddp-local", how, {QUICK: (SHORT[::3],)})
        return
    figure("a-ddp-special", how, {data: (SPECIAL,) for data in DATA}, relation="replace-special")
    short = {data: (SHORT,) for data in DATA}
    figure("a-ddp-secure", how, short, trust="secure-aggregation")
    long = {data: (SHORT, PUBLISHED if data == QUICK else PUBLISHED[:1]) for data in DATA}
    figure("a-ddp-local", how, short if how.reduced else long)


Parts = Mapping[str, tuple[tuple[str, ...], ...]]
"""Data set -> algorithms, group by group: what takes long is kept by itself."""


def figure(name: str, how: Run, parts: Parts, **setting: str) -> None:
    """Draw what was asked for of the data sets."""
    setting = {"relation": "replace-one", **setting}
    settings = Comparison(SHORT, DATA, EPSILONS, **setting)
    publish(name, partial(fits, name, how, parts, setting), settings, how, about="a-ddp")


def fits(name: str, how: Run, parts: Parts, setting: Mapping[str, str]) -> list[Row]:
    """Return the rows of a figure, data set by data set."""
    rows = []
    for data in how.some(parts):
        for group in parts[data]:
            comparison = Comparison(group, (data,), EPSILONS, **setting)
            rows += results_of(f"{name}-{data}-{group[0].replace(':', '-')}", comparison, how)
    # The references are the same fits in every group of a data set.
    kept = {
        tuple(row[key] for key in ("data", "algorithm", "epsilon", "fold", "repeat")): row
        for row in rows
    }
    return list(kept.values())


if __name__ == "__main__":
    main()
