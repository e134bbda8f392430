"""What each bound gives away for Gaussian noise on Poisson samples: Figure 3 of Cheng et al. (AAAI
2020) with the exact value beside it.

    python bench/figures/a_ddp_composition.py --results FOLDER [--quick]

As in the paper: noise that makes one round over all rows (epsilon, delta)-DP; T rounds over samples
at rate p; advanced composition (after amplification, its slack once more delta) gives a total
epsilon and its delta; the other bounds are then asked for delta at that epsilon. One of T, p, clip,
delta and epsilon varies at a time from T = 10, p = .1, clip = 3, delta = 1e-5, epsilon = .1. The
figure of `pld` is for a row added or removed, from above and within a thousandth of the exact one;
smaller ones than 1e-9 are not shown. A second table gives epsilon at delta = 1e-5 of runs whose
exact figures are known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from panels import Run, asked

from dpcore.accountants.normal import gaussian_mu_squared_down
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
BOUNDS = ("advanced", "sampling", "rdp", "pld")
RESOLVED = 1e-9
ORDERS = [*range(2, 65), *(round(64 * 1.1**k) for k in range(1, 70))]


@dataclass(frozen=True)
class Setting:
    rounds: int = 10
    p: float = 0.1
    clip: float = 3.0
    delta: float = 1e-5
    epsilon: float = 0.1

    def deltas(self) -> dict[str, float]:
        """Return the total epsilon and each bound's delta there. The clip scales noise and
        sensitivity alike, so nothing depends on it."""
        mu = math.sqrt(gaussian_mu_squared_down(Fraction(self.epsilon), Fraction(self.delta)))
        m = 1 / mu
        one = amplified_epsilon(self.epsilon, self.p)
        spread = one * math.sqrt(2 * self.rounds * math.log(1 / self.delta))
        total = min(self.rounds * one, self.rounds * one * math.tanh(one / 2) + spread)
        return {
            "total": total,
            "advanced": self.delta * (1 + self.rounds * self.p),
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


def print_panels(panels: dict[str, tuple[float, ...]]) -> dict[str, list[dict[str, float]]]:
    found = {}
    for name, values in panels.items():
        print(f"\n| {name} | total epsilon | " + " | ".join(BOUNDS) + " |")
        print("|---" * (len(BOUNDS) + 2) + "|")
        found[name] = [replace(Setting(), **{name: value}).deltas() for value in values]
        for value, row in zip(values, found[name], strict=True):
            cells = [_shown(row[bound]) for bound in BOUNDS]
            print(f"| {value:g} | {row['total']:.4f} | " + " | ".join(cells) + " |")
    return found


def _shown(delta: float) -> str:
    return f"{delta:.1e}" if delta > RESOLVED else f"< {RESOLVED:.0e}"


def convolved_epsilon(event: DpEvent, rounds: int, about: float) -> float:
    def holds(epsilon: float) -> bool:
        return composed_delta_up(((event, rounds),), epsilon, 1e-5) <= 1e-5

    return smallest_epsilon(holds, about, 1e-6)


def print_known() -> None:
    print("\n| noise multiplier, p, rounds | known | pld | rdp | sampling | advanced |")
    print("|---|---|---|---|---|---|")
    for m, p, rounds, known in KNOWN:
        event = event_of(m, p)
        order = RdpAccountant.for_schedule(1.0, 1e-5, {event: rounds}).order
        renyi = RdpAccountant.at_order(1e4, 1e-5, order)
        counted = SamplingCompositionAccountant.from_budget(1e6, 1e-5)
        for _ in range(rounds):
            renyi = renyi.compose(event)
        rounds_so_far = counted._added(event, rounds)
        counted = replace(counted, rounds=rounds_so_far)
        bounds = [renyi.get_epsilon(1e-5), counted.get_epsilon(1e-5)]
        bounds.append(epsilon_after(rounds_so_far, 1e-5))
        cells = [
            f"{known:.3f}",
            f"{convolved_epsilon(event, rounds, known):.4f}",
            *(f"{x:.3f}" for x in bounds),
        ]
        print(f"| {m:g}, {p:g}, {rounds} | " + " | ".join(cells) + " |")


def draw(found: dict[str, list[dict[str, float]]], how: Run) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({**STYLE, "font.size": 9})
    looks = {
        "advanced": ("#E69F00", "s", "--", "advanced composition"),
        "sampling": ("#0072B2", "o", "-", "sampling composition (Theorem 1)"),
        "rdp": ("#009E73", "^", "-.", "Renyi, best order"),
        "pld": ("black", None, "-", "privacy losses, convolved (add or remove a row)"),
    }
    figure, panels = plt.subplots(1, 5, figsize=(13, 3.4), layout="constrained", sharey=True)
    for panel, (name, values) in zip(panels, PANELS.items(), strict=True):
        values = values[: len(found[name])]
        for bound, (color, marker, style, label) in looks.items():
            points = [max(row[bound], RESOLVED) for row in found[name]]
            look = {"color": color, "marker": marker, "ls": style, "ms": 4.5, "mew": 0}
            panel.plot(values, points, label=label, **look)
        panel.set_yscale("log")
        if name != "clip":
            panel.set_xscale("log")
        panel.minorticks_off()
        panel.set_xlabel({"rounds": "T", "epsilon": "epsilon of a round"}.get(name, name))
        panel.grid(axis="y", color="0.9", lw=0.8)
    panels[0].set_ylabel("delta at the epsilon of\nadvanced composition")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    (how.pictures / "a-ddp-composition.svg").write_bytes(svg_of(figure))


def main() -> None:
    how = asked(__doc__)
    panels = {name: values[: 2 if how.quick else None] for name, values in PANELS.items()}
    found = print_panels(panels)
    if not how.quick:
        print_known()
    draw(found, how)


if __name__ == "__main__":
    main()
