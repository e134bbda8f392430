"""Reduced above-threshold: Brownian noise reduction with a test whose noise is reduced in step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import (
    ApproximateDpEvent,
    GridScale,
    NoiseSource,
    exp_down,
    exp_up,
    float_up,
    sealed,
)
from dpcore_accuracy_first.brownian_noise.mechanism import BrownianPath, increments, require_losses
from dpcore_accuracy_first.noise_chain.mechanism import Reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin.parts import DerivedQuery, NoiseSource, Query, Sensitivity

__all__ = ["ReducedAboveThreshold", "threshold_noise"]

_WORD = 64


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class ReducedAboveThreshold:
    """Releases an answer with less and less normal noise until a noisy test passes (Whitehouse,
    Ramdas, Wu & Rogers, NeurIPS 2022: Brownian noise reduction with ReducedAboveThreshold).

    The answers are those of ``Brownian``. After level t one question is asked, whose answer q
    (smaller is better) is subtracted from ``reference``, or from 0; the walk ends at the first t
    with

        reference - q_t + Z_t >= thresholds[t] + X_t,

    D the sensitivity of a question plus that of the reference, X_t the threshold's noise and Z_t
    fresh noise of each test, floored exact exponential deviates, all >= 0, of scales x_t >= x_T and
    z_t that do not grow with t: the tests' epsilon at t is e_t = D / x_t + 2 D / z_t. X_t is
    X_(t+1), or that plus a new deviate of scale x_t (``threshold_noise``).

    Proof, for a table and its neighbour, D in whole grid steps. Fix the levels' values, which say
    what is asked, and the walk's end t. Shifting X_1..X_T by D multiplies their density by at most
    e^(D / x_t) as far as t tests depend on it: X_1..X_t is a function of X_t and of noise of its
    own, and P(X_t = k) = e^(D / x_t) P(X_t = k + D), k >= 0. The tests that failed fail the more.
    The test that passed needs Z_t larger by 2 D at most, and P(Z_t >= k) <= e^(2 D / z_t)
    P(Z_t >= k + 2 D) for any k.
    Noise on one side does, since it is always the table's own run that is shifted. So the end has a
    ratio of e^(e_t) at most for any values, and with the bound of the levels' values (``boundary``)
    the outcome (t, v_1..v_t) a loss of losses[t] + e_t, but with ``delta``: with
    h = min(1, e^(e_t) P'(end | v)), P(end, v) <= h P(v), and h is at most 1. The questions may be
    chosen from what was said. It holds under the relation of the sensitivities.

    The paper's noise is Laplace: twice the variance at the same cost, and no smaller scale.

    Parameters
    ----------
    base : the query whose noisy answers are walked through; its sensitivity in l2.
    losses : of the levels, as ``Brownian`` has them.
    delta : likewise.
    tests : e_1 <= ... <= e_T, one for each level.
    share : of a test's epsilon, for the threshold's noise; in (0, 1).
    thresholds : one for each level, in the questions' unit.
    question : the l1 or linf sensitivity of one question, a single number.
    reference : a derived query on the questions' grid, or ``None``.
    """

    base: Query | DerivedQuery
    losses: tuple[float, ...]
    delta: float
    tests: tuple[float, ...]
    share: float
    thresholds: tuple[float, ...]
    question: Sensitivity
    reference: DerivedQuery | None = None

    kind: ClassVar[str] = "reduced-above-threshold"

    def __post_init__(self) -> None:
        require_losses(self.losses, self.delta)
        if not len(self.losses) == len(self.tests) == len(self.thresholds):
            raise InvalidInputError("Expected a test and a threshold for each level.")
        if not all(math.isfinite(test) and test > 0 for test in self.tests):
            raise InvalidInputError("Expected tests that are finite and > 0.")
        if any(a > b for a, b in zip(self.tests, self.tests[1:], strict=False)):
            raise InvalidInputError("Expected tests that do not fall.")
        if not 0 < self.share < 1:
            raise InvalidInputError(f"Expected 0 < share={self.share!r} < 1.")
        if not all(math.isfinite(threshold) for threshold in self.thresholds):
            raise InvalidInputError("Expected thresholds that are finite.")

    @property
    def most_questions(self) -> int:
        return len(self.losses)

    def event(self, sensitivity: Sensitivity, reference: Sensitivity | None) -> ApproximateDpEvent:
        increments(self.losses, self.delta, sensitivity)
        return ApproximateDpEvent(float_up(self._costs(reference)[-1]), self.delta)

    def begin(
        self,
        exact: np.ndarray,
        sensitivity: Sensitivity,
        reference: tuple[np.ndarray, Sensitivity] | None,
        noise: NoiseSource,
    ) -> _Walk:
        known = None if reference is None else reference[1]
        scales = increments(self.losses, self.delta, sensitivity)
        path = BrownianPath(exact.reshape(-1), scales, sensitivity.grid_bits, noise)
        first, second = self._scales(known)
        held = 0 if reference is None else int(reference[0].item())
        # Python integers: a wrapped threshold would be another distribution.
        bits = self.question.grid_bits
        least = [math.ceil(Fraction(each) * 2**bits) - held for each in self.thresholds]
        raised = [a + b for a, b in zip(least, threshold_noise(first, noise), strict=True)]
        tests = [_one_sided(scale, noise) for scale in second]
        return _Walk(path, self._costs(known), raised, tests)

    def _moves(self, reference: Sensitivity | None) -> int:
        """Return D in grid steps, rounded up."""
        bound = Fraction(self.question.bound)
        if reference is not None:
            if reference.grid_bits != self.question.grid_bits:
                raise InvalidInputError("The reference is on another grid than the questions.")
            bound += Fraction(reference.bound)
        return math.ceil(bound * Fraction(2) ** self.question.grid_bits)

    def _scales(self, reference: Sensitivity | None) -> tuple[list[GridScale], list[GridScale]]:
        """Return x_t and z_t of all levels in grid steps, rounded up."""
        steps, share = self._moves(reference), Fraction(self.share)
        return (
            [_at_least(steps / (Fraction(test) * share)) for test in self.tests],
            [_at_least(2 * steps / (Fraction(test) * (1 - share))) for test in self.tests],
        )

    def _costs(self, reference: Sensitivity | None) -> tuple[Fraction, ...]:
        """Return the loss of an outcome that ends at each level, with its test."""
        steps = self._moves(reference)
        return tuple(
            Fraction(loss) + steps / x.steps + 2 * steps / z.steps
            for loss, x, z in zip(self.losses, *self._scales(reference), strict=True)
        )


class _Walk:
    """The state: an InteractiveState."""

    def __init__(
        self,
        path: BrownianPath,
        costs: tuple[Fraction, ...],
        thresholds: list[int],
        tests: list[int],
    ) -> None:
        self._path, self._costs = path, costs
        self._thresholds, self._tests = thresholds, tests
        self._asked = self._level = 0
        self._halted = False
        self.first = path.next()

    @property
    def halted(self) -> bool:
        return self._halted

    @property
    def epsilon(self) -> Fraction:
        return self._costs[self._level]

    def reply(self, exact: np.ndarray) -> Reply:
        if self._halted:
            raise InvalidInputError("The mechanism has halted.")
        asked = self._asked
        self._asked += 1
        # ``>=``, as in the proof; the two sides are whole numbers of steps.
        if self._tests[asked] - int(exact.item()) >= self._thresholds[asked]:
            self._halted = True
            return Reply(accepted=True)
        if self._asked == len(self._costs):
            self._halted = True
            return Reply(accepted=False)
        self._level += 1
        return Reply(accepted=False, value=self._path.next())


def threshold_noise(scales: list[GridScale], noise: NoiseSource) -> list[int]:
    """Return X_1..X_T, floored exponential deviates of the scales, which do not grow: any first t
    of them are a function of X_t and of noise of its own.

    A floored deviate of scale x is geometric, with the generating function (1 - q) / (1 - q s),
    q = e^(-1/x). Of scale X > x, with Q = e^(-1/X), it is one of scale x, and but for a chance of
    (1/Q - 1) / (1/q - 1) an independent one of scale X on top: multiply out.
    """
    found = [_one_sided(scales[-1], noise)]
    for noisier, finer in zip(scales[-2::-1], scales[:0:-1], strict=True):
        more = 0
        if noisier != finer and _uniform(noise).exceeds(_odds(noisier, finer)):
            more = _one_sided(noisier, noise)
        found.append(found[-1] + more)
    return found[::-1]


def _odds(noisier: GridScale, finer: GridScale) -> Callable[[int], tuple[int, int]]:
    def bounds(bits: int) -> tuple[int, int]:
        above, below = (1 / scale.steps for scale in (noisier, finer))
        low = (exp_down(above) - 1) / (exp_up(below) - 1)
        high = (exp_up(above) - 1) / (exp_down(below) - 1)
        return int(low * 2**bits), math.ceil(high * 2**bits)

    return bounds


def _uniform(noise: NoiseSource) -> Any:
    def word() -> int:
        return int(noise.words(1)[0])

    return NoiseSource.lazy_uniform(word(), _WORD, word)


def _one_sided(scale: GridScale, noise: NoiseSource) -> int:
    """Return floor(scale E), E exponential: the size of a Laplace deviate, floored."""
    drawn = int(noise.unwrapped_laplace(scale, 1)[0])
    return drawn if drawn >= 0 else -drawn - 1


def _at_least(steps: Fraction) -> GridScale:
    return GridScale.at_least(1.0, float_up(steps), 0)
