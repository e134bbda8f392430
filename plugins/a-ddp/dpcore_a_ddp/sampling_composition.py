"""Composition of sampled Gaussian releases by how often a row is drawn (Cheng et al., AAAI 2020).

Theorem 1: after k rounds, each over a sample that a row is in with probability p, with Gaussian
noise of standard deviation sigma against a sensitivity H,

    delta(epsilon) <= sum_i Binomial(i; k, p) delta_Gauss(H sqrt(i) / sigma; epsilon).

Proof. The coins do not depend on the rows. Given that the row was drawn in i of the rounds, the
outputs are those of i Gaussian releases of shift H / sigma and of k - i that do not move, adaptive
in what they ask: together one of shift sqrt(i) H / sigma (Dong, Roth & Su 2022, Corollary 3.3). The
hockey-stick divergence is jointly convex, so the mixture over the coins has at most the mean. It
holds for Poisson samples and samples of a fixed size, under every neighbouring relation under which
H is the sensitivity (2 C for gradients clipped to C under replace-one: one clipped gradient takes
the place of its opposite). Noise and probability may change from round to round on a schedule fixed
beforehand: the sum over the rounds drawn of (H / sigma_j)^2 takes the place of i (H / sigma)^2.
With parameters chosen from earlier outputs it proves nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import AdditiveAccountant, cached_by_value, smallest_multiplier
from dpcore_accounting.joint_composition import JointAccountant, Round, Rounds
from dpcore_accounting.smallest_epsilon import smallest_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore_a_ddp.draw_distribution import DrawDistribution

__all__ = [
    "SamplingCompositionAccountant",
    "delta_after",
    "most_rounds",
    "noise_multiplier_for",
    "rounds_within",
]

_STRIDE = 200
_MOST_ROUNDS = 10**9


@cached_by_value(maxsize=2**16)
def delta_after(rounds: int, noise_multiplier: float, p: float, epsilon: float) -> float:
    """Return the delta, rounded up, of so many rounds at ``epsilon`` >= 0.

    ``noise_multiplier`` : standard deviation over H. ``p`` : of a row to be drawn, in (0, 1].
    """
    _check_values(noise_multiplier, p)
    if rounds == 0:
        return 0.0
    return _distribution(((Round(noise_multiplier, p), rounds),)).delta_up(epsilon)


@cached_by_value(maxsize=2**16)
def rounds_within(noise_multiplier: float, p: float, epsilon: float, delta: float) -> int:
    """Return the largest number of rounds whose delta at ``epsilon`` is at most ``delta``, 0 if not
    even one is, at most 10^9. Values as for ``delta_after``."""
    _check_values(noise_multiplier, p)
    return most_rounds(lambda k: delta_after(k, noise_multiplier, p, epsilon) <= delta)


@cached_by_value(maxsize=2**16)
def noise_multiplier_for(rounds: int, p: float, epsilon: float, delta: float) -> float:
    """Return the smallest noise multiplier, to 1e-9, with which so many rounds have at most
    ``delta`` at ``epsilon``: verified at the value returned."""
    AdditiveAccountant.validated_epsilon(epsilon)
    AdditiveAccountant.validated_delta(delta)
    _check_values(1.0, p)
    if rounds < 1:
        raise InvalidInputError(f"Expected rounds={rounds!r} >= 1.")
    return smallest_multiplier(lambda m: delta_after(rounds, m, p, epsilon) <= delta)


def _check_values(noise_multiplier: float, p: float) -> None:
    if not 0 < noise_multiplier < math.inf:
        raise InvalidInputError(f"Expected noise_multiplier={noise_multiplier!r} > 0 and finite.")
    if not 0 < p <= 1:
        raise InvalidInputError(f"Expected p={p!r} in (0, 1].")


def _step(noise_multiplier: float) -> float:
    """Return 1 / m^2, rounded up."""
    inverse = math.nextafter(1 / noise_multiplier, math.inf)
    return math.nextafter(inverse * inverse, math.inf)


@lru_cache(maxsize=64)
def _distribution(rounds: Rounds) -> DrawDistribution:
    """Return the distribution after these rounds; the one before the last kind is kept for the next
    call."""
    from dpcore_a_ddp.draw_distribution import NO_DRAWS

    if not rounds:
        return NO_DRAWS
    for end in range(_STRIDE, len(rounds), _STRIDE):
        _distribution(rounds[:end])  # so that none goes deeper than that
    (noise_multiplier, p), count = rounds[-1]
    return _distribution(rounds[:-1]).after(count, _step(noise_multiplier), p)


@dataclass(frozen=True, kw_only=True)
class SamplingCompositionAccountant(JointAccountant):
    """Bounds delta at the budget's epsilon by the distribution of how often a row is drawn: Theorem
    1 of Cheng et al. 2020, see above. Exact for releases over all rows; it knows no amplification
    in epsilon. Not fully adaptive."""

    name: ClassVar[str] = "sampling-composition"
    unit: ClassVar[str] = "delta at the budget's epsilon"
    conversions: ClassVar[tuple[str, ...]] = ("joint-convexity",)

    @property
    def budget(self) -> float:
        return self.delta

    def _composed(self, rounds: Rounds) -> float:
        return _distribution(rounds).delta_up(self.epsilon)

    def get_epsilon(self, delta: float) -> float:
        delta = AdditiveAccountant.validated_delta(delta)
        if not self.rounds:
            return 0.0
        distribution = _distribution(self.rounds)
        return smallest_epsilon(lambda e: distribution.delta_up(e) <= delta, self.epsilon, 1e-9)


def most_rounds(holds: Callable[[int], bool]) -> int:
    """Return the largest number of rounds, 0 to 10^9, up to which ``holds`` is true.

    Examples
    --------
    >>> from dpcore_a_ddp.sampling_composition import most_rounds
    >>> most_rounds(lambda k: 0.1 * k <= 1.0)
    10
    """
    low, high = 0, 1
    while holds(high):
        low = high
        if high == _MOST_ROUNDS:
            return high
        high = min(2 * high, _MOST_ROUNDS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
