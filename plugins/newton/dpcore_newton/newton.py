"""Newton's method from noisy gradients and Hessians."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import (
    InvalidInputError,
    Slot,
    Solution,
    check_ranges,
    mechanism_in,
    option,
)
from dpcore_baselines.calibration.of_a_run import RULE, CountedScores
from dpcore_baselines.descent import defaults
from dpcore_baselines.descent.run import Run
from dpcore_baselines.options import require_several
from dpcore_baselines.queries.standardized import StandardizedGradientSum
from dpcore_newton.curvature import CURVATURES
from dpcore_newton.passes import Passes, refuse_hopeless
from dpcore_newton.plan import Plan
from dpcore_newton.rows import moments_share, standardized
from dpcore_newton.spectrum import CHANGES

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem

__all__ = ["Newton"]

_CODE = "run_privacy_utility of the authors' code"

_PLACES = ("hessian", "direction")


@dataclass(frozen=True, kw_only=True)
class Newton:
    """Fits a linear model of two classes by Newton's method: about a dozen noisy gradients, each
    divided by a noisy Hessian.

    As ``dp-gd`` does, count, sizes and moments are released first, and columns are standardised by
    them. Then come ``passes`` noisy sums of clipped gradients. Of ``hessians`` passes, the first
    among them, the Hessian is released before the gradient: its upper triangle, which is mirrored,
    its small eigenvalues lifted above the noise, and n / (time of a pass) added to all of them.
    What is then solved is post-processing. With ``noise_on=direction``, as in the paper, no Hessian
    is released, but its trace and, at each pass, the solution, with noise of its own.

    Privacy: Gaussian mechanisms whose mu^2 add up (Dong, Roth & Su 2022, Corollary 3.3; chosen from
    earlier outputs: Smith & Thakurta 2022), turned into (epsilon, delta) exactly (Balle & Wang
    2018, Theorem 8). l2 sensitivities under add-or-remove-one and replace-one: of a gradient
    ``clip`` and ``2 clip``; of a Hessian, rows held to c ||phi||^2 <= k, k and sqrt(2) k
    (``HessianSum``); of its trace k and k; of a direction as ``NewtonDirection`` proves. Other
    noise of an l2 bound (``--use noise=gamma --accountant zcdp``) is charged by its own event.
    """

    passes: int | None = option(
        None,
        "noisy gradients, each of an equal share",
        "passes",
        "12; 18 without a Hessian",
        range=(1, 1000),
    )
    hessians: int | None = option(
        None,
        "passes, evenly spread, that begin with a new Hessian",
        "passes",
        "1, the first; 0 where the noise would hide it",
        range=(0, 1000),
    )
    hessian_share: float = option(
        0.2,
        "share for all that is told of Hessians, of the budget left after moments",
        "1",
        range=(0, 1, "()"),
    )
    noise_on: str = option("hessian", "what gets the second noise: the hessian or the direction")
    curvature: str = option(
        "bound", "of a row: hessian, upper-bound (both logistic), or its bound at any margin"
    )
    change: str = option("clip", "of small eigenvalues: clip (to a least one) or add (it to all)")
    least: float = option(
        1.0,
        "least eigenvalue over that of the noise, its deviation times the root of the columns",
        "1",
        range=(0, 1000),
    )
    trace_share: float = option(
        0.1, "share of a direction's budget for the trace", "1", range=(0, 1, "()")
    )
    trace_factor: float = option(
        0.5, "of the trace in a direction's least eigenvalue", "1", range=(2.0**-20, 2.0**20)
    )
    clip: float | None = option(
        None,
        "bound of a row's gradient over the typical length of a standardised row",
        "1",
        "the larger, the stronger the signal u: 0.2 (u / 42)^0.3, from 0.05 to 2; "
        "u = n mu / sqrt(columns that count), n rows, mu the whole budget as Gaussian DP",
        range=(2.0**-10, 2.0**6),
    )
    time: float | None = option(
        None,
        "of gradient flow, all passes, times the typical length of a standardised row squared",
        "1",
        "that of dp-gd, longer for a stronger signal u: 5000 (u / 42)^0.8, at most 39467",
        range=(2.0**-20, 2.0**40),
    )
    momentum: float = option(
        0.6, "weight of the earlier directions in the next one", "1", range=(0, 1, "[)")
    )
    averaging: float = option(
        3.0,
        "iterate t weighs about t^averaging in the result; negative: the last iterate",
        "1",
        range=(-1, 100),
    )
    moments_share: float | None = option(
        None,
        "share of the budget for the columns' moments; 0: the rows as they are",
        "1",
        "0.1 for up to 128 columns, rising to 0.25 for 2^14; half of that where sizes of numbers "
        "are counted before",
        range=(0, 1, "[)"),
    )
    count_share: float = option(
        0.02,
        "share of the budget for counting rows where no public number exists",
        "1",
        range=(0, 1, "()"),
    )
    calibrated: bool = option(
        True, "logistic loss of two classes: shrink log odds so that probabilities come true"
    )
    calibrate_share: float | None = option(
        None,
        "share of the budget left after moments for counts of rows by class and log odds; 0: none",
        "1",
        RULE,
        range=(0, 1, "[)"),
    )
    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "newton"
    accountant: ClassVar[str] = "gdp"
    slots: ClassVar[dict[str, Slot]] = {"noise": Slot(("gaussian",), takes=("l2",))}
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one", "replace-one")
    clip_unit: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("classification", "convex-loss", "smooth-loss")
    theorem: ClassVar[str] = (
        "composition of Gaussian mechanisms: Dong, Roth & Su 2022, Corollary 3.3, fully adaptive: "
        "Smith & Thakurta 2022; conversion: Balle & Wang 2018, Theorem 8; sensitivities: proofs at "
        "HessianSum and NewtonDirection"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "the Hessian is released, once, and not a direction at every pass (preset paper)",
        "columns are standardised by released moments, which are charged; the authors' code takes "
        "exact ones",
        "gradients are clipped, steps have momentum, iterates are averaged, log odds calibrated; "
        "in the preset nothing of it",
        "replace-one with its own constants; the paper has the other relation",
        "LAPACK's error and rounding are charged with a direction; the constant of a clipped "
        "spectrum is proved anew, and is less than that of the authors' code",
    )
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {
            "passes": 15,
            "hessians": 15,
            "hessian_share": 0.3,
            "noise_on": "direction",
            "curvature": "hessian",
            "change": "add",
            "trace_share": 0.1,
            "trace_factor": 0.5,
            "clip": 1.0,
            "momentum": 0.0,
            "averaging": -1.0,
            "moments_share": 0.0,
            "calibrated": False,
            "calibrate_share": 0.0,
        }
    }
    preset_sources: ClassVar[dict[str, dict[str, str]]] = {
        "paper": {
            **dict.fromkeys(("passes", "hessians", "noise_on"), _CODE),
            "hessian_share": f"{_CODE}: seven tenths are for gradients",
            "curvature": f"{_CODE}: the first of its four variants",
            "change": f"{_CODE}: the first of its four variants",
            "trace_share": f"{_CODE}: of what is for Hessians",
            "trace_factor": f"{_CODE}: least eigenvalue over trace",
            "clip": f"{_CODE}: rows of length 1",
            **dict.fromkeys(("momentum", "averaging", "moments_share"), f"{_CODE}: none"),
            **dict.fromkeys(("calibrated", "calibrate_share"), f"{_CODE}: none"),
        }
    }

    def __post_init__(self) -> None:
        check_ranges(self)
        for name, known in (
            ("noise_on", _PLACES),
            ("curvature", tuple(CURVATURES)),
            ("change", CHANGES),
        ):
            if getattr(self, name) not in known:
                raise InvalidInputError(
                    f"Expected {name}={getattr(self, name)!r} to be one of {known}."
                )
        if (self.hessians or 0) > (self.passes or 1000):
            raise InvalidInputError(
                f"Expected hessians={self.hessians} to be at most passes={self.passes}."
            )
        if self.noise_on == "direction" and self.hessians != (self.passes or 0):
            raise InvalidInputError(
                f"noise_on=direction has noise of its own at every pass: set hessians to passes, "
                f"and not hessians={self.hessians} and passes={self.passes}."
            )

    def memory(self, problem: Problem) -> float:
        """Return the bytes of two unfolded blocks of rows, and of matrices of all columns."""
        return 2.0**18 * problem.n_features + 64.0 * problem.n_features**2

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        event = mechanism_in(self, "noise", session.accountant).nominal_event(1.0)
        require_several(self, session.accountant, event, event)
        if self.curvature != "bound" and problem.loss.name != "logistic":
            raise InvalidInputError(
                f"curvature={self.curvature} is of the logistic loss; curvature=bound is for any."
            )
        refuse_hopeless(self, problem, session)
        scores = CountedScores.of(self, problem, session, moments_share(self, problem))
        rows = standardized(self, problem, session)
        plan = Plan.of(self, problem, session, rows)
        scores = scores.with_signal(plan.signal, rows.n, rows.mu, np.array)
        passes = Passes(self, problem, session, rows, plan, scores)
        descent, steps = passes.run(), plan.step_size(self.momentum)
        shrunk = defaults.shrinkage_for(plan.signal) if moments_share(self, problem) else 1.0
        run = Run(rows.n, StandardizedGradientSum, rows.mean, plan.clip, shrunk, steps, scores)
        w, status, details = run.finished(problem, descent)
        return Solution(w, status=status, details=plan.details() | passes.details | details)
