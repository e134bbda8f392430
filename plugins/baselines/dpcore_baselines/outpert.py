"""Output perturbation: the exact minimiser plus noise (Chaudhuri, Monteleoni & Sarwate 2011)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.plugin import (
    InvalidInputError,
    RowCount,
    Slot,
    Solution,
    check_ranges,
    mechanism_in,
    option,
)
from dpcore.plugin.parts import PureAccountant
from dpcore_baselines.options import require_several
from dpcore_baselines.perturbation.bounded import BoundedMinimizer
from dpcore_baselines.perturbation.calibrate import least_noise, usual_noise

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, PrivacySession, Problem

__all__ = ["OutPert"]

_FINEST_GRID, _COARSEST_GRID, _SCALE_BITS = 40, 8, 55
_ROWS = 10_000
"""Stands for the number of rows in the default l2 where no public number exists."""


@dataclass(frozen=True, kw_only=True)
class OutPert:
    """Fits a linear model as the exact minimiser of the regularised objective, plus noise once.

    Privacy: minimisers of neighbouring tables are 2 L / (n l2) apart in l2 under replace-one,
    L / (n0 l2) under add-or-remove-one, L the bound of a row's gradient; what the solver leaves is
    added twice (``dpcore_baselines.perturbation.bounded``). Normal noise is for (epsilon, delta),
    noise of density exp(-||z|| / s) for pure epsilon (``--use noise=gamma --accountant pure``).
    Laplace noise is scaled to the distance in l1, sqrt(d) times that in l2.
    """

    l2_factor: float = option(
        0.25,
        "l2 where --l2 is not given, times (row_norm^2 / n) (n smoothness m^2)^(1/3)",
        "1",
        range=(2.0**-20, 2.0**20),
    )
    count_share: float = option(
        0.02,
        "share of the budget for counting rows where no public number exists",
        "1",
        range=(2.0**-20, 0.5),
    )
    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "outpert"
    accountant: ClassVar[str] = "gdp"
    slots: ClassVar[dict[str, Slot]] = {"noise": Slot(("gaussian", "gamma"), takes=("l2", "l1"))}
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple[str, ...]] = (
        "convex-loss",
        "lipschitz-loss",
        "smooth-loss",
        "strong-convexity",
        "fixed-schedule",
    )
    theorem: ClassVar[str] = (
        "Chaudhuri, Monteleoni & Sarwate 2011, Corollary 8 and Theorem 6; normal noise: Dong, Roth "
        "& Su 2022, Theorem 2.7"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "any convex, smooth, Lipschitz loss; the paper's L = 1 and rows of norm 1 are constants",
        "add-or-remove-one too: there l2 is that of n0 rows, and the distance is half",
        "the solver's certified distance and the grid are part of the sensitivity; for tables of "
        "up to 2^27 rows, or the schema's capacity, where the number of rows is private",
        "beyond margins of 512 the objective has a further convex term, the same for all tables",
    )
    # Gradient steps in place of the exact minimiser are outpert-gd's.
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {"noise": "gamma", "accountant": "pure"}
    }
    preset_sources: ClassVar[dict[str, dict[str, str]]] = {
        "paper": {
            "noise": "Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 1: density "
            "exp(-(n l2 epsilon / 2) ||b||)",
            "accountant": "Chaudhuri, Monteleoni & Sarwate 2011, Theorem 6: pure epsilon",
        }
    }

    def __post_init__(self) -> None:
        check_ranges(self)

    def default_l2(self, problem: Problem, accountant: Accountant) -> float:
        """Return the l2 of a run that was given none: where what noise costs, n smoothness times
        its square in a margin, and what l2 costs are about equal, m the noise multiplier."""
        if not math.isfinite(problem.loss.smoothness + problem.loss.lipschitz):
            return 0.0  # what check_fits refuses
        n = problem.n_public or _ROWS
        noise = usual_noise(accountant.epsilon, accountant.delta)
        if PureAccountant.supports(mechanism_in(self, "noise").nominal_event(1.0)):
            # Of a length with a gamma distribution, where normal noise has independent coordinates;
            # Laplace noise, of the l1 bound, is sqrt(2) times as long.
            longer = 2 if mechanism_in(self, "noise").needs == "l1" else 1
            noise = math.sqrt(longer * problem.n_features) / accountant.epsilon
        noise *= problem.relation.rows_changed * problem.loss.lipschitz
        root = (n * problem.loss.smoothness * noise**2) ** (1 / 3)
        l2: float = self.l2_factor * problem.row_norm**2 * root / n
        return l2

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        mechanism = mechanism_in(self, "noise", session.accountant)
        details: dict[str, Any] = {}
        if problem.n_public is None:
            problem = self._counted(problem, session, mechanism)
            details["rows_counted"] = problem.n0
        multiplier = least_noise(session.accountant, mechanism.nominal_event)
        query = _query(problem, multiplier, mechanism.needs)
        w = session.release(query, mechanism(multiplier))
        bound = query.sensitivity(session.relation).bound
        details |= {"l2": problem.l2, "sensitivity": bound, "noise_scale": multiplier * bound}
        return Solution(w, "The minimiser was released with all that was left.", details)

    def _counted(self, problem: Problem, session: PrivacySession, mechanism: Any) -> Problem:
        """Return the problem with a noisy number of rows, a charged release, as its n0."""
        accountant, event_of = session.accountant, mechanism.nominal_event
        share = self.count_share * accountant.remaining
        require_several(self, accountant, *[event_of(1.0)] * 2)
        multiplier = least_noise(accountant, event_of, share)
        # Whether the rest can be released is known before the count is charged.
        left = least_noise(accountant, event_of, accountant.remaining - share)
        _query(replace(problem, n0=1), left, mechanism.needs)
        count = float(session.release(RowCount(mechanism.needs), mechanism(multiplier))[0])
        return replace(problem, n0=max(1, round(count)))


def _query(problem: Problem, multiplier: float, norm: Any) -> BoundedMinimizer:
    """Return the query on the finest grid on which its noise fits 64 bits; InvalidInputError if
    there is none."""
    regularisation = problem.l2 * (problem.n_public or 0)
    query = BoundedMinimizer(problem, regularisation, _FINEST_GRID, norm)
    scale = multiplier * query.sensitivity(problem.relation).bound
    bits = min(_FINEST_GRID, _SCALE_BITS - math.frexp(scale)[1])
    if bits < _COARSEST_GRID:
        raise InvalidInputError(
            f"Noise of scale {scale:.3g} does not fit the 64-bit grid: the budget is too small for "
            "one release. Raise epsilon or --l2 (l2=)."
        )
    return BoundedMinimizer(problem, regularisation, bits, norm)
