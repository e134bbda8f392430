"""NSGD: SGD with the sensitivity of the worst batch (Chen, Lee & Kifer 2019, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.plugin import check_ranges, option
from dpcore_rsgd_ar import defaults
from dpcore_rsgd_ar.options import UnitRows, check_loss, check_problem
from dpcore_rsgd_ar.release import Release, release_pass
from dpcore_rsgd_ar.schedule import Schedule

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, PrivacySession, Problem, Solution

__all__ = ["SOURCES", "Nsgd"]

PAPER: dict[str, Any] = {
    "epochs": 50,
    "batch_size": 4000,
    "row_bound": 1.0,
    "l2_scaled": 0.001,
    "accountant": "single",
    "accountant_conversion": "mironov",
}
"""Beside it steps are eta_0 / s (Algorithm 1). eta_0 is not printed: 2 / (L + mu), the largest that
Lemma 2 contracts with by both of its terms."""
SOURCES: dict[str, str] = {
    "epochs": "neither the paper nor its code states T: those of rsgd-ar's preset",
    "batch_size": 'Chen, Lee & Kifer 2019, section 5, "Parameter settings", of RSGD-AR',
    "row_bound": 'Chen, Lee & Kifer 2019, section 5, "Preprocessing": observations of norm 1',
    "l2_scaled": "Chen, Lee & Kifer 2019, section 5.1: lambda",
    "accountant": "Chen, Lee & Kifer 2019, Algorithm 1: one release",
    "accountant_conversion": "Chen, Lee & Kifer 2019, Proposition 1",
}
"""Where each field of the preset is found."""


@dataclass(frozen=True, kw_only=True)
class Nsgd(UnitRows):
    """Fits a linear model by mini-batch SGD with steps ``step_size / s`` in epoch s, released once.

    Privacy, under replace-one: Gaussian noise on the last iterate, scaled to the sensitivity of the
    worst batch by Lemma 2's recurrence, rounding included. Rows are shuffled, for the fit alone.
    """

    epochs: int = option(20, "passes over the rows", "epochs", range=(1, 10**5))
    batch_size: int | None = option(
        None,
        "about how many rows a batch has",
        "rows",
        "4,000, at most a twentieth of all",
        range=(1, 2**40),
    )
    step_size: float | None = option(
        None,
        "step of the first epoch, eta_0",
        "norm of w over norm of a gradient",
        "2 / (L + mu)",
        range=(2.0**-40, 2.0**40),
    )
    l2_share: float = option(
        1.0,
        "l2 where --l2 is not given, times (time of the run)",
        "1 / time",
        range=(2.0**-20, 2.0**20),
    )

    name: ClassVar[str] = "nsgd"
    randomized: ClassVar[bool] = False
    theorem: ClassVar[str] = (
        "Chen, Lee & Kifer 2019, Lemma 2; the Gaussian's curve: Balle & Wang 2018, Theorem 8"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "rounding of every step and of the result is part of the sensitivity",
        "the exact curve of the Gaussian (--accountant rdp or zcdp for the paper's kind)",
    )

    presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": PAPER}
    preset_sources: ClassVar[dict[str, dict[str, str]]] = {"paper": SOURCES}

    def __post_init__(self) -> None:
        check_ranges(self)

    def default_l2(self, problem: Problem, accountant: Accountant) -> float:
        """Return the l2 of a run that was given none."""
        check_loss(self, problem)
        if self.l2_scaled is not None:
            return self.l2_scaled * problem.row_norm**2
        flow = defaults.flow_for(problem, accountant)
        return defaults.l2_for(problem, flow, self.l2_share)

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        n, facts = check_problem(self, problem), self.facts(problem)
        first = self.step_size or 2 / (facts.curvature + facts.mu)
        steps = defaults.decaying_steps(first, self.epochs, 0)
        schedule = Schedule(n, self.batch_size or min(4000, -(-n // 20)), steps)
        how = Release(self, randomized=self.randomized)
        solution = release_pass(problem, facts, schedule, session, how)
        return self.scaled_back(solution, problem, facts)
