"""The words of a verdict, and the power of its tests."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.plugin.parts import ApproximateDpEvent, GaussianDpEvent, PureDpEvent, exact
from dpcore_lab.audit.claim import ALARM, BEYOND, Claim, Counts
from dpcore_lab.outcomes.power import PROBABILITY, detectable_factor

if TYPE_CHECKING:
    from dpcore.plugin.parts import DpEvent

__all__ = ["power", "rarest_answer", "sentence"]

_MOST = 1e3


def sentence(claim: Claim, epsilon: float, is_violation: bool) -> str:
    """Return the verdict in words, the measured epsilon rounded down."""
    if is_violation:
        return "VIOLATION"
    return (
        f"consistent: with 95 % confidence, epsilon is at least {rounded_down(epsilon)}; the claim "
        f"is {claim_of(claim)}"
    )


def rounded_down(epsilon: float) -> str:
    """Return an epsilon with three decimals at most, rounded down."""
    return f"{math.floor(1000 * epsilon) / 1000:g}"


def claim_of(claim: Claim) -> str:
    """Return a claimed epsilon with four decimals at most, rounded up."""
    return exact(math.ceil(round(10_000 * claim.epsilon, 6)) / 10_000)


def power(claim: Claim, counted: int, tests: int) -> str:
    """Return in words which sets of outcomes would be called violations, once one is learned: an
    algorithm shows no more in its outcomes than it costs, and mostly less. ``counted`` : runs of a
    table."""

    def event_of(factor: float) -> DpEvent:
        if claim.mu is not None:
            return GaussianDpEvent(1 / (claim.mu * factor))
        if claim.delta == 0:
            return PureDpEvent(claim.epsilon * factor)
        return ApproximateDpEvent(claim.epsilon * factor, claim.delta)

    level = ALARM / (2 * tests)
    if claim.sampled < 1:
        factor = _factor_of_sample(claim, counted, level)
    else:
        factor = detectable_factor(event_of, counted, level)
    parameter = "epsilon" if claim.mu is None else "mu"
    if math.isinf(factor):
        return f"so few runs cannot find a violation with probability {PROBABILITY:g}"
    times = f"{math.ceil(10 * factor) / 10:g} times the claimed {parameter}"
    return f"outcomes that show {times} would be found with probability {PROBABILITY:g}"


def rarest_answer(drawn: int) -> int:
    """Return how rare exact answers may be that so many draws find with probability .99. Of n draws
    one is exact with probability 1 - (1 - p)^n, which is .99 for p about ln(100) / n."""
    return max(1, math.floor(drawn / -math.log(1 - PROBABILITY)))


def _factor_of_sample(claim: Claim, counted: int, level: float) -> float:
    """Return the smallest factor, to 2 %, of a sampled Gaussian's mu that is found: noise too small
    by it makes the row's answer stand out, and outcomes beyond ``BEYOND`` of it are counted."""
    from scipy.special import ndtr
    from scipy.stats import binom

    tail, factor = (1 - PROBABILITY) / 2, 1.0
    while factor < _MOST:
        mu = factor * float(claim.mu or 0.0)
        q = float(ndtr(-BEYOND * mu))
        p = claim.sampled * float(ndtr((1 - BEYOND) * mu)) + (1 - claim.sampled) * q
        hits, others = binom.ppf(tail, counted, p), binom.isf(tail, counted, q)
        if claim.is_contradicted(Counts(int(hits), counted, int(others), counted), 2 * level):
            return factor
        factor *= 1.02
    return math.inf
