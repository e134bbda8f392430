"""Fields, ranges and declarations that the optimizers of this plugin share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.errors import UnsupportedEventError
from dpcore.plugin import InvalidInputError, Slot, check_ranges, option
from dpcore.plugin.parts import Registry, smallest_multiplier
from dpcore_a_ddp.pools.round_rules import GradientRounds
from dpcore_a_ddp.pools.sum_rules import delta_of_rounds, rounds_before_failure
from dpcore_a_ddp.pools.user_budgets import MOST_ROUNDS, fixed_to, rounds_within

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore.plugin.parts import DpEvent
    from dpcore_a_ddp.users.user_pool import UserPool

__all__ = ["MOST_ROUNDS", "PAPER", "SOURCES", "UserSgdOptions", "least_noise"]

PAPER: dict[str, Any] = {"rounds": 10, "clip": 3.0, "rows_per_user": 100, "average": False}
"""Parameters of Cheng et al. 2020."""
SOURCES: dict[str, str] = {
    "rounds": 'Cheng et al. 2020, "Experiment", "Logistic Regression": T = 10',
    "clip": 'Cheng et al. 2020, "Experiment", "Logistic Regression"',
    "rows_per_user": 'Cheng et al. 2020, "Experiment", "Logistic Regression": 100 samples',
    "average": "Cheng et al. 2020, Algorithm 1, line 19: the last iterate",
}
"""Where each of them is found."""

_USUAL_CLIP = 3.0
_MOST_NOISE = 2.0**40


@dataclass(frozen=True, kw_only=True)
class UserSgdOptions:
    """Options of every SGD over users. All of them are public."""

    rounds: int = option(
        10, "number of rounds T that the noise is planned for", "rounds", range=(1, 10**6)
    )
    clip: float | None = option(
        None,
        "bound of the norm of a record's gradient, C",
        "norm of a gradient",
        "3, or the largest norm that a gradient can have, if that is less",
        range=(2.0**-20, 2.0**20),
    )
    step_size: float | None = option(
        None,
        "step of the server, alpha",
        "norm of w over norm of a gradient",
        "the least of 1 / smoothness and radius / (gradient noise sqrt(rounds))",
        range=(2.0**-60, 2.0**60),
    )
    radius: float = option(
        3.0, "how far the parameters are expected to go", "norm of w", range=(2.0**-20, 2.0**20)
    )
    threshold: float = option(
        2 / 3,
        "secure aggregation: no sum of fewer users is opened",
        "share of the users",
        range=(2.0**-20, 1.0),
    )
    colluding: float = option(
        0.1,
        "secure aggregation: users who may give away their shares",
        "share of the users",
        range=(0.0, 1.0),
    )
    neighbours: int | None = option(
        None,
        "secure aggregation: users whom each draws to hold shares of its keys",
        "users",
        "all others",
        range=(1, 2**11),
    )
    rows_per_user: int = option(
        100, "rows of each user, where --users does not say", "rows", range=(1, 2**40)
    )
    average: bool = option(
        True, "return the mean of the latter half of the iterates, not the last of them"
    )
    use: Mapping[str, str] = field(default_factory=dict)

    presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": PAPER}
    preset_sources: ClassVar[dict[str, dict[str, str]]] = {"paper": SOURCES}
    slots: ClassVar[dict[str, Slot]] = {}
    relations: ClassVar[tuple[str, ...]] = ("replace-one", "replace-special")
    other_relations: ClassVar[str] = (
        "Its proof takes each user's number of rows for public, and add-or-remove-one keeps it "
        "private: --algo dp-gd or dp-agd (algo=) are for that."
    )
    trust_models: ClassVar[tuple[str, ...]] = ("local", "secure-aggregation")
    filter_of_shares: ClassVar[str] = "skellam-composition"
    filter_of_samples: ClassVar[str] = "rdp"
    needs: ClassVar[tuple[str, ...]] = ("fixed-schedule",)
    answered_by: ClassVar[str] = "dpcore_a_ddp.users.user_fits:Users"

    def __post_init__(self) -> None:
        check_ranges(self)

    def clip_for(self, problem: Problem) -> float:
        """Return the clip: a longer one than any gradient is would only add noise."""
        if self.clip is not None:
            return self.clip
        longest = problem.loss.lipschitz * problem.row_norm
        return min(_USUAL_CLIP, longest) if math.isfinite(longest) else _USUAL_CLIP

    def rules_for(
        self, problem: Problem, pool: UserPool, noise_multiplier: float
    ) -> GradientRounds:
        """Return rules of one row a user and round, which a subclass may change."""
        secure = pool.trust == "secure-aggregation"
        users = len(pool.users)
        drawn = (self.neighbours or 0) if secure else 0
        threshold = math.ceil(self.threshold * users) if secure else 0
        return GradientRounds(
            loss=problem.loss.name,
            n_features=problem.n_features,
            row_norm=problem.row_norm,
            raw_norm_bound=problem.raw_norm_bound,
            relation=problem.relation.value,
            clip=self.clip_for(problem),
            noise_multiplier=noise_multiplier,
            trust=pool.trust,
            threshold=threshold,
            colluding=math.floor(self.colluding * users) if secure else 0,
            listed=users if drawn else 0,
            neighbours=drawn,
        )


def least_noise(
    rules: GradientRounds, pool: UserPool, rounds: int, budget: tuple[float, float] | None = None
) -> float:
    """Return the least noise multiplier, to 1e-4, with which the filter of the planned budget holds
    so many charges of the median user.

    ``budget`` : epsilon and delta, ``None`` for the pool's.
    """
    sizes = sorted(user.n_rows for user in pool.users)
    size = sizes[(len(sizes) - 1) // 2]

    def schedule(multiplier: float) -> dict[DpEvent, int]:
        return {replace(rules, noise_multiplier=multiplier).event(size): rounds}

    pool.plan_filters(schedule)
    epsilon, delta = budget or pool.reference
    empty = fixed_to(pool.filter_of(epsilon, delta_of_rounds(rules, delta)), schedule)
    if rounds_before_failure(rules, delta, rounds) < rounds:
        raise InvalidInputError(
            f"The neighbours that users draw may be unfit in one of {rounds} rounds with more than "
            "a 128th of delta. Raise delta, or take fewer rounds or all others for neighbours."
        )
    if rounds > 1 and not Registry.facts_of("accountant", empty).holds_several:
        raise UnsupportedEventError(
            f"The {empty.name} accountant holds one release, and these are {rounds}; name one of "
            "several, such as --accountant pld (accountant='pld')."
        )

    def holds(multiplier: float) -> bool:
        if multiplier > _MOST_NOISE:
            return True  # Whether it fits at all, the users' filters say.
        event = replace(rules, noise_multiplier=multiplier).event(size)
        return rounds_within(empty, event, rounds) == rounds

    multiplier = smallest_multiplier(holds, precision=1e-4)
    if multiplier > _MOST_NOISE:
        raise InvalidInputError("The budget is too small for these rounds. Raise epsilon or delta.")
    return multiplier
