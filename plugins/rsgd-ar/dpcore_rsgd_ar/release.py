"""From a schedule to a model: the sensitivity, the noise that the budget asks for, one release."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import InvalidInputError, Solution, mechanism_in
from dpcore.plugin.parts import Sensitivity
from dpcore_rsgd_ar.calibrate import calibrated, estimated_sigma
from dpcore_rsgd_ar.sgd_pass import SgdPass

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem
    from dpcore.plugin.parts import Optimizer
    from dpcore_rsgd_ar.schedule import Facts, Schedule

__all__ = ["Release", "release_pass"]

_FINEST_GRID = 40
_VALUE_BITS, _NOISE_BITS = 60, 56
_USELESS = 4.0
"""A standard deviation of the noise in a margin beyond which a logistic margin says nothing."""
_WORST = "the worst batch: the accountant has no rule for a random one, as single and rdp have"


@dataclass(frozen=True)
class Release:
    """The manner in which a pass is released.

    Parameters
    ----------
    optimizer : whose pass it is, and whose slot ``noise`` has the mechanism.
    randomized, rule : of ``SgdPass``.
    query : the class of the pass.
    """

    optimizer: Optimizer
    randomized: bool = True
    rule: str = "lemma-2"
    query: type[SgdPass] = SgdPass


def release_pass(
    problem: Problem, facts: Facts, schedule: Schedule, session: PrivacySession, how: Release
) -> Solution:
    """Return the noisy result of a pass, charged at all that is left of the budget.

    Raises, before anything is charged, InvalidInputError for a budget too small for one release and
    UnsupportedEventError for an accountant that cannot hold it.
    """
    accountant, asked = session.accountant, how
    noise = mechanism_in(how.optimizer, "noise", accountant)
    if accountant.delta * schedule.n >= 1:
        raise InvalidInputError(
            f"Expected delta={accountant.delta:g} below 1 / n = {1 / schedule.n:.3g}: a release of "
            "one row as it is would be within it."
        )
    query = _query(problem, facts, schedule, how, noise.needs, _FINEST_GRID)
    if _only_the_worst_batch(query, noise, session):
        how = replace(how, randomized=False)
        query = _query(problem, facts, schedule, how, noise.needs, _FINEST_GRID)
    largest = float(query.deltas.max())
    sigma = _guess(query, how, accountant.epsilon, accountant.delta)
    query = _query(problem, facts, schedule, how, noise.needs, _grid_bits(query.reach, sigma))
    sensitivity = query.sensitivity(session.relation)
    multiplier = calibrated(
        how.optimizer, accountant, lambda m: noise(m).event(sensitivity), sigma / largest
    )
    w = session.release(query, noise(multiplier))
    margin_noise = multiplier * sensitivity.bound * facts.row_norm
    details = {
        "epochs": schedule.epochs,
        "batches": schedule.n_batches,
        "batch_size": int(schedule.sizes.max()),
        "tau": schedule.average_every,
        "step_size": float(schedule.step_sizes.flat[0]),
        "clip": facts.lipschitz,
        "row_bound": facts.row_norm,
        "l2": problem.l2,
        "sensitivity": sensitivity.bound,
        "noise_in_a_margin": margin_noise,
        **({} if how.randomized == asked.randomized else {"charged": _WORST}),
        **_warning(margin_noise),
    }
    return Solution(w, "One pass was released with all of the budget.", details)


def _only_the_worst_batch(query: SgdPass, noise: Any, session: PrivacySession) -> bool:
    """Return whether the accountant has no rule for a random batch, and one for the worst.

    Charging the worst batch is sound under every accountant: for any order of the rows two
    neighbours' results are at most its bound apart (Chen, Lee & Kifer 2019, Lemma 2), and the
    order does not depend on the rows, so that by joint convexity the mixture costs no more.
    """
    if not query.randomized or noise.needs != "l2":
        return False
    largest = Sensitivity("l2", float(query.deltas.max()), session.relation, query.grid_bits)
    random, worst = (noise(1.0).event(of) for of in (query.sensitivity(session.relation), largest))
    supports = session.accountant.supports
    return supports(worst) and not supports(random)


def _warning(margin_noise: float) -> dict[str, str]:
    """Return a warning of noise that hides the model, if it does."""
    if margin_noise <= _USELESS:
        return {}
    warning = (
        f"the noise moves the margin of a row by {margin_noise:.3g} (standard deviation): the "
        "model is mostly noise. Raise epsilon or --l2 (l2=), or lower step_size or epochs."
    )
    return {"warning": warning}


def _query(
    problem: Problem, facts: Facts, schedule: Schedule, how: Release, norm: str, bits: int
) -> SgdPass:
    """Return the pass on a grid of ``2**-bits``, its sensitivity in this norm."""
    return how.query(
        problem,
        schedule,
        bits,
        clip=facts.lipschitz,
        row_bound=facts.row_norm,
        randomized=how.randomized,
        rule=how.rule,
        norm=norm,
    )


def _guess(query: SgdPass, how: Release, epsilon: float, delta: float) -> float:
    """Return about the noise that the budget asks for, as a standard deviation or scale."""
    if query.norm == "l1" or delta == 0:
        return float(query.deltas.max()) / epsilon
    if not how.randomized:
        return float(query.deltas.max()) * estimated_sigma(np.ones(1), np.ones(1), epsilon, delta)
    return estimated_sigma(query.deltas, query.schedule.sizes, epsilon, delta)


def _grid_bits(reach: float, sigma: float) -> int:
    """Return the finest grid on which the value and its noise fit 64 bits.

    Raises InvalidInputError if no grid finer than 1 does.
    """
    if not math.isfinite(sigma):
        raise InvalidInputError("The budget is too small for one release. Raise epsilon or delta.")
    room = (_VALUE_BITS - math.frexp(reach)[1], _NOISE_BITS - math.frexp(sigma)[1])
    bits = min(_FINEST_GRID, *room)
    if bits < 0:
        raise InvalidInputError(
            f"A noise of {sigma:.3g} does not fit the 64-bit grid: the budget is too small for one "
            "release. Raise epsilon or delta."
        )
    return bits
