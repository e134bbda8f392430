"""The plan of a run: every value fixed before the rows are asked anything but, perhaps, how many
there are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import ClippedGradientSum, InvalidInputError, RowCount, noise_multiplier
from dpcore.plugin.parts import GaussianDpEvent, LossFacts, PureDpEvent
from dpcore_dp_agd import defaults

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcore.plugin import Accountant, PrivacySession, Problem
    from dpcore_dp_agd.options import Options

__all__ = ["RunPlan", "plan_run"]

_SMALLEST_ADVICE = 2.0**-60


@dataclass(frozen=True)
class RunPlan:
    """Resolved parameters. Shares are in the accountant's unit; ``n`` is public or released, and a
    row is in a batch with probability ``sampled``."""

    options: Options
    gradient: Any
    selection: Any
    n: float | None
    sampled: float
    clip: float
    max_step: float
    steps: float
    gradient_share: float
    selection_share: float


def plan_run(
    options: Options, mechanisms: Mapping[str, Any], problem: Problem, session: PrivacySession
) -> RunPlan:
    """Return the plan; counts the rows, as a charged release, only where a value must follow from
    their number and none is public.

    Raises, before anything is charged, InvalidInputError for a budget too small for one release,
    and UnsupportedEventError for an accountant that cannot hold a slot's mechanism.
    """
    # Every slot is tried on some cost first: UnsupportedEventError before any release.
    for mechanism in mechanisms.values():
        noise_multiplier(session.accountant, mechanism.nominal_event, 1.0)
    _check_budget(options, mechanisms["gradient"], problem, session.accountant)
    asked = None in (options.clip, options.steps or options.splits)
    asked = asked or options.batch_size is not None
    n: float | None = problem.n_public
    if n is None and (asked or problem.l2 > 0):
        n = _count(options, mechanisms["gradient"], session)
    accountant = session.accountant
    sampled = 1.0
    if n is not None and options.batch_size is not None:
        sampled = min(1.0, options.batch_size / max(n, 1.0))
    u = 1.0
    if n is not None:
        u = _signal(mechanisms["gradient"], problem, accountant, n * sampled)
    gradient_share, selection_share = _shares(options, accountant, u)
    steps = accountant.remaining / (gradient_share + selection_share)
    return RunPlan(
        options=options,
        gradient=mechanisms["gradient"],
        selection=mechanisms["selection"],
        n=n,
        sampled=sampled,
        clip=options.clip or defaults.clip_for(u, _longest(problem)),
        max_step=options.max_step or defaults.max_step_for(problem.row_norm),
        steps=steps,
        gradient_share=gradient_share,
        selection_share=selection_share,
    )


def _signal(mechanism: Any, problem: Problem, accountant: Accountant, n: float) -> float:
    """Return how far the gradient of so many rows shows above the noise of the whole budget."""
    mu = 1 / noise_multiplier(accountant, mechanism.nominal_event, accountant.remaining)
    mu /= problem.rows_changed
    return max(defaults.signal(max(n, 1.0), mu, math.prod(problem.w_shape)), 1e-6)


def _shares(options: Options, accountant: Accountant, u: float) -> tuple[float, float]:
    """Return the first gradient's and each selection's share of the budget."""
    if options.splits is not None:
        epsilon = accountant.epsilon / (2 * options.splits)
        multiplier = math.sqrt(2 * math.log(1.25 / accountant.delta)) / epsilon
        gradient = accountant.cost(GaussianDpEvent(multiplier))
        return float(gradient), float(accountant.cost(PureDpEvent(epsilon)))
    share = accountant.remaining / (options.steps or defaults.steps_for(u))
    return share * (1 - options.selection_share), share * options.selection_share


def _count(options: Options, mechanism: Any, session: PrivacySession) -> float:
    """Return a noisy number of rows, at least 1, charged at ``count_share`` of the budget."""
    share = session.accountant.remaining * options.count_share
    multiplier = noise_multiplier(session.accountant, mechanism.nominal_event, share)
    query = RowCount(norm=mechanism.needs)
    return max(1.0, float(session.release(query, mechanism(multiplier))[0]))


def _check_budget(
    options: Options, mechanism: Any, problem: Problem, accountant: Accountant
) -> None:
    """Raise InvalidInputError, with an epsilon that would do, if no gradient fits the grid."""
    if _fits(options, mechanism, problem, accountant):
        return
    enough = max(accountant.epsilon, _SMALLEST_ADVICE)
    while True:
        enough *= 2
        larger = type(accountant).from_budget(enough, accountant.delta, accountant.conversion)
        if _fits(options, mechanism, problem, larger):
            break
    raise InvalidInputError(
        f"epsilon={accountant.epsilon:g}, delta={accountant.delta:g} is too small for one release: "
        f"its noise would not fit 64 bits. epsilon={enough:.2g} would be enough."
    )


def _longest(problem: Problem) -> float:
    """Return what the clip is a share of: the longest row, times the largest weight of rows, up to
    16."""
    return problem.row_norm * min(16.0, LossFacts.of(problem.loss).largest_weight)


def _fits(options: Options, mechanism: Any, problem: Problem, accountant: Accountant) -> bool:
    """Return whether the noise of the smallest share that a gradient may get fits 64 bits."""
    clip = options.clip or _longest(problem)
    try:
        # The noise of the smallest share there is: the most steps, twice over for re-measuring.
        share = _shares(options, accountant, u=1e9)[0] * min(1.0, options.gamma) / 2
        multiplier = noise_multiplier(accountant, mechanism.nominal_event, share)
        w = np.zeros(problem.w_shape)
        query = ClippedGradientSum(problem, w, clip, mechanism.needs, multiplier)
        widest = mechanism(multiplier * (problem.rows_per_unit or 1))
        widest.event(query.sensitivity(problem.relation))
    except InvalidInputError:
        return False
    return True
