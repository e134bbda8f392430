"""Sums of exact deviates, known to as many digits as a floor or a comparison takes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING, Any

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import DigitStream, sealed
from dpcore_accounting.distributions.old_names import class_named_before

if TYPE_CHECKING:
    from dpcore.plugin.parts import GridScale, NoiseSource

__all__ = ["ContinuousDistribution", "Deviate"]

_KINDS = ("normal", "laplace", "exponential", "gamma")
_MOST_TERMS, _MOST_SHAPE = 64, 1024
_LEAST_WEIGHT, _LARGEST_WEIGHT = 2.0**-64, 2.0**64
_BATCH = 256


@sealed
@dataclass(frozen=True, slots=True)
class ContinuousDistribution:
    """The distribution of a sum of independent exact deviates, each times a weight of its own.

    Parameters
    ----------
    terms : a tuple of one or more, each a tuple of a kind and a weight: ``("normal", 1.0)`` of
        variance 1, ``("laplace", 0.5)`` of density exp(-|x|) / 2, ``("exponential", 1.0)`` of
        density exp(-x), or ``("gamma", 1.0, 3)``, the sum of so many exponential ones. A weight is
        a float from 2^-64 to 2^64, or minus that, and is taken as exactly that number.

    Raises InvalidInputError for anything else.

    Examples
    --------
    >>> from dpcore.plugin.parts import GridScale, SeededNoise
    >>> from dpcore_accounting.distributions import ContinuousDistribution
    >>> distribution = ContinuousDistribution((("laplace", 1.0), ("gamma", -0.25, 2)))
    >>> [deviate.floor() for deviate in distribution.draw(SeededNoise(0), GridScale(100), 3)]
    [57, 85, 114]
    """

    terms: tuple[tuple[Any, ...], ...]

    def __post_init__(self) -> None:
        if type(self.terms) is not tuple or not 1 <= len(self.terms) <= _MOST_TERMS:
            raise InvalidInputError(f"Expected terms to be a tuple of 1 to {_MOST_TERMS} of them.")
        for term in self.terms:
            if type(term) is not tuple or not term or term[0] not in _KINDS:
                raise InvalidInputError(
                    f"Expected each term to be a tuple that begins with one of {', '.join(_KINDS)}."
                )
            kind, *rest = term
            if type(kind) is not str or len(rest) != (2 if kind == "gamma" else 1):
                raise InvalidInputError(
                    f"Expected a {kind} term as a kind and a weight"
                    f"{', and a whole shape.' if kind == 'gamma' else '.'}"
                )
            weight, *shape = rest
            size = abs(weight) if type(weight) is float else math.nan
            if not _LEAST_WEIGHT <= size <= _LARGEST_WEIGHT:
                raise InvalidInputError(
                    f"Expected a {kind} term's weight={weight!r} to be a float from 2^-64 to 2^64, "
                    "or minus that."
                )
            if shape and not (type(shape[0]) is int and 1 <= shape[0] <= _MOST_SHAPE):
                raise InvalidInputError(
                    f"Expected shape={shape[0]!r} to be an int from 1 to {_MOST_SHAPE}."
                )

    @property
    def only(self) -> str:
        """The kind of the only term; empty where there are several."""
        return self.terms[0][0] if len(self.terms) == 1 else ""

    def draw(self, noise: NoiseSource, scale: GridScale, size: int) -> Iterator[Deviate]:
        """Yield independent deviates times the scale, in steps of the grid."""
        steps = [(kind, Fraction(w) * scale.steps, *rest) for kind, w, *rest in self.terms]
        shift = max(step.denominator for _, step, *_ in steps).bit_length() - 1
        whole = [(kind, int(step * 2**shift), *rest) for kind, step, *rest in steps]
        stream = _stream(noise)
        for _ in range(size):
            yield Deviate([part for term in whole for part in _drawn(stream, *term)], shift)


class Deviate:
    """A sum of exact deviates, each times a whole number, over ``2^shift``: as many of its digits
    as are asked for."""

    __slots__ = ("_parts", "_shift")

    def __init__(self, parts: list[tuple[int, Any]], shift: int) -> None:
        self._parts, self._shift = parts, shift

    def bounds(self, digits: int) -> tuple[int, int, int]:
        """Return integers a < b and s: the number lies between a / 2^s and b / 2^s, and is neither
        but with probability 0. Of each part so many digits of 64 bits are known."""
        low = high = 0
        for factor, part in self._parts:
            known = factor * part.floor(digits)
            low += known + min(factor, 0)
            high += known + max(factor, 0)
        return low, high, self._shift + 64 * digits

    def floor(self) -> int:
        """Return the floor of the whole sum, which is rounded this once."""
        for digits in count(1):
            low, high, shift = self.bounds(digits)
            if low >> shift == (high - 1) >> shift:
                return low >> shift
        raise AssertionError("unreachable")


def _drawn(stream: DigitStream, kind: str, factor: int, shape: int = 1) -> list[tuple[int, Any]]:
    if kind == "normal":
        negative, size = stream.normal()
        return [(-factor if negative else factor, size)]
    sizes = [stream.exponential() for _ in range(shape)]
    if kind == "laplace" and stream.coin():
        factor = -factor
    return [(factor, size) for size in sizes]


def _stream(noise: NoiseSource) -> DigitStream:
    """Return a stream of random words, each used once."""

    def words() -> Iterator[int]:
        while True:
            drawn = noise.words(_BATCH)
            batch = drawn.tolist()
            drawn[:] = 0
            yield from batch

    source = words()
    return DigitStream(lambda _: next(source))


def __getattr__(name: str) -> Any:
    return class_named_before(__name__, name, {"ContinuousLaw": ContinuousDistribution})
