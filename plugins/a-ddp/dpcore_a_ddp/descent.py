"""The server's side of Algorithm 1: ask, average, step. All it sees is noisy or public."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import Solution
from dpcore_a_ddp.outlook import Outlook

if TYPE_CHECKING:
    from dpcore.plugin import Problem, UserPool
    from dpcore_a_ddp.options import UserSgdOptions
    from dpcore_a_ddp.round_rules import GradientRounds

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
    draws = np.array([rules.expected_draws(user.n_rows) for user in pool.users])
    planned = int(allowed.max())
    outlook = Outlook.of(problem, rules, draws[allowed > 0], planned)
    outlook.tell()
    step = options.step_size or default_step(problem, outlook, options.radius)
    w, index, asked, rejected = np.zeros(problem.n_features), 0, 0, 0
    latter, count = np.zeros(problem.n_features), 0
    while index < most_rounds and (pool.rounds_joined < allowed).any():
        answers = pool.round(index, w)
        index += 1
        rejected += len(answers.rejected)
        if answers.joined.size:
            # Normal noise is floored to the grid: half a step too low on average, each time.
            floored = rules.noise_multiplier > 0 and not rules.is_secure
            half = answers.joined.size / 2 if floored else 0.0
            total = np.ldexp(answers.total.astype(np.float64) + half, -rules.grid_bits)
            mean = total / draws[answers.joined].sum()
            w = w - step * (mean + problem.l2 * w)
            if asked >= planned // 2:
                latter, count = latter + w, count + 1
            asked += 1
        elif answers.declined.size == draws.size:
            break
    joined = pool.rounds_joined
    return Solution(
        latter / count if count and options.average else w,
        _status(asked, int(joined.max()) < int(allowed.max()) or planned == most_rounds, rules),
        {
            "rounds": asked,
            "rounds_joined": _spread(joined),
            "rounds_allowed": _spread(allowed),
            "users": len(pool.users),
            "noise_multiplier": rules.noise_multiplier,
            "sigma": rules.sigma,
            "clip": rules.clip,
            "sampling": rules.sampling,
            "step_size": step,
            "planned_for": list(pool.reference),
            "messages_rejected": rejected,
            **({"warning": outlook.warning} if outlook.warning else {}),
        },
    )


def default_step(problem: Problem, outlook: Outlook, radius: float) -> float:
    """Return 1 / smoothness, or less: the step at which the noise of all rounds moves the
    parameters by ``radius``, as SGD on a convex function has it (Shalev-Shwartz & Ben-David 2014,
    Theorem 14.8). Of public figures alone."""
    limit = radius / math.sqrt(outlook.rounds * (outlook.sampled + outlook.noise))
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
