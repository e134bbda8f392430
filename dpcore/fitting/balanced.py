"""Weights that even the classes out: from counts of them that are released from the rows of a fit,
out of its own budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpcore.exact.reproducible import ordered_sum
from dpcore.fitting.class_weights import with_weights
from dpcore.fitting.public_facts import Ready, with_default_l2
from dpcore.fitting.shares import mechanism_for, norm_of, require_share
from dpcore.fitting.steps import OneRelease, Outcome, Phase
from dpcore.queries.columns import CategoricalColumn
from dpcore.queries.histogram import Histogram

if TYPE_CHECKING:
    from dpcore.fitting.steps import RunView

__all__ = ["SHARE", "BalancedWeights", "balanced_weights"]

SHARE = Fraction(1, 20)
"""The part of a run's budget that counts of its classes take, whatever their number."""


@dataclass(frozen=True)
class BalancedWeights:
    """Weights that even the classes out, by counts that are released.

    One release: how many rows are of each class (``Histogram``, with its sensitivity: 1 in l2 under
    add-or-remove-one, the square root of 2 under replace-one), by normal noise where the filter
    holds it, else geometric. Where units have several rows, the door multiplies the sensitivity of
    this sum over rows (``dpcore.session.units``): all rows of a unit may be of one class.
    """

    share: Fraction = SHARE

    def check(self, view: RunView) -> OneRelease:
        """Return the release of the counts (``RunStep``)."""
        plan, problem = view.ready.plan, view.ready.problem
        require_share(
            plan,
            "Balanced weights follow from counts of the classes, which are private",
            "Give a public weight for each class",
        )
        mechanism = mechanism_for(plan.accountant, self.share)
        label = CategoricalColumn((), view.dataset.schema.label.names)
        query = Histogram(label, norm=norm_of(mechanism))
        asked = "balanced", self.share, problem, query, mechanism
        return OneRelease(*asked, _with_weights, phase=Phase.PROBLEM)


def _with_weights(view: RunView, counts: np.ndarray, deviation: float) -> Outcome:
    """Return the plan of the run and its problem with the weights that follow."""
    plan, floor = view.ready.plan, max(1.0, deviation)
    plan = with_weights(plan, balanced_weights(counts, floor, plan.settings.largest_weight))
    problem = replace(view.ready.problem, loss=plan.loss, l2=plan.settings.l2 or 0.0)
    return Outcome(replace(view, ready=Ready(plan, with_default_l2(problem, plan), plan)))


def balanced_weights(counts: np.ndarray, floor: float, largest: float) -> tuple[float, ...]:
    """Return the weight n / (K count) of each of K classes, at most ``largest``, from released
    counts: each taken for ``floor`` where it is less, and n for their sum.

    Every weight is from 1 / K to ``largest``. ``floor`` : public, > 0: the noise's deviation, below
    which a count tells nothing.
    """
    held = np.maximum(counts.astype(np.float64), floor)
    weights: list[float] = np.minimum(ordered_sum(held) / (held.size * held), largest).tolist()
    return tuple(weights)
