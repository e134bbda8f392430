"""Private Frank-Wolfe (Talwar, Thakurta & Zhang 2015; Raff, Khanna & Lu 2023)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import FixedSchedule, Slot, Solution, check_ranges, mechanism_in, option
from dpcore.plugin.parts import LossFacts
from dpcore_frank_wolfe.grouped_exponential import load_groups
from dpcore_frank_wolfe.vertex_scores import MOST_STEPS, VertexScores, sparse_point

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem
    from dpcore.plugin.parts import DpEvent

__all__ = ["FrankWolfe"]

_STEPS_UNKNOWN = 50
_FEWEST, _MOST, _SHARE = 10, 1000, 0.1
"""Picked on a9a and on made rows of words (``bench/frank_wolfe.py``), as the radius was."""


@dataclass(frozen=True, kw_only=True)
class FrankWolfe:
    """Fits a linear model in an l1 ball by steps to vertices, each selected privately.

    A step scores the 2 d vertices +-radius e_j by the gradient at the point so far, selects one,
    and moves the share 2 / (t + 1) of the way to it: after T steps at most T coefficients are not
    0. Rows are visited only where their coefficient changed, whole columns only where selected.

    Privacy: T selections, fixed beforehand, of the same noise; all else is a function of what they
    selected. The range of the change of the scores is 2 clip (add-or-remove-one) or 4 clip
    (replace-one): ``VertexScores`` has the proof.

    Fields left at ``None`` are fixed functions of public facts.
    """

    steps: int | None = option(
        None,
        "selections, each of an equal share of the budget",
        "steps",
        "0.1 radius n / (m ln(2 n_features)), from 10 to 1000, m the noise multiplier, twice it "
        f"under replace-one; {_STEPS_UNKNOWN} without a public n",
        range=(1, MOST_STEPS),
    )
    radius: float = option(20.0, "of the l1 ball", "l1 norm of w", range=(2.0**-20, 2.0**20))
    clip: float | None = option(
        None,
        "bound of each entry of a row's gradient",
        "slope times entry",
        "half the loss's Lipschitz constant (1 of a loss without), times row_norm if that is < 1",
        range=(2.0**-20, 2.0**12),
    )
    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "frank-wolfe"
    accountant: ClassVar[str] = "zcdp"
    slots: ClassVar[dict[str, Slot]] = {
        "selection": Slot(
            ("grouped-exponential", "exponential", "permute-and-flip", "report-noisy-max"),
            takes=("range",),
        )
    }
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple[str, ...]] = ("fixed-schedule",)
    theorem: ClassVar[str] = (
        "McSherry & Talwar 2007 (exponential mechanism), of bounded range (Dong, Durfee & Rogers "
        "2020), range^2/8 in zCDP (Cesar & Rogers 2021); both signs of a coordinate are scored: "
        "the range is twice the change of one (dpcore_frank_wolfe.vertex_scores)"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "scores of whole numbers: slopes are truncated to about 2^-12 of the clip",
        "gradients are clipped, whatever the loss's Lipschitz constant",
        "the range counts both signs: 2 clip under add-or-remove-one, 4 clip under replace-one",
        "exponential mechanism at its cost in zCDP, in place of Laplace noise and advanced "
        "composition (Talwar et al.)",
        "groups of candidates of like score, found anew each step, in place of the two-level "
        "sampler that is kept up to date (Raff et al.)",
    )
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {
            "selection": "report-noisy-max",
            "accountant": "zcdp",
            "accountant_conversion": "bun-steinke",
        }
    }
    preset_sources: ClassVar[dict[str, dict[str, str]]] = {
        "paper": {
            "selection": "Talwar, Thakurta & Zhang 2015: Laplace noise on each "
            "vertex's score, the least is selected",
            "accountant": "not of the paper, which composes by advanced composition",
            "accountant_conversion": "not of the paper: as Bun & Steinke 2016 convert zCDP",
        }
    }

    def __post_init__(self) -> None:
        check_ranges(self)

    def schedule(self, problem: Problem, noise_multiplier: float) -> Mapping[DpEvent, int]:
        """Return how many of each event a run makes with that noise."""
        event = mechanism_in(self, "selection").nominal_event(noise_multiplier)
        return {event: self._steps(problem, noise_multiplier)}

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        mechanism_in(self, "selection", session.accountant)
        multiplier = FixedSchedule.noise_multiplier(
            session.accountant, lambda m: self.schedule(problem, m)
        )
        mechanism = mechanism_in(self, "selection")(multiplier)
        load_groups()
        clip, picks = self._clip(problem), np.empty(self._steps(problem, multiplier), np.int64)
        # The regulariser's part is largest after one step. Refused here, before anything is spent.
        VertexScores(problem, self.radius, clip, np.zeros(1, dtype=np.int64))
        for k in range(picks.size):
            query = VertexScores(problem, self.radius, clip, picks[:k])
            picks[k] = session.release(query, mechanism)
        columns, values = sparse_point(picks, problem.n_features, self.radius)
        w = np.zeros(problem.n_features)
        w[columns] = values
        details: dict[str, Any] = {
            "steps": picks.size,
            "noise_multiplier": multiplier,
            "clip": clip,
            "columns_selected": columns.size,
        }
        if problem.l2 > 0 and problem.n_public is None:
            details["warning"] = "l2 is of a mean, and no public number of rows is known: left out."
        return Solution(w, "All planned steps were taken.", details)

    def _steps(self, problem: Problem, noise_multiplier: float) -> int:
        """Return the number of steps of a run with that noise, which falls as it grows: where what
        is left of the way, about n radius / steps, is about what noise hides, ln(2 d) times its
        scale (the balance of Talwar, Thakurta & Zhang 2015)."""
        if self.steps is not None:
            return self.steps
        if problem.n_public is None:
            return _STEPS_UNKNOWN
        hidden = noise_multiplier * problem.rows_changed * math.log(2 * problem.n_features)
        return round(min(_MOST, max(_FEWEST, _SHARE * self.radius * problem.n_public / hidden)))

    def _clip(self, problem: Problem) -> float:
        if self.clip is not None:
            return self.clip
        slope = LossFacts.of(problem.loss).lipschitz
        bound = 0.5 * min(1.0, problem.row_norm) * (slope if math.isfinite(slope) else 1.0)
        return min(2.0**12, max(2.0**-20, bound))
