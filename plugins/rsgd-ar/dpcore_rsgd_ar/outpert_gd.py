"""Gradient descent with output perturbation (Zhang, Zheng, Mou & Wang, IJCAI 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import check_ranges, option
from dpcore_rsgd_ar import defaults
from dpcore_rsgd_ar.closed_forms import largest_fixed_step
from dpcore_rsgd_ar.nsgd import SOURCES
from dpcore_rsgd_ar.options import UnitRows, check_loss, check_problem
from dpcore_rsgd_ar.release import Release, release_pass
from dpcore_rsgd_ar.schedule import Schedule

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, PrivacySession, Problem, Solution

__all__ = ["OutpertGd"]

_MOST_EPOCHS = 1000


@dataclass(frozen=True, kw_only=True)
class OutpertGd(UnitRows):
    """Fits a linear model by gradient descent of fixed step ``2 / (L + mu)``, released once.

    Privacy, under replace-one: Gaussian noise scaled to ``2 R / (n mu)``, which holds after any
    number of steps (Chen, Lee & Kifer 2019, Proposition 2), rounding added. The exact minimiser is
    not needed.
    """

    epochs: int | None = option(
        None,
        "gradient steps, each a pass over the rows",
        "epochs",
        "3 (L + mu) / mu, at most 1000",
        range=(1, 10**6),
    )
    l2_share: float = option(
        1.0,
        "l2 where --l2 is not given, times (time of the run)",
        "1 / time",
        range=(2.0**-20, 2.0**20),
    )
    as_published: bool = option(False, "the sensitivity of Zhang et al., 5 R (L + mu) / (n mu L)")

    name: ClassVar[str] = "outpert-gd"
    theorem: ClassVar[str] = (
        "Chen, Lee & Kifer 2019, Proposition 2 with m = 1; the Gaussian's curve: Balle & Wang "
        "2018, Theorem 8"
    )
    # A step for n0 rows on a sum over n > n0 rows may expand: its curvature is up to n L. A step
    # for a capacity would contract for all n up to it, if a reader held rows to it; none does.
    other_relations: ClassVar[str] = (
        "Proposition 2 of Chen, Lee & Kifer 2019 is of two tables of n rows, n public, and of "
        "steps that contract. Of a row that counts for nothing, as under replace-special, it says "
        "nothing. Where n is private, as under add-or-remove-one, a step for n0 rows is no "
        "contraction of more, and no reader holds rows to a public capacity: --algo objpert, "
        "dp-agd or dp-gd (algo=) do without."
    )
    published_is: ClassVar[str] = (
        "which is marked in any case: its noise is sound and wasteful, at least 2.5 times what "
        "Proposition 2 asks for"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "sensitivity 2 R / (n mu), 2.5 times below the published one or more",
        "rounding of every step and of the result is part of the sensitivity",
    )

    # A fixed number of steps of a fixed size (Zhang et al. 2017): size and sensitivity of Chen, Lee
    # & Kifer 2019, Proposition 2, whatever the number.
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {"epochs": 50, "row_bound": 1.0, "l2_scaled": 0.001, "accountant": "single"}
    }
    preset_sources: ClassVar[dict[str, dict[str, str]]] = {
        "paper": {
            "epochs": "run_outpert_logistic.py of Lee & Kifer's code (2018): its default",
            "row_bound": SOURCES["row_bound"],
            "l2_scaled": SOURCES["l2_scaled"],
            "accountant": "Zhang et al. 2017: one release",
        }
    }

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
        both = facts.curvature + facts.mu
        epochs = self.epochs or min(_MOST_EPOCHS, math.ceil(3 * both / facts.mu))
        schedule = Schedule(n, n, np.full((epochs, 1), largest_fixed_step(facts)))
        rule = "zhang" if self.as_published else "proposition-2"
        how = Release(self, randomized=False, rule=rule)
        solution = release_pass(problem, facts, schedule, session, how)
        return self.scaled_back(solution, problem, facts)
