"""Noisy sums of clipped gradients over Poisson samples: what sgd-ma and sgd-adv have in common.

A step releases ``sum over the sample of clip(gradient) + noise`` and divides it by the expected
number of rows, ``p n0``, a constant: never by the size of the sample, which is private. An empty
sample is released, and charged, like any other. The sampler makes the event, so the accountant
charges Poisson sampling for Poisson samples and nothing else. It has rules for samples of the
events that it names: noise of another kind in the slot is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import (
    ClippedGradientSum,
    FixedSchedule,
    InvalidInputError,
    RowCount,
    Slot,
    Solution,
    check_ranges,
    mechanism_in,
    option,
    round_parameters,
)
from dpcore.plugin.parts import PoissonSampledDpEvent
from dpcore_accounting.samples import PoissonSample
from dpcore_baselines.descent import defaults
from dpcore_baselines.descent.averaged import AveragedDescent, load_step
from dpcore_baselines.descent.row_count import expected_rows

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem
    from dpcore.plugin.parts import DpEvent

__all__ = ["PoissonSgd"]

_U = "u = n p sqrt(steps) / (noise_multiplier sqrt(n_features))"
_COUNT_NOISE = 10.0


@dataclass(frozen=True, kw_only=True)
class PoissonSgd:
    """Base of ``sgd-ma`` and ``sgd-adv``, which say under which theorem the releases add up."""

    steps: int = option(400, "samples drawn", "steps", range=(1, 10**6))
    sampling_probability: float = option(
        0.05, "of a row to be in a sample", "1", range=(2.0**-40, 1)
    )
    clip: float | None = option(
        None,
        "bound of a row's gradient over the row norm",
        "1",
        f"0.2 (u / 42)^0.3, from 0.05 to 2; {_U}",
        range=(2.0**-10, 2.0**6),
    )
    time: float | None = option(
        None,
        "sum of the step sizes, times the row norm squared",
        "1",
        "5000 (u / 42)^0.8, as far as the steps are stable",
        range=(2.0**-20, 2.0**40),
    )
    root_samples: bool = option(
        False,
        "samples of sqrt(n) rows in the mean, n public, in place of sampling_probability",
    )
    gradient_clip: float | None = option(
        None,
        "bound of a row's gradient as it is, in place of clip",
        "norm of a gradient",
        "clip decides",
        range=(2.0**-20, 2.0**20),
    )
    step_size: float | None = option(
        None,
        "of every step, in place of time",
        "norm of w over norm of a gradient",
        "time decides",
        range=(2.0**-40, 2.0**40),
    )
    momentum: float = option(
        0.85, "weight of the earlier directions in the next one", "1", range=(0, 1, "[)")
    )
    averaging: float = option(
        3.0,
        "iterate t weighs about t^averaging in the result; negative: the last iterate",
        "1",
        range=(-1, 100),
    )
    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str]
    slots: ClassVar[dict[str, Slot]] = {"noise": Slot(("gaussian",), takes=("l2",), sampled=True)}
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one",)
    other_relations: ClassVar[str] = (
        "Its theorem is of Poisson samples of tables where a row is added or removed. Replacing a "
        "row is two such moves, so (epsilon, delta) there is (2 epsilon, (1 + e^epsilon) delta) "
        "under replace-one; --algo dp-gd or dp-agd (algo=) have a bound of their own."
    )
    needs: ClassVar[tuple[str, ...]] = ("fixed-schedule",)
    for_units: ClassVar[bool] = True
    multiclass: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_ranges(self)

    def schedule(self, problem: Problem, noise_multiplier: float) -> Mapping[DpEvent, int]:
        """Return how many of each event a run makes with that noise, in its order, from public
        facts alone. Where distributions are convolved one after the other, another order is rounded
        up by another amount."""
        event_of, p = mechanism_in(self, "noise").nominal_event, self._rate(problem)
        each = PoissonSampledDpEvent(p, event_of(noise_multiplier), problem.relation)
        events: dict[DpEvent, int] = {}
        if problem.n_public is None:
            events[event_of(self._count_multiplier(noise_multiplier))] = 1
        return events | {each: self.steps}

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        """Return the averaged iterate; InvalidInputError, with nothing charged, for a hopeless
        budget."""
        multiplier = FixedSchedule.noise_multiplier(
            session.accountant, lambda m: self.schedule(problem, m)
        )
        mechanism = mechanism_in(self, "noise")(multiplier)
        self._refuse_hopeless(problem, mechanism)
        session.dry_run(self._sample(problem, np.zeros(problem.w_shape), problem.row_norm, 1.0))
        load_step()
        n, p = problem.n_public or self._count(problem, session, multiplier), self._rate(problem)
        expected = n * p
        reach = expected * math.sqrt(self.steps) / multiplier
        u = reach / math.sqrt(defaults.coordinates(problem))
        u = max(defaults.weighed(u, problem.loss), 1e-6)
        clip = self._clip(problem, self.clip or defaults.clip_for(u, problem.loss))
        step_size = self.step_size or self._time(problem, u) / self.steps / problem.row_norm**2
        shape, momentum = problem.w_shape, self.momentum
        descent = AveragedDescent(shape, momentum=momentum, averaging=self.averaging)
        for _ in range(self.steps):
            w = round_parameters(descent.v, problem.raw_norm_bound)
            total = session.release(self._sample(problem, w, clip, multiplier), mechanism)
            descent.move(total / expected + problem.l2 * w, step_size)
        details: dict[str, Any] = {
            "steps": self.steps,
            "expected_batch_size": expected,
            "noise_multiplier": multiplier,
            "clip": clip,
            "u": u,
        }
        return Solution(
            round_parameters(descent.average, problem.raw_norm_bound),
            "All planned steps were taken.",
            details,
        )

    def _sample(self, problem: Problem, w: np.ndarray, clip: float, multiplier: float) -> Any:
        query = ClippedGradientSum(problem, w, clip, "l2", multiplier)
        return PoissonSample(query, self._rate(problem))

    def _rate(self, problem: Problem) -> float:
        """Return the probability, public, of a row to be in a sample.

        Raises InvalidInputError for samples of sqrt(n) rows where no public number is known: a rate
        of the private number would tell how many rows there are.
        """
        if not self.root_samples:
            return self.sampling_probability
        if problem.n_public is None:
            raise InvalidInputError(
                "root_samples needs a public number of rows: give the schema rows = ..., or set "
                "root_samples=false and a sampling_probability."
            )
        return 1 / math.sqrt(problem.n_public)

    def _clip(self, problem: Problem, over_row_norm: float) -> float:
        """Return the bound of a row's gradient."""
        return self.gradient_clip or over_row_norm * problem.row_norm

    def _time(self, problem: Problem, u: float) -> float:
        """Return the sum of the step sizes, times the row norm squared."""
        longest = self.steps * defaults.largest_step(problem.loss, self.momentum)
        rule = defaults.time_for(u, problem.loss, self.momentum, standardized=False)
        return self.time or min(longest, rule)

    def _count_multiplier(self, multiplier: float) -> float:
        """Return the noise of a count of the rows that costs about a hundredth of the steps."""
        reach = self.sampling_probability * math.sqrt(self.steps)
        return _COUNT_NOISE * multiplier / min(1.0, reach)

    def _count(self, problem: Problem, session: PrivacySession, multiplier: float) -> float:
        mechanism = mechanism_in(self, "noise")(self._count_multiplier(multiplier))
        noisy = float(session.release(RowCount(mechanism.needs), mechanism)[0])
        return expected_rows(noisy, mechanism.noise_multiplier * problem.rows_changed)

    def _refuse_hopeless(self, problem: Problem, mechanism: Any) -> None:
        """Raise InvalidInputError if the noise does not fit the grid."""
        clip = self._clip(problem, self.clip or defaults.most_clip(problem.loss))
        w = np.zeros(problem.w_shape)
        query = ClippedGradientSum(problem, w, clip, "l2", mechanism.noise_multiplier)
        widest = type(mechanism)(mechanism.noise_multiplier * (problem.rows_per_unit or 1))
        widest.event(query.sensitivity(problem.relation))
