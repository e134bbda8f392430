"""The number of tries of a search, drawn at random from a distribution that is fixed beforehand.

The distributions are drawn exactly, by whole numbers alone: what is proved in
``dpcore_tuning.stopping_cost`` is about the distribution that is drawn. A number of tries that is
cut short, by a clock or a bound, has another distribution, and the theorems are not about it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import exp_down, exp_up, log_up

if TYPE_CHECKING:
    from dpcore.plugin.parts import NoiseSource

__all__ = [
    "DISTRIBUTIONS",
    "Poisson",
    "StoppingDistribution",
    "TruncatedNegativeBinomial",
    "stopping_distribution",
]

DISTRIBUTIONS = ("geometric", "logarithmic", "negative-binomial", "poisson")
_MOST_TRIES = 10_000
_FINEST = 2**32


class StoppingDistribution(Protocol):
    """A distribution of the number of tries."""

    def draw(self, noise: NoiseSource) -> int:
        """Return a number of tries."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the distribution as JSON-able data, without a rounding."""
        ...

    def words(self) -> str:
        """Return the distribution's name and parameters."""
        ...


@dataclass(frozen=True)
class TruncatedNegativeBinomial:
    """The distribution of Papernot & Steinke 2022, Definition 1, on the whole numbers k >= 1. P(k)
    is proportional to (1 - gamma)^k times the product of (l + eta) / (l + 1) over l = 0..k-1; for
    eta = 0, its limit, to (1 - gamma)^k / k.

    At eta = 1 it is the geometric distribution, at eta = 0 the logarithmic one.

    Parameters
    ----------
    eta : above -1, at most 1.
    gamma : above 0 and below 1.
    """

    eta: Fraction
    gamma: Fraction

    def __post_init__(self) -> None:
        if not -1 < self.eta <= 1:
            raise InvalidInputError(f"Expected -1 < eta={float(self.eta)!r} <= 1.")
        if not 0 < self.gamma < 1:
            raise InvalidInputError(f"Expected 0 < gamma={float(self.gamma)!r} < 1.")

    def draw(self, noise: NoiseSource) -> int:
        """Return a number of tries: a geometric one, kept with the probability that is the product
        of (l + eta) / (l + 1) over l = 1..k-1, else drawn again. P(k) up to a constant is then
        gamma (1 - gamma)^(k-1) times that product."""
        while True:
            k = 1
            while not _kept(self.gamma, noise):
                k += 1
            if all(_kept((place + self.eta) / (place + 1), noise) for place in range(1, k)):
                return k

    def mean_up(self) -> Fraction:
        """Return the mean, rounded up (Papernot & Steinke 2022, Definition 1)."""
        eta, gamma = self.eta, self.gamma
        if eta == 1:
            return 1 / gamma
        if eta == 0:
            return (1 / gamma - 1) / -log_up(gamma)
        # gamma^eta on the side that makes |1 - gamma^eta| smaller.
        power = exp_up(eta * log_up(gamma)) if eta > 0 else exp_down(eta * log_up(gamma))
        return eta * (1 - gamma) / (gamma * (1 - power))

    def to_dict(self) -> dict[str, Any]:
        return {
            "law": "truncated negative binomial",
            "eta": str(self.eta),
            "gamma": str(self.gamma),
        }

    def words(self) -> str:
        named = {Fraction(1): "geometric distribution", Fraction(0): "logarithmic distribution"}
        name = named.get(self.eta, f"truncated negative binomial distribution of eta = {self.eta}")
        return f"the {name} with gamma = {self.gamma}"


@dataclass(frozen=True)
class Poisson:
    """The Poisson distribution on k = 0, 1, 2, ...

    Parameters
    ----------
    mean : above 0.
    """

    mean: Fraction

    def __post_init__(self) -> None:
        if not self.mean > 0:
            raise InvalidInputError(f"Expected a mean of {float(self.mean)!r} tries to be > 0.")

    def draw(self, noise: NoiseSource) -> int:
        """Return a number of tries. It is the sum of as many draws of mean 1 as the mean has whole
        ones, and of one more, each of whose tries stays with the probability that is left of the
        mean."""
        whole, rest = divmod(self.mean, 1)
        total = sum(_of_mean_one(noise) for _ in range(int(whole)))
        if rest:
            total += sum(_kept(rest, noise) for _ in range(_of_mean_one(noise)))
        return total

    def to_dict(self) -> dict[str, Any]:
        return {"law": "Poisson", "mean": str(self.mean)}

    def words(self) -> str:
        return f"the Poisson distribution of mean {self.mean}"


def stopping_distribution(
    name: str, tries: float, eta: float | None = None
) -> StoppingDistribution:
    """Return the distribution of a name with about so many tries in the mean; the distribution
    itself says exactly.

    ``eta`` : that of ``negative-binomial``, and of no other.
    Raises InvalidInputError for a name or value that no distribution has.
    """
    if name not in DISTRIBUTIONS:
        raise InvalidInputError(f"Expected law={name!r} to be one of {', '.join(DISTRIBUTIONS)}.")
    if (eta is not None) != (name == "negative-binomial"):
        raise InvalidInputError("Expected eta beside --law negative-binomial, and only there.")
    if not (math.isfinite(tries) and tries <= _MOST_TRIES):
        raise InvalidInputError(f"Expected tries={tries!r} to be at most {_MOST_TRIES:,}.")
    if name == "poisson":
        return Poisson(_rational(tries))
    if not tries > 1:
        raise InvalidInputError(
            f"Expected tries={tries!r} > 1: such a distribution makes one at least."
        )
    if eta is not None and not math.isfinite(eta):
        raise InvalidInputError(f"Expected -1 < eta={eta!r} <= 1.")
    given = {"geometric": Fraction(1), "logarithmic": Fraction(0)}.get(name)
    shape = _rational(eta or 0.0) if given is None else given
    if shape == 1:
        return TruncatedNegativeBinomial(shape, 1 / _rational(tries))
    return TruncatedNegativeBinomial(shape, _gamma_of(shape, tries))


def _gamma_of(eta: Fraction, tries: float) -> Fraction:
    """Return a gamma of about this mean, which falls as gamma grows."""
    low, high = 1, _FINEST - 1  # over _FINEST
    if TruncatedNegativeBinomial(eta, Fraction(low, _FINEST)).mean_up() < tries:
        raise InvalidInputError(f"No such distribution has a mean of {tries!r}: take a larger eta.")
    while high - low > 1:
        middle = (low + high) // 2
        distribution = TruncatedNegativeBinomial(eta, Fraction(middle, _FINEST))
        low, high = (middle, high) if distribution.mean_up() > tries else (low, middle)
    found = Fraction(high, _FINEST)
    rounded = found.limit_denominator(10**4)
    return rounded if 0 < rounded < 1 else found


def _rational(value: float) -> Fraction:
    return Fraction(value).limit_denominator(10**6)


def _kept(share: Fraction, noise: NoiseSource) -> bool:
    """Return a coin of this probability, exactly."""
    return noise.integers_below(share.denominator) < share.numerator


def _of_mean_one(noise: NoiseSource) -> int:
    """Return a Poisson number of mean 1: j of probability 2^-(j+1), kept with probability
    2^(j-1) / j!, which is at most 1 and is 1/2 at 0, 1 at 1 and 2, and 2/l times that of l - 1."""
    half = Fraction(1, 2)
    while True:
        j = 0
        while _kept(half, noise):
            j += 1
        if j == 0:
            if _kept(half, noise):
                return 0
        elif all(_kept(Fraction(2, place), noise) for place in range(3, j + 1)):
            return j
