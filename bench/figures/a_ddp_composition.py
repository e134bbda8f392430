"""Theorem 1 of Cheng et al. (AAAI 2020) beside advanced composition: their Figure 3.

    python bench/figures/a_ddp_composition.py --results FOLDER [--quick]

As in the paper: noise that makes one round over all rows (epsilon, delta)-DP, T rounds over samples
at rate p, a total epsilon by advanced composition, and the delta that Theorem 1 (sampling
composition) has at that epsilon. Advanced composition's own delta there is delta (1 + T p): T
amplified deltas and a slack of delta. The total epsilon is had in three ways:

* ``paper``: amplification to epsilon p as the paper states it, which is too small, and Dwork & Roth
  2014, Theorem 3.20, sqrt(2 T ln(1 / delta)) e + T e (exp(e) - 1);
* ``sound``: the same theorem of ln(1 + p (exp(epsilon) - 1)) (Balle, Barthe & Gaboardi 2018,
  Theorem 8);
* ``better``: the lesser of the sum T e of those and of Kairouz, Oh & Viswanath 2017, Theorem 3.5,
  third form. This is no theorem's curve but what an accountant would take. The sum has no slack:
  where it is the lesser, the delta beside it is T p delta.

One of T, p, clip, delta and epsilon varies at a time from T = 10, p = .1, clip = 3, delta = 1e-5,
epsilon = .1. Beside Theorem 1 stand Renyi divergences and `pld` at the same epsilon; `pld` is for a
row added or removed, from above and within a thousandth of the exact value; deltas below 1e-9 are
not resolved. A second table gives epsilon at delta = 1e-5 of runs whose exact figures are known.

FOLDER gets `a-ddp-composition.csv` and `known-compositions.csv`, each with the commit and the
command that made it. What FOLDER has already is drawn and printed, not computed; without --results
that is `bench/results`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from committed import read, read_or_make
from kept_means import sign
from looks import write_below
from panels import HERE, Run, asked

from dpcore.plugin.parts import GdpAccountant
from dpcore.privacy.events import DpEvent, GaussianDpEvent, PoissonSampledDpEvent
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore_a_ddp.sampling_composition import SamplingCompositionAccountant, delta_after
from dpcore_accounting.advanced_composition import amplified_epsilon, epsilon_after
from dpcore_accounting.privacy_loss_composition import composed_delta_up
from dpcore_accounting.rdp import RdpAccountant
from dpcore_accounting.sampled_gaussian import sampled_gaussian_renyi_up
from dpcore_accounting.smallest_epsilon import smallest_epsilon
from dpcore_lab.compare.svg import STYLE, svg_of

RELATION = NeighboringRelation.ADD_OR_REMOVE_ONE
PANELS = {
    "rounds": (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
    "p": (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0),
    "clip": (1.0, 2.0, 3.0, 4.0, 5.0),
    "delta": (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3),
    "epsilon": (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0),
}
KNOWN = (  # noise multiplier, p, rounds, exact epsilon at delta 1e-5 as others computed it
    (1.5, 0.04, 2249, 6.767),
    (1.0, 0.01, 1000, 1.828),
    (0.8, 0.001, 20000, 1.100),
    (3.0, 0.2, 50, 2.061),
)
FORMS = {
    "paper": "the paper's formula",
    "sound": "its sound form",
    "better": "the better of basic and advanced",
}
BOUNDS = ("sampling", "rdp", "pld")
RESOLVED = 1e-9
ORDERS = [*range(2, 65), *(round(64 * 1.1**k) for k in range(1, 70))]
Row = dict[str, str]


@dataclass(frozen=True)
class Setting:
    rounds: int = 10
    p: float = 0.1
    clip: float = 3.0
    delta: float = 1e-5
    epsilon: float = 0.1

    def totals(self) -> dict[str, tuple[float, float]]:
        """Return (total epsilon, delta of the composition) of each form.

        The clip scales noise and sensitivity alike, so nothing depends on it.
        """
        rounds, slack = self.rounds, math.log(1 / self.delta)
        sampled = rounds * self.p * self.delta

        def dwork_roth(each: float) -> float:
            return math.sqrt(2 * rounds * slack) * each + rounds * each * math.expm1(each)

        one = amplified_epsilon(self.epsilon, self.p)
        spread = one * math.sqrt(2 * rounds * slack)
        advanced = rounds * one * math.tanh(one / 2) + spread
        basic = rounds * one
        better = (basic, sampled) if basic <= advanced else (advanced, sampled + self.delta)
        return {
            "paper": (dwork_roth(self.epsilon * self.p), sampled + self.delta),
            "sound": (dwork_roth(one), sampled + self.delta),
            "better": better,
        }

    def deltas(self, total: float) -> dict[str, float]:
        """Return each bound's delta at a total epsilon."""
        mu = math.sqrt(GdpAccountant.mu_squared_down(Fraction(self.epsilon), Fraction(self.delta)))
        m = 1 / mu
        return {
            "sampling": delta_after(self.rounds, m, self.p, total),
            "rdp": renyi_delta(m, self.p, self.rounds, total),
            "pld": composed_delta_up(((event_of(m, self.p), self.rounds),), total, RESOLVED),
        }


