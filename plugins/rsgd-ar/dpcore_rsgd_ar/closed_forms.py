"""Closed forms of the sensitivity of a pass in real arithmetic, by the name of their theorem.

Relation: replace-one. R bounds the gradient of a row's loss, L is the smoothness and mu the strong
convexity of the objective (``Facts``). Each form is proven for the schedules that it names, and
refuses every other with InvalidInputError: a pass states no bound of its own. Every product is
rounded up by a factor of ``1 + 2^-40``. A projection brings no two points further apart.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpcore_rsgd_ar.schedule import Facts, Schedule

__all__ = ["CLOSED_FORMS", "decreasing_steps", "largest_fixed_step"]

_SLACK = 1 + 2.0**-40


def decreasing_steps(facts: Facts, epochs: int, batches: int) -> np.ndarray:
    """Return the steps of Wu et al. 2017, Algorithm 2: ``min(1 / L, 1 / (mu t))``, float64 of shape
    (epochs, batches)."""
    t = np.arange(1, epochs * batches + 1, dtype=np.float64)
    steps: np.ndarray = np.minimum(1 / facts.curvature, 1 / (facts.mu * t))
    return steps.reshape(epochs, batches)


def largest_fixed_step(facts: Facts) -> float:
    """Return a step below 2 / (L + mu), up to which a step contracts by ``1 - eta mu``."""
    return 2 / (facts.curvature + facts.mu) * (1 - 2.0**-50)


def _bolt_on(schedule: Schedule, facts: Facts) -> float:
    """Return the sensitivity of Wu et al. 2017; of batches of unequal size the smallest is counted.

    Without l2 (Algorithm 1): steps of one size eta, at most 2 / L, bring no two iterates further
    apart, and each epoch adds ``2 eta R / |B|``. With l2 (Algorithm 2): of the ``2 eta R / |B|`` at
    step t, the contractions ``1 - eta mu`` of later steps leave at most ``2 R / (mu |B| T)`` after
    T = epochs m steps, whatever t; an epoch has one such step: ``2 R / (mu |B| m)`` in all.
    """
    _require(not schedule.average_every, "no averages")
    smallest, m = int(schedule.sizes.min()), schedule.n_batches
    if facts.mu > 0:
        usual = decreasing_steps(facts, schedule.epochs, m)
        _require(np.array_equal(schedule.step_sizes, usual), "the steps min(1 / L, 1 / (mu t))")
        return 2 * facts.gradient / (facts.mu * smallest * m) * _SLACK
    step, largest = float(schedule.step_sizes.flat[0]), 2 / facts.curvature
    _require(bool((schedule.step_sizes == step).all()), "steps of one size")
    if step > largest:
        raise InvalidInputError(
            f"Expected step_size={step:g} of at most 2 / L = {largest:.3g}: beyond it the "
            "closed form is no bound."
        )
    return 2 * schedule.epochs * step * facts.gradient / smallest * _SLACK


def _proposition_2(schedule: Schedule, facts: Facts) -> float:
    """Return ``2 R / (n mu)``: Chen, Lee & Kifer 2019, Proposition 2 with m = 1. A step eta below
    2 / (L + mu) on all rows takes a distance D to at most ``(1 - eta mu) D + 2 eta R / n``; the
    fixed point is that number whatever eta, so that it holds after any number of steps."""
    _require(facts.mu > 0, "strong convexity")
    _require(schedule.n_batches == 1 and not schedule.average_every, "one batch and no averages")
    below = bool((schedule.step_sizes <= largest_fixed_step(facts)).all())
    _require(below, "steps below 2 / (L + mu)")
    return 2 * facts.gradient / (schedule.n * facts.mu) * _SLACK


def _zhang(schedule: Schedule, facts: Facts) -> float:
    """Return ``5 R (L + mu) / (n mu L)`` of Zhang et al. 2017: at least 2.5 times what Proposition
    2 asks for on the same schedules, and so a bound where that is."""
    both = facts.curvature + facts.mu
    return _proposition_2(schedule, facts) * (2.5 * both / facts.curvature)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise InvalidInputError(f"Expected {what}: the closed form is proven for no other pass.")


CLOSED_FORMS: Mapping[str, Callable[[Schedule, Facts], float]] = MappingProxyType(
    {"bolt-on": _bolt_on, "proposition-2": _proposition_2, "zhang": _zhang}
)
