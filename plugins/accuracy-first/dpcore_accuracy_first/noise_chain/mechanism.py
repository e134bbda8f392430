"""Noise reduction with an interactive above-threshold test, as one mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import ExPostDpEvent, GridScale, cached_by_value, float_up, sealed
from dpcore_accuracy_first.noise_chain.chain import NoiseChain
from dpcore_accuracy_first.noise_chain.coupling import Coupling

if TYPE_CHECKING:
    from dpcore.plugin.parts import DerivedQuery, NoiseSource, Query, Sensitivity

__all__ = ["NoiseReduction", "Reply"]


@dataclass(frozen=True)
class Reply:
    """The reply of a test.

    Parameters
    ----------
    accepted : whether the mechanism has halted with a success.
    value : float64, the next, less noisy answer; ``None`` if it has halted.
    changed : whether that differs from the one before.
    """

    accepted: bool
    value: np.ndarray | None = None
    changed: bool = True


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class NoiseReduction:
    """Releases an answer with less and less noise until a noisy test passes (Algorithms 1 and 2 of
    Ligett, Neel, Roth, Waggoner & Wu 2017).

    Level t adds two-sided geometric noise of scale Delta / epsilon_t to ``base``, Delta its l1
    sensitivity; levels are correlated, so that the first t of them are epsilon_t-DP together
    (Koufogiannis, Han & Pappas 2017; in whole numbers:
    ``dpcore_accuracy_first.noise_chain.chain``). After each level one question is asked, whose
    answer q (smaller is better) is subtracted from ``reference``, or from 0; the walk ends at the
    first t with

        reference - q_t + Lap(4 D / epsilon_0) >= threshold + Lap(2 D / epsilon_0),

    D the sensitivity of a question plus that of the reference, threshold noise drawn once, noise of
    a test for each test, both floored exact Laplace deviates. Shifting the threshold by D and the
    test that passed by 2 D, whole numbers of grid steps, turns a run on one table into one on its
    neighbour: factors e^(epsilon_0/2) each. Together with the levels that were looked at, the
    outcome (t, v_1..v_t) costs epsilon_0 + epsilon_t as one mechanism (Lemma 2.8), whatever
    the questions were made of; silence through the last level costs epsilon_0 + epsilon_T, the cap.
    It holds under the relation of the sensitivities.

    Parameters
    ----------
    base : the query whose noisy answers are walked through.
    levels : epsilon_1 < ... < epsilon_T, the noisiest first.
    test_epsilon : epsilon_0.
    threshold : of the test, in the questions' unit.
    question : the l1 or linf sensitivity of one question, a single number.
    reference : a derived query on the questions' grid, or ``None``.
    """

    base: Query | DerivedQuery
    levels: tuple[float, ...]
    test_epsilon: float
    threshold: float
    question: Sensitivity
    reference: DerivedQuery | None = None

    kind: ClassVar[str] = "noise-reduction"

    def __post_init__(self) -> None:
        values = (*self.levels, self.test_epsilon)
        if not self.levels or not all(math.isfinite(f) and f > 0 for f in values):
            raise InvalidInputError("Expected levels and test_epsilon to be finite and > 0.")
        if any(a >= b for a, b in zip(self.levels, self.levels[1:], strict=False)):
            raise InvalidInputError("Expected levels that increase.")
        if not math.isfinite(self.threshold):
            raise InvalidInputError(f"Expected threshold={self.threshold!r} to be finite.")

    @property
    def most_questions(self) -> int:
        return len(self.levels)

    def event(self, sensitivity: Sensitivity, reference: Sensitivity | None) -> ExPostDpEvent:
        _coupling(
            self._scales(sensitivity)
        )  # refused here, before anything is charged, if they do not fit
        last = _losses(self.levels, sensitivity)[-1]
        return ExPostDpEvent(float_up(self._test(reference).epsilon + last))

    def begin(
        self,
        exact: np.ndarray,
        sensitivity: Sensitivity,
        reference: tuple[np.ndarray, Sensitivity] | None,
        noise: NoiseSource,
    ) -> _Walk:
        scales = self._scales(sensitivity)
        test = self._test(None if reference is None else reference[1])
        chain = NoiseChain(exact.reshape(-1), _coupling(scales), scales, noise)
        # Beyond 64 bits a wrapped threshold would be another distribution: these are Python
        # integers.
        threshold = math.ceil(Fraction(self.threshold) * 2**self.question.grid_bits)
        threshold += int(noise.unwrapped_laplace(test.threshold, 1)[0])
        if reference is not None:
            threshold -= int(reference[0].item())
        tests = noise.unwrapped_laplace(test.question, len(scales))
        losses = _losses(self.levels, sensitivity)
        return _Walk(chain, (test.epsilon, losses), threshold, list(tests), sensitivity.grid_bits)

    def _scales(self, sensitivity: Sensitivity) -> tuple[GridScale, ...]:
        """Return the noise scale of every level, rounded up."""
        if sensitivity.norm != "l1":
            raise InvalidInputError(
                f"Noise reduction needs an l1 sensitivity, and this one is in {sensitivity.norm}."
            )
        return _scales(self.levels, sensitivity)

    def _test(self, reference: Sensitivity | None) -> _Test:
        """Return the scales of the test's noise, rounded up, and its cost, at most epsilon_0."""
        bits = self.question.grid_bits
        bound = Fraction(self.question.bound)
        if reference is not None:
            if reference.grid_bits != bits:
                raise InvalidInputError("The reference is on another grid than the questions.")
            bound += Fraction(reference.bound)
        steps = Fraction(math.ceil(bound * 2**bits))
        multiplier = 2 / Fraction(self.test_epsilon)
        threshold, question = (_at_least(k * multiplier * steps) for k in (1, 2))
        return _Test(threshold, question, steps / threshold.steps + 2 * steps / question.steps)


