"""DP-AGD: gradient descent with adaptive per-iteration privacy budget (Lee & Kifer, KDD 2018)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.plugin import InvalidInputError, Slot, mechanism_in
from dpcore_dp_agd.batch import Batch
from dpcore_dp_agd.defaults import FEWEST_STEPS
from dpcore_dp_agd.descent import Descent
from dpcore_dp_agd.loss_line import first_line
from dpcore_dp_agd.options import Options
from dpcore_dp_agd.plan import plan_run
from dpcore_dp_agd.published import minimize_as_published

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem, Solution

__all__ = ["DpAgd"]


@dataclass(frozen=True, kw_only=True)
class DpAgd(Options):
    """Fits a linear model by noisy, normalised gradient steps whose sizes are selected privately.

    Each step measures the clipped gradient sum with noise, and selects one of a line of candidate
    step sizes by their clipped losses. When step size 0 wins, the measurement was too noisy: its
    share of the budget grows by ``1 + gamma``, the difference is measured again, and both are
    merged in proportion to what they cost (Algorithm 2). The run stops when the filter refuses.

    Privacy: every value used comes from ``session.release``; the filter's budget bounds the run
    (fully adaptive composition: Smith & Thakurta 2022; Koskela, Tobaben & Honkela 2023). Gradients
    have sensitivity ``clip`` (add-or-remove-one) or ``2 clip`` (replace-one); scores have a range
    of change of ``loss_clip`` or ``2 loss_clip``.

    Fields left at ``None`` are fixed functions of public facts (``dpcore_dp_agd.defaults``).
    """

    name: ClassVar[str] = "dp-agd"
    accountant: ClassVar[str] = "gdp"
    published_accountant: ClassVar[str] = "zcdp"
    slots: ClassVar[dict[str, Slot]] = {
        "gradient": Slot(("gaussian", "laplace"), takes=("l2", "l1")),
        "selection": Slot(
            ("exponential", "permute-and-flip", "report-noisy-max"), takes=("range",)
        ),
    }
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one", "replace-one")
    published_options: ClassVar[tuple[str, ...]] = ("batch_size",)
    needs: ClassVar[tuple[str, ...]] = ()
    for_units: ClassVar[bool] = True
    multiclass: ClassVar[bool] = True
    theorem: ClassVar[str] = (
        "mu^2 of Gaussians adds up under full adaptivity while the filter refuses what would "
        "exceed the total (Smith & Thakurta 2022; Koskela, Tobaben & Honkela 2023); gradients: "
        "Gaussian mechanism (Dong, Roth & Su 2022, Theorem 2.7); step sizes: exponential mechanism "
        "of bounded range (Dong, Durfee & Rogers 2020), dominated by a Gaussian (proof: "
        "dpcore.accountants.gaussian_mu)"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "selection by the exponential mechanism, which costs less than noisy minimum",
        "under replace-one scores range over 2 loss_clip and gradients over 2 clip",
        "a release that would exceed the budget is refused; the paper checks after drawing",
        "re-measured gradients are averaged by what each measurement cost, before they are "
        "normalised: Algorithm 2 averages a unit vector with a raw measurement",
        "Gaussian differential privacy, whose conversion is exact, instead of zCDP and Lemma 3.8",
        "directions are smoothed over steps and iterates averaged (momentum, averaging)",
        "batches, if asked for, are drawn by a coin for each row, anew for each release",
    )
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {
            "splits": 60,
            "clip": 3.0,
            "max_step": 2.0,
            "candidates": 20,
            "loss_clip": 3.0,
            "gamma": 0.1,
            "eta": 0.1,
            "tau": 10,
            "step_decay": 0.0,
            "shrink": 1.0,
            "momentum": 0.0,
            "averaging": -1.0,
            "selection": "report-noisy-max",
            "accountant": "zcdp",
            "accountant_conversion": "bun-steinke",
        }
    }
    preset_sources: ClassVar[dict[str, dict[str, str]]] = {
        "paper": {
            **dict.fromkeys(("splits", "gamma"), "agd_rho of the authors' code: its default"),
            **dict.fromkeys(
                ("candidates", "max_step", "eta", "tau"), "agd_rho of the authors' code"
            ),
            **dict.fromkeys(("clip", "loss_clip"), "run_agd_logistic.py of the authors' code"),
            "step_decay": "Algorithm 2: none",
            "shrink": "Algorithm 2: none",
            "momentum": "Algorithm 2: none",
            "averaging": "Algorithm 2: the last iterate",
            "selection": "Algorithm 1: Laplace noise on each score",
            "accountant": "Algorithm 2, lines 7 and 11",
            "accountant_conversion": "equation 5, by Lemma 3.8",
        }
    }

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        if (self.as_published or self.splits is not None) and session.accountant.delta == 0:
            raise InvalidInputError("The paper's rule of splits needs delta > 0.")
        if self.as_published and problem.n_margins > 1:
            raise InvalidInputError(
                "The authors' code is for two classes: leave --as-published (as_published=) out."
            )
        session.dry_run(first_line(problem))
        if self.as_published:
            return minimize_as_published(problem, session, self.batch_size)
        if self.batch_size is not None:
            batch: Any = Batch(first_line(problem), 1.0)
            session.dry_run(batch)
        accountant = session.accountant
        mechanisms = {slot: mechanism_in(self, slot, accountant) for slot in self.slots}
        run = plan_run(self, mechanisms, problem, session)
        solution = Descent(run, problem, session).minimize()
        return replace(solution, details={**solution.details, **self._planned(round(run.steps))})

    def _planned(self, steps: int) -> dict[str, Any]:
        """Return the details that say how long a run was planned."""
        details: dict[str, Any] = {"steps_planned": steps}
        if self.steps is None and self.splits is None and steps <= FEWEST_STEPS:
            details["warning"] = "the budget is small for this many features: expect noise."
        return details
