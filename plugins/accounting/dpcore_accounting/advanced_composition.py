"""Advanced composition of sampled Gaussian releases: what sampling buys, then what adds up.

A Gaussian release of shift mu = 1 / m is (e, d)-DP for every d and the e of its curve (Balle & Wang
2018, Theorem 8). Over a sample that a row is in with probability p it is

    (ln(1 + p (exp(e) - 1)), p d)-DP

(Balle, Barthe & Gaboardi 2018, Theorem 8 for Poisson samples under add-or-remove-one, Theorem 9 for
samples of a fixed size under replace-one; under replace-one a Poisson sample that holds the row is
compared with a sample that lacks it and with a sample that holds the other row, and the event says
that the noise covers both). (e p, p d) is too small. Releases (e_i, d_i), fixed beforehand, are
together

    (sum_i e_i tanh(e_i / 2) + sqrt(2 ln(1 / s) sum_i e_i^2), s + sum_i d_i)-DP

for every s > 0, and (sum_i e_i, sum_i d_i)-DP (Kairouz, Oh & Viswanath 2017, Theorem 3.5, its third
and its first form): but for an event of probability d_i, the loss of release i lies in [-e_i, e_i]
with a mean of at most e_i tanh(e_i / 2), and Azuma's inequality bounds their sum. This is the
conversion ``kairouz-oh-viswanath``, whichever of the two is less; of few rounds it is the sum. The
theorem that "advanced composition" usually names bounds the mean by e_i (exp(e_i) - 1) instead:

    (sum_i e_i (exp(e_i) - 1) + sqrt(2 ln(1 / s) sum_i e_i^2), s + sum_i d_i)-DP

(Dwork & Roth 2014, Theorem 3.20, whose proof is the same Azuma inequality, and so holds of unequal
e_i too). This is ``dwork-roth``: never less, since tanh(e / 2) <= exp(e) - 1, and no minimum.

The rule for d_i and s: half of the budget's delta is s, and the other half is shared equally by the
k releases made so far, p_i d_i = delta / (2 k). It depends on the budget and on k alone, and k is
public: the schedule is fixed beforehand. With parameters chosen from earlier outputs this proves
nothing.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    AdditiveAccountant,
    DpEvent,
    SampledWithoutReplacementDpEvent,
    cached_by_value,
    smallest_multiplier,
)
from dpcore_accounting.gaussian_floats import gaussian_deltas_up
from dpcore_accounting.joint_composition import JointAccountant, Round, Rounds
from dpcore_accounting.smallest_epsilon import smallest_epsilon

__all__ = [
    "AdvancedCompositionAccountant",
    "AmplifiedAccountant",
    "amplified_epsilon",
    "epsilon_after",
    "noise_multiplier_for",
]

_MARGIN = 2.0**-30
"""Relative; a thousand times what rounding takes off a sum of a few positive terms."""

_MEANS: dict[str, Callable[[float], float]] = {
    "kairouz-oh-viswanath": lambda epsilon: math.tanh(epsilon / 2),
    "dwork-roth": lambda epsilon: math.expm1(epsilon) if epsilon < 500 else math.inf,
}
"""A bound of the mean loss of one release over its epsilon, by theorem."""


def amplified_epsilon(epsilon: float, p: float) -> float:
    """Return ln(1 + p (exp(epsilon) - 1)), rounded up, for ``p`` in (0, 1].

    Examples
    --------
    >>> from dpcore_accounting.advanced_composition import amplified_epsilon
    >>> round(amplified_epsilon(1.0, 0.01), 5)
    0.01704
    """
    if epsilon < 1:
        amplified = math.log1p(p * math.expm1(epsilon))
    else:
        amplified = epsilon + math.log(p + (1 - p) * math.exp(-epsilon))
        amplified = max(amplified, 0.0) + 2.0**-48 * epsilon
    return min(epsilon, amplified * (1 + _MARGIN))


def epsilon_of_shift_up(mu: float, delta: float) -> float:
    """Return an epsilon >= 0, rounded up, at which Gaussian noise of that ``mu`` > 0 has at most
    ``delta`` > 0, to 1e-9; ``inf`` if there is none below 1e300."""

    import numpy

    def holds(epsilon: float) -> bool:
        return bool(gaussian_deltas_up(numpy.array([mu]), epsilon)[0] <= delta)

    return smallest_epsilon(holds, 1.0, 1e-9)


@cached_by_value(maxsize=4096)
def _one_release(each: Round, share: float) -> float:
    """Return the epsilon, rounded up, of one sampled release at a delta of ``share``."""
    base = epsilon_of_shift_up(1 / each.noise_multiplier * (1 + 2.0**-50), min(share / each.p, 1.0))
    return amplified_epsilon(base, each.p)


def epsilon_after(
    rounds: Any,
    delta: float,
    one_release: Callable[[Any, float], float] = _one_release,
    theorem: str = "kairouz-oh-viswanath",
) -> float:
    """Return the epsilon, rounded up, of all rounds together at ``delta``; ``inf`` for more than a
    float holds.

    ``one_release`` : the epsilon, rounded up, of one of them at a share of delta. ``theorem`` :
    ``"kairouz-oh-viswanath"`` or ``"dwork-roth"``.
    """
    k = sum(count for _, count in rounds)
    share = delta / (2 * k) * (1 - 2.0**-40)
    plain = mean = squares = 0.0
    for each, count in rounds:
        epsilon = one_release(each, share)
        plain += count * epsilon
        mean += count * epsilon * _MEANS[theorem](epsilon)
        squares += count * epsilon * epsilon
    if not math.isfinite(squares):
        return math.inf
    advanced = mean + math.sqrt(2 * math.log(2 / delta) * squares)
    total = advanced if theorem == "dwork-roth" else min(plain, advanced)
    return total * (1 + _MARGIN)


@cached_by_value(maxsize=4096)
def noise_multiplier_for(rounds: int, p: float, epsilon: float, delta: float) -> float:
    """Return the smallest noise multiplier, to 1e-9, with which so many rounds, each over a sample
    that a row is in with probability ``p``, are (epsilon, delta)-DP: verified at the value."""
    AdditiveAccountant.validated_epsilon(epsilon)
    AdditiveAccountant.validated_delta(delta)
    if rounds < 1 or not 0 < p <= 1:
        raise InvalidInputError(f"Expected rounds={rounds!r} >= 1 and p={p!r} in (0, 1].")
    return smallest_multiplier(lambda m: epsilon_after(((Round(m, p), rounds),), delta) <= epsilon)


@dataclass(frozen=True, kw_only=True)
class AmplifiedAccountant(JointAccountant):
    """Base of ``advanced-composition`` and of its like for Skellam noise: a subclass says what one
    release comes to."""

    unit: ClassVar[str] = "epsilon at the budget's delta"
    conversions: ClassVar[tuple[str, ...]] = ("kairouz-oh-viswanath", "dwork-roth")

    @classmethod
    def _has_rule(cls, event: DpEvent) -> bool:
        # The sample without the row holds another one in its place: noise that covers that a row
        # is swapped for nothing does not cover this.
        if isinstance(event, SampledWithoutReplacementDpEvent):
            if event.relation is not NeighboringRelation.REPLACE_ONE:
                return False
        return super()._has_rule(event)

    @property
    def budget(self) -> float:
        return self.epsilon

    def _composed(self, rounds: Any) -> float:
        return self._epsilon_after(rounds, self.delta)

    def get_epsilon(self, delta: float) -> float:
        delta = AdditiveAccountant.validated_delta(delta)
        return self._epsilon_after(self.rounds, delta) if self.rounds else 0.0

    @abstractmethod
    def _epsilon_after(self, rounds: Any, delta: float) -> float:
        """Return the epsilon, rounded up, of one or more rounds together at ``delta``."""


@dataclass(frozen=True, kw_only=True)
class AdvancedCompositionAccountant(AmplifiedAccountant):
    """Bounds epsilon at the budget's delta by amplification and advanced composition: see above.
    Not fully adaptive."""

    name: ClassVar[str] = "advanced-composition"
    otherwise: ClassVar[str] = (
        "sampling-composition (dpcore-a-ddp) holds samples of a fixed size under replace-special "
        "too, zcdp every release that is not sampled"
    )

    def _epsilon_after(self, rounds: Rounds, delta: float) -> float:
        return epsilon_after(rounds, delta, theorem=self.conversion)
