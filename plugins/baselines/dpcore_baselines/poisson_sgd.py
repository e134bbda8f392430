"""Noisy sums of clipped gradients over Poisson samples: what sgd-ma and sgd-adv have in common.

A step releases ``sum over the sample of clip(gradient) + noise`` and divides it by the expected
number of rows, ``p n0``, a constant: never by the size of the sample, which is private. An empty
sample is released, and charged, like any other. The sampler makes the event, so the accountant
charges Poisson sampling for Poisson samples and nothing else.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcore.accountants.schedule import schedule_noise_multiplier
from dpcore.errors import InvalidInputError
from dpcore.events import GaussianDpEvent, PoissonSampledDpEvent
from dpcore.grid import round_parameters
from dpcore.mechanisms.gaussian import Gaussian
from dpcore.problem import Solution
from dpcore.queries import ClippedGradientSum, PoissonSample, RowCount
from dpcore_baselines import descent_defaults as defaults
from dpcore_baselines.averaged_descent import descend

if TYPE_CHECKING:
    from dpcore.events import DpEvent
    from dpcore.problem import Problem
    from dpcore.session import PrivacySession

__all__ = ["CLIP_RULE", "TIME_RULE", "check", "run", "schedule_of"]

_U = "u = n p sqrt(steps) / (noise_multiplier sqrt(n_features))"
CLIP_RULE = f"0.2 (u / 42)^0.3, from 0.05 to 2; {_U}"
TIME_RULE = "5000 (u / 42)^0.8, as far as the steps are stable"
_COUNT_NOISE = 10.0


class Options(Protocol):
    """The fields of an optimizer that runs here; see its own docstring."""

    @property
    def steps(self) -> int: ...
    @property
    def sampling_probability(self) -> float: ...
    @property
    def clip(self) -> float | None: ...
    @property
    def time(self) -> float | None: ...
    @property
    def momentum(self) -> float: ...
    @property
    def averaging(self) -> float: ...


def check(options: Any) -> None:
    """Raise InvalidInputError for a field that is out of range."""
    checks = {
        "steps": 1 <= options.steps <= 10**6,
        "sampling_probability": 2.0**-40 <= options.sampling_probability <= 1,
        "clip": options.clip is None or 2.0**-10 <= options.clip <= 2.0**6,
        "time": options.time is None or 2.0**-20 <= options.time <= 2.0**40,
        "momentum": 0 <= options.momentum < 1,
        "averaging": -1 <= options.averaging <= 100,
    }
    for name, holds in checks.items():
        if not holds:
            value = getattr(options, name)
            raise InvalidInputError(
                f"{name}={value!r} is out of range; see dpcore info {options.name}."
            )


def schedule_of(options: Options, problem: Problem, multiplier: float) -> dict[DpEvent, int]:
    """Return how many of each event a run makes, in its order, from public facts alone: where laws
    are convolved one after the other, another order is rounded up by another amount."""
    each = PoissonSampledDpEvent(
        options.sampling_probability, GaussianDpEvent(multiplier), problem.relation
    )
    events: dict[DpEvent, int] = {}
    if problem.n_public is None:
        events[GaussianDpEvent(_count_multiplier(options, multiplier))] = 1
    return events | {each: options.steps}


def run(options: Options, problem: Problem, session: PrivacySession) -> Solution:
    """Return the averaged iterate; InvalidInputError, with nothing charged, for a hopeless
    budget."""
    multiplier = schedule_noise_multiplier(
        session.accountant, lambda m: schedule_of(options, problem, m)
    )
    mechanism = Gaussian(multiplier)
    _refuse_hopeless(options, problem, mechanism)
    n = float(problem.n_public or _count(options, session, multiplier))
    root = math.sqrt(options.steps)
    signal = n * options.sampling_probability * root / multiplier / math.sqrt(problem.n_features)
    u = max(signal, 1e-6)
    clip = (options.clip or defaults.clip_for(u)) * problem.row_norm
    longest = options.steps * defaults.largest_step(problem.loss, options.momentum)
    time = options.time or min(longest, defaults.time_for(u, problem.loss, options.momentum))
    expected = n * options.sampling_probability

    def gradient(w: np.ndarray) -> np.ndarray:
        w = round_parameters(w, problem.raw_norm_bound)
        query = ClippedGradientSum(problem, w, clip, "l2", multiplier)
        sample: Any = PoissonSample(query, options.sampling_probability)
        total = session.release(sample, mechanism)
        return total / expected + problem.l2 * w

    w = descend(
        gradient,
        problem.n_features,
        steps=options.steps,
        step_size=time / options.steps / problem.row_norm**2,
        momentum=options.momentum,
        averaging=options.averaging,
    )
    details: dict[str, Any] = {
        "steps": options.steps,
        "expected_batch_size": expected,
        "noise_multiplier": multiplier,
        "clip": clip,
        "u": u,
    }
    return Solution(
        round_parameters(w, problem.raw_norm_bound), "All planned steps were taken.", details
    )


def _count_multiplier(options: Options, multiplier: float) -> float:
    """Return the noise of a count of the rows that costs about a hundredth of the steps."""
    reach = options.sampling_probability * math.sqrt(options.steps)
    return _COUNT_NOISE * multiplier / min(1.0, reach)


def _count(options: Options, session: PrivacySession, multiplier: float) -> float:
    mechanism = Gaussian(_count_multiplier(options, multiplier))
    return max(1.0, float(session.release(RowCount(), mechanism)[0]))


def _refuse_hopeless(options: Options, problem: Problem, mechanism: Gaussian) -> None:
    """Raise InvalidInputError if the noise does not fit the grid."""
    clip = (options.clip or 2.0) * problem.row_norm
    w = np.zeros(problem.n_features)
    query = ClippedGradientSum(problem, w, clip, "l2", mechanism.noise_multiplier)
    mechanism.event(query.sensitivity(problem.relation))