def event_of(m: float, p: float) -> PoissonSampledDpEvent:
    return PoissonSampledDpEvent(p, GaussianDpEvent(m), RELATION)


def renyi_delta(m: float, p: float, rounds: int, epsilon: float) -> float:
    """Return the smallest delta over whole orders (Canonne, Kamath & Steinke 2020, Prop. 12)."""
    logs = []
    for order in ORDERS:
        tau = rounds * float(sampled_gaussian_renyi_up(event_of(m, p), Fraction(order)))
        logs.append((order - 1) * (tau - epsilon + math.log1p(-1 / order)) - math.log(order))
    return math.exp(min(0.0, *logs))


def rows_of(panels: dict[str, tuple[float, ...]]) -> Iterator[Row]:
    """Yield a row for each setting and form."""
    for name, values in panels.items():
        for value in values:
            setting = replace(Setting(), **{name: value})
            for form, (total, delta) in setting.totals().items():
                figures = {"epsilon": total, "composition": delta, **setting.deltas(total)}
                shown = {figure: f"{given:.4g}" for figure, given in figures.items()}
                yield {"parameter": name, "value": f"{value:g}", "form": form, **shown}


PRINTED = {
    "rounds": ("1", "5", "10", "20", "100", "1000"),
    "p": ("0.01", "0.03", "0.1", "0.2"),
    "delta": ("1e-08", "0.001"),
    "epsilon": ("0.02", "0.5", "1", "2"),
}
"""The settings of the table that is printed."""


def table_of(rows: Sequence[Row]) -> list[str]:
    """Return the lines of a Markdown table: each form's epsilon, and Theorem 1's delta there."""
    heads = [f"epsilon by {name}; Theorem 1 there" for name in FORMS.values()]
    lines = [
        f"| | {' | '.join(heads)} | delta of advanced composition | exact, there |",
        "|---" * (len(heads) + 3) + "|",
    ]
    found: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        if row["value"] in PRINTED.get(row["parameter"], ()):
            found.setdefault((row["parameter"], row["value"]), {})[row["form"]] = row
    for (parameter, value), forms in found.items():
        setting = f"{'T' if parameter == 'rounds' else parameter} = {value}"
        cells = [_plain(forms[form]) for form in FORMS]
        exact = _shown(float(forms["paper"]["pld"]))
        own = _shown(float(forms["paper"]["composition"]))
        lines.append(f"| {setting} | {' | '.join(cells)} | {own} | {exact} |")
    return lines


def _plain(row: Row) -> str:
    return f"{float(row['epsilon']):.3g}; {_shown(float(row['sampling']))}"


def _shown(delta: float) -> str:
    return f"{delta:.1e}" if delta > RESOLVED else f"< {RESOLVED:.0e}"


def convolved_epsilon(event: DpEvent, rounds: int, about: float) -> float:
    def holds(epsilon: float) -> bool:
        return composed_delta_up(((event, rounds),), epsilon, 1e-5) <= 1e-5

    return smallest_epsilon(holds, about, 1e-6)


