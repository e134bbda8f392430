"""RSGD-AR: SGD on permuted batches with averages and restarts (Chen, Lee & Kifer, AISTATS 2019)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.plugin import InvalidInputError, check_ranges, option
from dpcore_rsgd_ar import defaults
from dpcore_rsgd_ar.options import ReleasedOnce, check_loss, check_problem
from dpcore_rsgd_ar.published import PublishedPass
from dpcore_rsgd_ar.release import Release, release_pass
from dpcore_rsgd_ar.schedule import Facts, Schedule

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, PrivacySession, Problem, Solution

__all__ = ["RsgdAr"]

_V = "v = n / (noise over a sensitivity of 1), s = max(1, 2 smoothness / Lipschitz bound)"


@dataclass(frozen=True, kw_only=True)
class RsgdAr(ReleasedOnce):
    """Fits a linear model by mini-batch SGD on rows in a secret order, released once at the end.

    Batches are visited in cyclic order with steps ``step_size / h`` in the h-th epoch since the
    last restart; every ``tau`` epochs the iterates since then are averaged, and the run starts
    again from the average (Algorithm 3). Normal noise is added to the last average.

    Privacy, under replace-one: the batch of the row that differs is random, so the sensitivity is
    (Lemma 2, Lemma 3 and Proposition 3); what rounding adds is counted at every step. The whole
    budget is spent on the one release.

    Fields left at ``None`` are searched from public facts (``dpcore_rsgd_ar.defaults``).
    """

    epochs: int = option(20, "passes over the rows", "epochs", range=(1, 10**5))
    tau: int = option(
        10, "epochs from one average and restart to the next", "epochs", range=(1, 10**5)
    )
    batch_size: int | None = option(
        None,
        "about how many rows a batch has",
        "rows",
        "as large as the time of the run allows",
        range=(1, 2**40),
    )
    step_size: float | None = option(
        None,
        "first step after a restart, eta_0",
        "norm of w over norm of a gradient",
        f"at most 0.9 times 2 / (L + mu), so that the sensitivity is that of gradient flow in time "
        f"110 (v / 800)^0.9 s^0.7 / (smoothness row_bound^2); {_V}",
        range=(2.0**-40, 2.0**40),
    )
    clip: float | None = option(
        None,
        "bound of the slope of a row's loss; the Lipschitz bound or more: as it is",
        "slope",
        "2 smoothness, growing to the Lipschitz bound with the time of the run",
        range=(2.0**-20, 2.0**20),
    )
    row_bound: float | None = option(
        None,
        "norm that rows are scaled down to",
        "norm of a row",
        "row_norm / 4, growing to row_norm with the time of the run",
        range=(2.0**-20, 2.0**20),
    )
    l2_share: float = option(
        0.05,
        "l2 where --l2 is not given, times (time of the run)",
        "1 / time",
        range=(2.0**-20, 2.0**20),
    )
    l2_scaled: float | None = option(
        None,
        "l2 where --l2 is not given, for rows of norm 1",
        "l2 / row_norm^2",
        "see l2_share",
        range=(2.0**-60, 2.0**20),
    )
    order: str = option(
        "permutation",
        "of the rows; offset keeps the stored order, begun at a random row, and copies no rows",
        "permutation or offset",
    )
    as_published: bool = option(False, "the authors' normalised gradients, with --preset paper")

    name: ClassVar[str] = "rsgd-ar"
    theorem: ClassVar[str] = (
        "Chen, Lee & Kifer 2019, Lemma 2 (distance of two runs), Lemma 3 and Proposition 3 (random "
        "batch); its curve by joint convexity from Balle & Wang 2018, Theorem 8"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "gradients are not normalised, which the published code does and no theorem covers",
        "averages at epochs tau, 2 tau, ..., where the code averages after the first one too",
        "rounding of every step and of the result is part of the sensitivity",
        "batches differ by at most one row, and weigh what they hold: |B_j| / n",
        "the exact curve instead of a Renyi order and Proposition 1, which is --conversion mironov",
        "slopes are held to clip and rows to row_bound where that helps (both can be switched off)",
    )
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {
            "epochs": 50,
            "tau": 10,
            "batch_size": 4000,
            "clip": 1e6,
            "row_bound": 1.0,
            "l2_scaled": 0.001,
            "accountant": "single",
            "accountant_conversion": "mironov",
        }
    }
    preset_sources: ClassVar[dict[str, dict[str, str]]] = {
        "paper": {
            "epochs": "neither the paper nor its code states T",
            "tau": "not of the paper; the default of the authors' sgd_restart is 20",
            "batch_size": 'section 5, "Parameter settings"',
            "clip": "Lemma 2, whose R bounds every gradient: no slope is cut",
            "row_bound": 'section 5, "Preprocessing": observations of norm 1',
            "l2_scaled": "section 5.1: lambda",
            "accountant": "Proposition 3",
            "accountant_conversion": "Proposition 1",
        }
    }

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.order not in ("permutation", "offset"):
            raise InvalidInputError(
                f"order={self.order!r} is out of range; see dpcore info rsgd-ar."
            )

    def default_l2(self, problem: Problem, accountant: Accountant) -> float:
        """Return the l2 of a run that was given none."""
        check_loss(self, problem)
        if self.as_published:
            return self._with_the_papers_constants().default_l2(problem, accountant)
        flow = defaults.flow_for(problem, accountant)
        if self.l2_scaled is not None:
            return self.l2_scaled * problem.row_norm**2
        return defaults.l2_for(problem, flow, self.l2_share)

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        if self.as_published:
            paper = self._with_the_papers_constants()
            return paper._minimize(problem, session, Release(paper, query=PublishedPass))
        return self._minimize(problem, session, Release(self))

    def _with_the_papers_constants(self) -> RsgdAr:
        """Return the optimizer of the preset ``paper``."""
        fields = {name for name in self.presets["paper"] if not name.startswith("accountant")}
        return RsgdAr(**{name: self.presets["paper"][name] for name in fields})

    def _minimize(self, problem: Problem, session: PrivacySession, how: Release) -> Solution:
        """Return the solution of a pass released in this manner."""
        n = check_problem(self, problem)
        flow = defaults.flow_for(problem, session.accountant)
        facts = self._facts(problem, flow)
        solution = release_pass(problem, facts, self._schedule(facts, n, flow), session, how)
        # Trained on rows of at most row_bound, applied to rows of up to row_norm.
        return replace(solution, w=solution.w * (facts.row_norm / problem.row_norm))

    def _facts(self, problem: Problem, flow: float) -> Facts:
        """Return the constants of the problem, its slopes and rows held to their bounds."""
        clip = self.clip or defaults.clip_for(problem, flow)
        return Facts.of(problem, clip, self.row_bound or defaults.row_bound_for(problem, flow))

    def _schedule(self, facts: Facts, n: int, flow: float) -> Schedule:
        """Return the schedule that the time of the run asks for."""
        schedule = defaults.search_schedule(
            facts, n, flow, self.epochs, self.tau, self.batch_size, self.step_size
        )
        return replace(schedule, order=self.order)
