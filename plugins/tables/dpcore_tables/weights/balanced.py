"""Weights that even the classes out: from counts of them that are released from the rows of a fit,
out of its own budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import ordered_sum
from dpcore.plugin.steps import OneRelease, Outcome, Phase, StepSession, mechanism_for
from dpcore_tables.statistics.categorical_column import CategoricalColumn
from dpcore_tables.statistics.histogram import Histogram
from dpcore_tables.weights.values import LARGEST, checked_largest

if TYPE_CHECKING:
    from dpcore.plugin.steps import PublicFacts

__all__ = ["SHARE", "BalancedWeights", "balanced_weights"]

SHARE = Fraction(1, 20)
"""The part of a run's budget that counts of its classes take, whatever their number."""


@dataclass(frozen=True)
class BalancedWeights:
    """Balanced weights of the classes, from noisy counts of their rows.

    One release: how many rows are of each class (``Histogram``, with its sensitivity: 1 in l2 under
    add-or-remove-one, the square root of 2 under replace-one), by normal noise where the filter
    holds it, else geometric. Where units have several rows, the session multiplies the sensitivity
    of this sum over rows (``dpcore.session.unit_sensitivity``): all rows of a unit may be of one
    class.

    Parameters
    ----------
    largest : the most that a weight may come to, from 1 to 2^20.
    share : of the budget.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore import BalancedWeights, fit
    >>> X, y = np.array([[0.0], [0.2], [0.9], [1.0]] * 50), np.array([0, 0, 0, 1] * 50)
    >>> public = {"classes": (0, 1), "bounds": (0, 1), "epsilon": 5.0}
    >>> model = fit(X, y, **public, also=[BalancedWeights(largest=4.0)])
    >>> max(model.class_weights.values()) <= 4.0
    True
    """

    name: ClassVar[str] = "balanced"
    phase: ClassVar[Phase] = Phase.PROBLEM
    asks: ClassVar[str] = "Balanced weights follow from counts of the classes, which are private"
    instead: ClassVar[str] = "Give a public weight for each class"

    largest: float = LARGEST
    share: Fraction = SHARE

    def __post_init__(self) -> None:
        object.__setattr__(self, "largest", checked_largest(self.largest))

    @property
    def largest_weight(self) -> float:
        """The weight that the run is checked with beforehand."""
        return self.largest

    @staticmethod
    def weights() -> Any:
        """Return the module of all that a fit asks of weights."""
        from dpcore_tables.weights import fit_weights

        return fit_weights

    def check(self, facts: PublicFacts) -> OneRelease:
        """Return the release of the counts (``RunStep``)."""
        share = StepSession.exact_share(self.share, "BalancedWeights")
        mechanism = mechanism_for(facts.accountant, share)
        label = CategoricalColumn((), facts.schema.label.names)
        query = Histogram(label, norm=mechanism.needs)
        stated = {"share": float(share)}
        return OneRelease(share, query, mechanism, self._weights, stated=stated)

    def _weights(self, view: Any, counts: np.ndarray, deviation: float) -> Outcome:
        """Return the weights that follow."""
        floor = max(1.0, deviation)
        return Outcome(class_weights=balanced_weights(counts, floor, self.largest))


def balanced_weights(counts: np.ndarray, floor: float, largest: float) -> tuple[float, ...]:
    """Return the weight n / (K count) of each of K classes, at most ``largest``, from released
    counts, whose sum is n. A count below ``floor`` is taken for that.

    Every weight is from 1 / K to ``largest``. ``floor`` : public, > 0: the noise's deviation, below
    which a count tells nothing.
    """
    held = np.maximum(counts.astype(np.float64), floor)
    weights: list[float] = np.minimum(ordered_sum(held) / (held.size * held), largest).tolist()
    return tuple(weights)