def known_rows() -> Iterator[Row]:
    """Yield a row for each run whose exact epsilon is known."""
    for m, p, rounds, known in KNOWN:
        event = event_of(m, p)
        order = RdpAccountant.for_schedule(1.0, 1e-5, {event: rounds}).order
        renyi = RdpAccountant.at_order(1e4, 1e-5, order)
        counted = SamplingCompositionAccountant.from_budget(1e6, 1e-5)
        for _ in range(rounds):
            renyi = renyi.compose(event)
        rounds_so_far = counted._added(event, rounds)
        counted = replace(counted, rounds=rounds_so_far)
        yield {
            "noise multiplier": f"{m:g}",
            "rate": f"{p:g}",
            "rounds": str(rounds),
            "known": f"{known:.3f}",
            "pld": f"{convolved_epsilon(event, rounds, known):.4f}",
            "rdp": f"{renyi.get_epsilon(1e-5):.3f}",
            "sampling": f"{counted.get_epsilon(1e-5):.3f}",
            "better": f"{epsilon_after(rounds_so_far, 1e-5):.3f}",
        }


def known_table(rows: Sequence[Row]) -> list[str]:
    """Return the lines of a Markdown table of ``known_rows``."""
    heads = (
        "noise multiplier, rate, rounds",
        "known",
        "`pld`",
        "Renyi, best order",
        "Theorem 1",
        "the better of basic and advanced",
    )
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        run = f"{row['noise multiplier']}, {row['rate']}, {row['rounds']}"
        cells = [row[name] for name in ("known", "pld", "rdp", "sampling", "better")]
        lines.append(f"| {run} | {' | '.join(cells)} |")
    return lines


def draw(path: Path, how: Run) -> None:
    """Draw the deltas that are kept."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({**STYLE, "font.size": 9})
    rows = read(path)[1]
    figure, panels = plt.subplots(1, 5, figsize=(13, 3.6), layout="constrained", sharey=True)
    for panel, name in zip(panels, PANELS, strict=True):
        draw_panel(panel, [row for row in rows if row["parameter"] == name])
        if name != "clip":
            panel.set_xscale("log")
        panel.set_xlabel({"rounds": "T", "epsilon": "epsilon of a round"}.get(name, name))
    panels[0].set_ylabel("delta at the epsilon of\nadvanced composition")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    write_below(figure, f"{how.note} {WHOLE if how.reduced else ''}".strip())
    out = how.pictures / f"{path.stem}.svg"
    out.write_bytes(svg_of(figure))
    sign(out, path)


WHOLE = "This figure is whole."
LOOKS = {
    "paper": ("#D55E00", "o", "-"),
    "sound": ("#0072B2", "s", "-"),
    "better": ("#009E73", "^", "-."),
}
"""Colour, marker and line of Theorem 1 at the epsilon of each form."""


def draw_panel(panel: Any, rows: Sequence[Row]) -> None:
    of = {form: [row for row in rows if row["form"] == form] for form in FORMS}
    values = [float(row["value"]) for row in of["paper"]]
    own = [float(row["composition"]) for row in of["paper"]]
    label = "advanced composition, delta (1 + T p)"
    panel.plot(values, own, color="black", ls="--", lw=1.2, label=label)
    for form, (color, marker, style) in LOOKS.items():
        points = [max(float(row["sampling"]), RESOLVED) for row in of[form]]
        look = {"color": color, "marker": marker, "ls": style, "ms": 4.5, "mew": 0}
        panel.plot(values, points, label=f"Theorem 1, epsilon by {FORMS[form]}", **look)
    exact = [max(float(row["pld"]), RESOLVED) for row in of["paper"]]
    label = "exact (a row added or removed), epsilon by the paper's formula; 1e-9: or less"
    panel.plot(values, exact, color="0.55", ls=":", label=label)
    panel.set_yscale("log")
    panel.minorticks_off()
    panel.grid(axis="y", color="0.9", lw=0.8)


def main() -> None:
    how = asked(__doc__)
    panels = {name: values[: 2 if how.quick else None] for name, values in PANELS.items()}
    folder = how.results or HERE.parent / "results"
    rows = read_or_make(folder / "a-ddp-composition.csv", lambda: rows_of(panels))
    print("\n".join(table_of(rows)), end="\n\n")
    if not how.quick:
        known = read_or_make(folder / "known-compositions.csv", known_rows)
        print("\n".join(known_table(known)))
    draw(folder / "a-ddp-composition.csv", how)


if __name__ == "__main__":
    main()
