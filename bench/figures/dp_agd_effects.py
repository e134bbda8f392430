"""DP-AGD (Lee & Kifer, KDD 2018), the effects of its parameters on Adult: splits, gamma, the bound
of a row's gradient (C_grad) and of a row's loss (C_obj), each by itself from `--preset paper`.

    DPCORE_DATA_DIR=... python bench/figures/dp_agd_effects.py --results FOLDER [--quick]
"""

from __future__ import annotations

from panels import Row, asked, draw, results_of

from dpcore_lab.compare.settings import Comparison

LABEL = "dp-agd:paper"
EPSILONS = (0.1, 0.4, 1.6)
EFFECTS = {
    "splits": ("splits", (20, 40, 60, 80, 100)),
    "gamma": ("gamma", (0.1, 0.2, 0.3, 0.4, 0.5)),
    "C_grad": ("clip", (1.0, 2.0, 3.0, 4.0, 5.0)),
    "C_obj": ("loss_clip", (1.0, 2.0, 3.0, 4.0, 5.0)),
}
"""Name in the paper -> parameter, and its values."""


def main() -> None:
    how = asked(__doc__)
    data = how.some(("adult",))
    effects = list(EFFECTS.items())[: 1 if how.quick else None]
    for shown, (parameter, values) in effects if data else ():
        rows: list[Row] = []
        for value in values[:1] if how.quick else values:
            params = {LABEL: {parameter: str(value)}}
            comparison = Comparison((LABEL,), data, EPSILONS, params=params)
            found = results_of(f"dp-agd-{shown}-{value}", comparison, how)
            # The references are the same whatever the value: those of the first stand for all.
            fits = [row for row in found if row["algorithm"] == LABEL]
            rows += [row for row in found if row["algorithm"] != LABEL and not rows]
            rows += [row | {"algorithm": f"{shown} = {value:g}"} for row in fits]
        draw(f"dp-agd-effect-{shown}", rows, comparison, how)


if __name__ == "__main__":
    main()
