"""The server's side of Algorithm 1: ask, average, step. All it sees is noisy or public."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import Solution
from dpcore_a_ddp.signal_forecast import SignalForecast

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore_a_ddp.options import UserSgdOptions
    from dpcore_a_ddp.pools.round_rules import GradientRounds
    from dpcore_a_ddp.users.messages import Answers
    from dpcore_a_ddp.users.user_pool import UserPool

__all__ = ["descend"]


def descend(
    problem: Problem,
    pool: UserPool,
    rules: GradientRounds,
    most_rounds: int,
    options: UserSgdOptions,
) -> Solution:
    """Return the parameters after all rounds that users may join: the mean over the latter half of
    the rounds, or the last ones.

    A round's direction is the sum of its replies over the number of records that they were expected
    to hold: a constant of who answered, never the number that was drawn.

    Raises BudgetExceededError if no user can join the first round: before anything is spent.
    """
    allowed = pool.begin(rules, most_rounds)
    draws = np.array(
        [rules.of_budget(user.epsilon).expected_draws(user.n_rows) for user in pool.users]
    )
    planned = int(allowed.max())
    signal = SignalForecast.of(problem, rules, draws[allowed > 0], planned)
    signal.tell()
    step = options.step_size or default_step(problem, signal, options.radius)
    course = _course(problem, pool, rules, most_rounds, allowed, draws, step)
    joined = pool.rounds_joined
    is_cut = int(joined.max()) < int(allowed.max()) or planned == most_rounds
    return Solution(
        course.mean if options.average else course.w,
        _status(course.rounds, is_cut, rules),
        {
            "rounds": course.rounds,
            "rounds_joined": _spread(joined),
            "rounds_allowed": _spread(allowed),
            "users": len(pool.users),
            **_of_rules(rules),
            "step_size": step,
            "planned_for": list(pool.reference),
            "messages_rejected": course.rejected,
            **({"warning": signal.warning} if signal.warning else {}),
        },
    )


@dataclass
class _Course:
    """The parameters as rounds move them, and the sum of those of the latter half of ``rounds``."""

    w: np.ndarray
    latter: np.ndarray
    in_latter: int = 0
    index: int = 0
    rounds: int = 0
    rejected: int = 0

    def move(self, step: np.ndarray, planned: int) -> None:
        self.w = self.w - step
        if self.rounds >= planned // 2:
            self.latter, self.in_latter = self.latter + self.w, self.in_latter + 1
        self.rounds += 1

    @property
    def mean(self) -> np.ndarray:
        """The mean over the latter half, or the parameters where there is none."""
        return self.latter / self.in_latter if self.in_latter else self.w


def _course(
    problem: Problem,
    pool: UserPool,
    rules: GradientRounds,
    most_rounds: int,
    allowed: np.ndarray,
    draws: np.ndarray,
    step: float,
) -> _Course:
    """Return the course of all rounds that users may join, as many each as ``allowed``; ``draws`` :
    the records that a round of each is expected to hold."""
    course = _Course(np.zeros(problem.n_features), np.zeros(problem.n_features))
    while course.index < most_rounds and (pool.rounds_joined < allowed).any():
        answers = pool.round(course.index, course.w)
        course.index += 1
        course.rejected += len(answers.rejected)
        if answers.joined.size:
            mean = _total(answers, rules) / draws[answers.joined].sum()
            course.move(step * (mean + problem.l2 * course.w), int(allowed.max()))
        elif answers.declined.size == draws.size:
            break
    return course


def _total(answers: Answers, rules: GradientRounds) -> np.ndarray:
    """Return the sum of a round's replies."""
    # Normal noise is floored to the grid: half a step too low on average, each time.
    floored = rules.noise_multiplier > 0 and not rules.is_secure
    half = answers.joined.size / 2 if floored else 0.0
    return np.ldexp(answers.total.astype(np.float64) + half, -rules.grid_bits)


def _of_rules(rules: GradientRounds) -> dict[str, Any]:
    groups = [{"epsilon_from": least, "share": share} for least, share in rules.groups]
    return {
        "noise_multiplier": rules.noise_multiplier,
        "sigma": rules.sigma,
        "clip": rules.clip,
        "sampling": rules.sampling,
        **({"rate": rules.rate} if groups and rules.rate is not None else {}),
        **({f"groups_by_{rules.shares_of}": groups} if groups else {}),
    }


def default_step(problem: Problem, signal: SignalForecast, radius: float) -> float:
    """Return a step of 1 / smoothness, or less. It is at most the step at which the noise of all
    rounds moves the parameters by ``radius`` (Shalev-Shwartz & Ben-David 2014, Theorem 14.8, for
    SGD on a convex function). Of public values alone."""
    limit = radius / math.sqrt(signal.rounds * (signal.sampled + signal.noise))
    curvature = problem.loss.smoothness * problem.row_norm**2 + problem.l2
    return min(limit, 1 / curvature) if math.isfinite(curvature) else limit


def _status(rounds: int, is_cut: bool, rules: GradientRounds) -> str:
    if rules.noise_multiplier == 0:
        return f"{rounds} rounds without noise: not private."
    if is_cut:
        return f"{rounds} rounds, as many as were asked for; some users could have joined more."
    return f"{rounds} rounds: no user can join another."


def _spread(counts: np.ndarray) -> dict[str, Any]:
    return {
        "least": int(counts.min()),
        "median": int(np.sort(counts)[(counts.size - 1) // 2]),
        "most": int(counts.max()),
    }