@dataclass(frozen=True, slots=True)
class _Test:
    threshold: GridScale
    question: GridScale
    epsilon: Fraction


class _Walk:
    """The state: an InteractiveState."""

    def __init__(
        self,
        chain: NoiseChain,
        losses: tuple[Fraction, tuple[Fraction, ...]],
        threshold: int,
        tests: list[int],
        grid_bits: int,
    ) -> None:
        self._chain, self._grid_bits = chain, grid_bits
        self._test_epsilon, self._losses = losses
        self._threshold, self._tests = threshold, tests
        self._asked = self._level = 0
        self._halted = False

    @property
    def first(self) -> np.ndarray:
        return self._value()

    @property
    def halted(self) -> bool:
        return self._halted

    @property
    def epsilon(self) -> Fraction:
        return self._test_epsilon + self._losses[self._level]

    def reply(self, exact: np.ndarray) -> Reply:
        if self._halted:
            raise InvalidInputError("The mechanism has halted.")
        noise = self._tests[self._asked]
        self._asked += 1
        # ``>=``, as in the proof; the two sides are whole numbers of steps.
        if noise - int(exact.item()) >= self._threshold:
            self._halted = True
            return Reply(accepted=True)
        if self._asked == len(self._losses):
            self._halted = True
            return Reply(accepted=False)
        self._level += 1
        changed = self._chain.advance()
        return Reply(accepted=False, value=self._value(), changed=changed.size > 0)

    def _value(self) -> np.ndarray:
        value: np.ndarray = np.ldexp(self._chain.value.astype(np.float64), -self._grid_bits)
        return value


@cached_by_value(maxsize=8)
def _scales(levels: tuple[float, ...], sensitivity: Sensitivity) -> tuple[GridScale, ...]:
    steps = Fraction(sensitivity.bound) * Fraction(2) ** sensitivity.grid_bits
    return tuple(_at_least(steps / Fraction(epsilon)) for epsilon in levels)


@cached_by_value(maxsize=8)
def _losses(levels: tuple[float, ...], sensitivity: Sensitivity) -> tuple[Fraction, ...]:
    """Return epsilon of two-sided geometric noise at each level: the l1 sensitivity over the scale
    that is really drawn."""
    steps = Fraction(sensitivity.bound) * Fraction(2) ** sensitivity.grid_bits
    return tuple(steps / scale.steps for scale in _scales(levels, sensitivity))


def _at_least(steps: Fraction) -> GridScale:
    """Return the smallest scale that is at least so many grid steps."""
    return GridScale.at_least(1.0, float_up(steps), 0)


@cached_by_value(maxsize=8)
def _coupling(scales: tuple[GridScale, ...]) -> Coupling:
    return Coupling(scales)
