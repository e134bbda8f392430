"""Objective perturbation (Chaudhuri, Monteleoni & Sarwate 2011; Kifer, Smith & Thakurta 2012)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.errors import UnsupportedEventError
from dpcore.plugin import InvalidInputError, Slot, Solution, check_ranges, option
from dpcore.plugin.commands import Plan
from dpcore.plugin.parts import PureDpEvent
from dpcore_accounting.events.objective_perturbation import ObjectivePerturbationDpEvent
from dpcore_baselines.perturbation.approximate_minima import ApproximateMinima
from dpcore_baselines.perturbation.calibrate import least_noise
from dpcore_baselines.perturbation.perturbed import PerturbedMinimizer, vertices

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, PrivacySession, Problem
    from dpcore.plugin.parts import DpEvent

__all__ = ["ObjPert"]

_FINEST_GRID, _COARSEST_GRID, _SCALE_BITS = 40, 8, 55
_LARGEST_SHARE = 0.15
"""Of epsilon, for the determinants."""
_HALVINGS = 20
_VAST = 2.0**40
"""A multiplier of noise that costs next to nothing."""
_NEXT_TO_NOTHING = 6.0
"""A log_determinant beyond which Lambda is next to nothing."""
_PER_NOISE = 0.04
_PUBLISHED = "kifer-smith-thakurta"
_CLOSED = "the density of b is in the proof, which is of these two distributions"


@dataclass(frozen=True, kw_only=True)
class ObjPert:
    """Fits a linear model as the minimiser of an objective with a random linear term.

    ``sum of losses + (Lambda / 2) ||w||^2 + b.w``, every coordinate of w regularised alike, the
    intercept's column part of the row's norm. Normal b is for (epsilon, delta), b of density
    exp(-||b|| / s) for pure epsilon (``--use noise=gamma --accountant pure``). What the solver
    leaves is paid for by a second, small noise on the result (approximate minima perturbation), so
    that the guarantee is for the point that was found.

    Lambda is what ``--l2`` says (times the public number of rows) or, where that is less, a fixed
    function of epsilon, delta, the width and the row norm. Proof, relations and constants:
    ``dpcore_baselines.perturbation.perturbed`` and
    ``dpcore_baselines.perturbation.approximate_minima``.
    """

    regularisation: float | None = option(
        None,
        "least Lambda, the weight of ||w||^2 / 2 beside the sum of losses",
        "loss over squared norm of w",
        "the larger of 0.04 row_norm E||b|| and what keeps log_determinant to 0.15 epsilon",
        range=(2.0**-20, 2.0**40),
    )
    output_share: float = option(
        0.15,
        "the second noise's distance between neighbours over that of the first",
        "1",
        range=(2.0**-10, 2.0**10),
    )
    rule: str = option(
        "curve",
        "noise and Lambda: curve, the least by the release's own curve; "
        "kifer-smith-thakurta, the formulas of their Algorithm 1, for normal noise",
        "curve or kifer-smith-thakurta",
    )
    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "objpert"
    accountant: ClassVar[str] = "single"
    slots: ClassVar[dict[str, Slot]] = {"noise": Slot(("gaussian", "gamma"), closed=_CLOSED)}
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple[str, ...]] = (
        "convex-loss",
        "lipschitz-loss",
        "smooth-loss",
        "fixed-schedule",
    )
    theorem: ClassVar[str] = (
        "normal noise: Redberg, Koskela & Wang 2023, extended to replace-one and to "
        "losses of one slope sign; gamma noise: Chaudhuri, Monteleoni & Sarwate 2011, Theorem 9; "
        "the point found: Iyengar et al. 2019, Theorem 1"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "noise and Lambda from the release's own curve, not from the bounds of Kifer et al. 2012",
        "the determinants of neighbours differ by one factor 1 + s R^2 / Lambda, not by two",
        "the model is scaled towards 0 beyond a public radius, so that rounding is bounded",
        "rounding and the tolerance of the solver are part of what the second noise covers; for "
        "tables of up to 2^27 rows, or the schema's capacity, where the number of rows is private",
    )

    # The second noise, for the solver's tolerance, is no part of the paper.
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {"rule": _PUBLISHED, "noise": "gaussian", "accountant": "single"}
    }
    preset_sources: ClassVar[dict[str, dict[str, str]]] = {
        "paper": {
            "rule": "Kifer, Smith & Thakurta 2012, Algorithm 1: Delta = 2 lambda / epsilon, "
            "variance zeta^2 (8 ln(2 / delta) + 4 epsilon) / epsilon^2",
            "noise": "Kifer, Smith & Thakurta 2012, Algorithm 1",
            "accountant": "Kifer, Smith & Thakurta 2012, Algorithm 1: one release",
        }
    }

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.rule not in ("curve", _PUBLISHED):
            raise InvalidInputError(f"rule={self.rule!r} is out of range; see dpcore info objpert.")

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        noise, accountant = self.use.get("noise", self.slots["noise"].names[0]), session.accountant
        _check_accountant(self, noise, accountant)
        plan = self._plan(problem, accountant, noise)
        query = _query(problem, plan, noise)
        rest = query.sensitivity(session.relation).rest
        w = session.release(query, ApproximateMinima(plan.second))
        details: dict[str, Any] = {
            "regularisation": plan.regularisation,
            "noise_scale": plan.scale,
            "second_noise_scale": plan.second * rest,
            "log_determinant": plan.log_determinant,
        }
        if problem.l2 > 0 and problem.n_public is None:
            details["warning"] = (
                "l2 is of a mean, and no public number of rows is known: regularisation alone "
                "was used. Give the schema rows = ..., or set regularisation."
            )
        return Solution(w, "The perturbed minimiser was released with all of the budget.", details)

    def _plan(self, problem: Problem, accountant: Accountant, noise: str) -> _Plan:
        """Return noise and Lambda: first the noise were Lambda large, then Lambda, then noise."""
        row = problem.loss.lipschitz * problem.row_norm
        share = self.output_share * problem.relation.rows_changed
        if self.rule == _PUBLISHED:
            return self._published_plan(problem, accountant, noise, share)

        def least(c: float) -> float:
            return least_noise(accountant, lambda m: _event(problem, noise, m, share / m, c))

        length = math.sqrt(problem.n_features) if noise == "gaussian" else problem.n_features
        most = _most_for_determinants(problem, accountant, noise)
        regularisation = self._regularisation(problem, most, least(most) * row * length)
        bends = problem.loss.smoothness * problem.row_norm**2 / regularisation
        c = math.log1p(bends) * (1 + 2.0**-30)
        multiplier = least(c) * (1 + 2.0**-30)
        return _Plan(regularisation, multiplier * row, multiplier / share, c)

    def _published_plan(
        self, problem: Problem, accountant: Accountant, noise: str, share: float
    ) -> _Plan:
        """Return the plan of Kifer, Smith & Thakurta 2012, Algorithm 1. Nothing rests on it: the
        filter charges the release by its own curve, and refuses what is more than the budget.

        zeta, their bound of what a row moves, is a gradient under add-or-remove-one and two under
        replace-one. Raises InvalidInputError for noise that is not normal, or without a delta.
        """
        epsilon, delta = accountant.epsilon, accountant.delta
        if noise != "gaussian" or delta == 0:
            raise InvalidInputError(
                f"rule={_PUBLISHED} is for normal noise and delta > 0; --set rule=curve (rule=) "
                "plans noise of either distribution."
            )
        row, changed = problem.loss.lipschitz * problem.row_norm, problem.relation.rows_changed
        bends = problem.loss.smoothness * problem.row_norm**2
        asked = problem.l2 * (problem.n_public or 0)
        regularisation = max(asked, self.regularisation or 0.0, 2 * bends / epsilon)
        multiplier = changed * math.sqrt(8 * math.log(2 / delta) + 4 * epsilon) / epsilon
        c = math.log1p(bends / regularisation)
        return _Plan(regularisation, multiplier * row, multiplier / share, c)

    def _regularisation(self, problem: Problem, most: float, noise: float) -> float:
        asked = problem.l2 * (problem.n_public or 0)
        if self.regularisation is not None:
            return max(asked, self.regularisation)
        bends = problem.loss.smoothness * problem.row_norm**2
        affordable = bends / math.expm1(min(most, _NEXT_TO_NOTHING))
        return max(asked, affordable, _PER_NOISE * problem.row_norm * noise)


@dataclass(frozen=True)
class _Plan:
    """``second`` : multiplier of the second noise. ``scale`` : of b, in gradients."""

    regularisation: float
    scale: float
    second: float
    log_determinant: float


def _most_for_determinants(problem: Problem, accountant: Accountant, noise: str) -> float:
    """Return the log_determinant to plan for: a share of epsilon, halved until it costs no more
    than half of what remains, as it may in a filter that is a part of another."""
    most, half = _LARGEST_SHARE * accountant.epsilon, Fraction(accountant.remaining) / 2
    for _ in range(_HALVINGS):
        if accountant.cost(_event(problem, noise, _VAST, 1 / _VAST, most)) <= half:
            break
        most /= 2
    return most


def _event(
    problem: Problem, noise: str, multiplier: float, second: float, log_determinant: float
) -> DpEvent:
    """Return the event of b of ``multiplier`` row gradients and a second noise, in which
    neighbours are ``second`` apart, rounded to nearest: what is charged is rounded up."""
    if noise == "gaussian":
        shifts = tuple(math.hypot(k / multiplier, second) for k in vertices(problem))
        return ObjectivePerturbationDpEvent(shifts, log_determinant)
    return PureDpEvent(problem.relation.rows_changed / multiplier + second + log_determinant)


def _query(problem: Problem, plan: _Plan, noise: Any) -> PerturbedMinimizer:
    """Return the query on the finest grid on which the second noise fits 64 bits.

    Raises InvalidInputError if there is none.
    """
    known = (problem, plan.regularisation, plan.scale, noise)
    bits = _FINEST_GRID
    if math.frexp(plan.scale)[1] <= _SCALE_BITS:
        rest = PerturbedMinimizer(*known, bits).sensitivity(problem.relation).rest
        bits = min(bits, _SCALE_BITS - math.frexp(plan.second * rest)[1])
        if bits >= _COARSEST_GRID:
            return PerturbedMinimizer(*known, bits)
    raise InvalidInputError(
        f"Noise of scale {plan.scale:.3g} does not fit the 64-bit grid: the budget is too small "
        "for one release. Raise epsilon."
    )


def _check_accountant(optimizer: ObjPert, noise: str, accountant: Accountant) -> None:
    gaussian = noise == "gaussian"
    event = ObjectivePerturbationDpEvent((1.0,), 1.0) if gaussian else PureDpEvent(1.0)
    if not accountant.supports(event):
        other = "gamma for pure epsilon" if gaussian else "gaussian"
        raise UnsupportedEventError(
            f"objpert's noise ({noise}) cannot be held by the {accountant.name} accountant; choose "
            f"{Plan.accountants_for(optimizer, event)}, or --use noise={other} (use=)."
        )
