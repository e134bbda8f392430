"""DP-AGD (Lee & Kifer, KDD 2018), the effects of its parameters on Adult: splits, gamma, the bound
of a row's gradient (C_grad) and of a row's loss (C_obj), each by itself from `--preset paper`.

    DPCORE_DATA_DIR=... python bench/figures/dp_agd_effects.py --results FOLDER [--quick]
"""

from __future__ import annotations

from functools import partial

from panels import Row, Run, asked, publish, results_of

from dpcore_lab.compare.settings import Comparison

LABEL = "dp-agd:paper"
DATA = ("adult",)
EPSILONS = (0.1, 0.4, 1.6)
EFFECTS = {
    "splits": ("splits", (20, 40, 60, 80, 100)),
    "gamma": ("gamma", (0.1, 0.2, 0.3, 0.4, 0.5)),
    "C_grad": ("clip", (1.0, 2.0, 3.0, 4.0, 5.0)),
    "C_obj": ("loss_clip", (1.0, 2.0, 3.0, 4.0, 5.0)),
}
"""Name in the paper -> parameter, and its values."""


def fits(shown: str, how: Run) -> list[Row]:
    """Return the rows of one parameter, value by value."""
    data = how.some(DATA)
    (parameter, values), rows = EFFECTS[shown], []
    for value in values[:1] if how.quick else values if data else ():
        params = {LABEL: {parameter: str(value)}}
        comparison = Comparison((LABEL,), data, EPSILONS, params=params)
        found = results_of(f"dp-agd-{shown}-{value}", comparison, how)
        # The references are the same whatever the value: those of the first stand for all.
        rows += [row for row in found if row["algorithm"] != LABEL and not rows]
        own = (row for row in found if row["algorithm"] == LABEL)
        rows += [row | {"algorithm": f"{shown} = {value:g}"} for row in own]
    return rows


def main() -> None:
    how = asked(__doc__)
    settings = Comparison((LABEL,), DATA, EPSILONS)
    for shown in list(EFFECTS)[: 1 if how.quick else None]:
        publish(f"dp-agd-effect-{shown}", partial(fits, shown, how), settings, how)


if __name__ == "__main__":
    main()
