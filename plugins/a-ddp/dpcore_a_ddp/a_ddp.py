"""A-DDP (Cheng, Liu, Wang & Lu 2020, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from dpcore.plugin import InvalidInputError, option
from dpcore_a_ddp.descent import descend
from dpcore_a_ddp.individual import individual_rules
from dpcore_a_ddp.noise import advanced_split, analytic_gaussian
from dpcore_a_ddp.options import MOST_ROUNDS, PAPER, SOURCES, UserSgdOptions, least_noise

if TYPE_CHECKING:
    from dpcore.plugin import Problem, Solution
    from dpcore_a_ddp.pools.round_rules import GradientRounds
    from dpcore_a_ddp.users.user_pool import UserPool

__all__ = ["ADdp"]

_PUBLISHED_CLIP = PAPER["clip"]


@dataclass(frozen=True, kw_only=True)
class ADdp(UserSgdOptions):
    """Fits a linear model to the rows of users who each keep theirs, and leave when they must.

    Each round every user who has a round left within the user's own budget joins: samples, clips
    each record's gradient, adds Gaussian noise and sends; the server averages and steps. The noise
    is the least with which the filter of the public budget ``--epsilon``, ``--delta`` (the users'
    medians where only ``--users`` is given) holds ``rounds`` rounds of the median user. Users of
    larger budgets join more rounds, users of smaller ones fewer, each a number that is known before
    the first; the run ends when nobody can join another (``most_rounds`` ends it before). With
    ``unequal=clip`` or ``rate`` all join ``rounds`` rounds: noise is for the largest budget, and
    the others clip at less or draw fewer rows (Boenisch et al. 2023).

    The paper plans the noise by advanced composition and the analytic Gaussian (``noise=planned``,
    as in ``--preset paper``), with which users join many more rounds than were planned for.

    Privacy, of one row of a user, under replace-one (sensitivity 2 C) or replace-special (C): each
    user's filter at the user's own budget. Joining, and so the budget, is public.
    """

    rounds: int = option(
        1000, "number of rounds T for which the noise is chosen", "rounds", range=(1, 10**6)
    )
    rate: float | None = option(
        None,
        "take each row with this probability, instead of one row a user",
        "probability",
        range=(2.0**-60, 1.0),
    )
    noise: Literal["planned", "filter"] = option(
        "filter",
        "filter: the least with which the filter of the planned budget holds T rounds of the "
        "median user; planned: as the paper plans it for T rounds",
    )
    unequal: Literal["rounds", "clip", "rate"] = option(
        "rounds",
        "what a user of a smaller budget does less of. rounds: joins fewer; clip: clips each "
        "record's gradient at less; rate: draws rows less often (with rate=, the mean of all)",
    )
    most_rounds: int | None = option(
        None,
        "stop after so many rounds, whatever the budgets allow",
        "rounds",
        "none: as long as any user can join",
        range=(1, MOST_ROUNDS),
    )
    as_published: bool = False

    # The paper states no step size.
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {
            **PAPER,
            "noise": "planned",
            "rate": None,
            "most_rounds": None,
            "accountant": "sampling-composition",
        },
        # Not of the paper: Poisson samples of one row of a hundred, for replace-special.
        "amplified": {"noise": "filter", "rounds": 1000, "rate": 0.01},
    }
    preset_sources: ClassVar[dict[str, dict[str, str]]] = {
        "paper": {
            **SOURCES,
            "noise": "Cheng et al. 2020, Algorithm 1, lines 5 and 14",
            "rate": "Cheng et al. 2020, Algorithm 1, line 11: one sample a round",
            "most_rounds": "Cheng et al. 2020, Algorithm 1, line 2: no cap",
            "accountant": "Cheng et al. 2020, Theorem 1",
        }
    }
    published_options: ClassVar[tuple[str, ...]] = ("most_rounds",)
    name: ClassVar[str] = "a-ddp"
    accountant: ClassVar[str] = "pld"
    published_accountant: ClassVar[str] = "sampling-composition"
    theorem: ClassVar[str] = (
        "Zhu, Dong & Wang 2022, Theorem 10, of Gaussian releases of samples, with sensitivity 2 C "
        "under replace-one; of secure sums Agarwal, Kairouz & Liu 2021, Theorem 3.5, of Skellam "
        "releases, composed by Theorem 1 of the paper (under rdp: of Poisson samples, Zhu & Wang "
        "2019); with --preset paper Cheng, Liu, Wang & Lu 2020, Theorem 1"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "noise and rounds by the losses of sampled releases, which are amplified in epsilon; the "
        "paper's by advanced composition and Theorem 1 (--preset paper)",
        "sensitivity 2 C under replace-one; the paper's C holds under replace-special only",
        "delta is evaluated for one round more before a user joins, not after",
        "noise is the same in every round: composition holds for a schedule fixed beforehand",
        "a divisor of public values, and the mean of the latter half of the iterates (the last of "
        "them with --preset paper)",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.as_published and self.rate is not None:
            raise InvalidInputError("As published, each user takes one row a round.")
        if self.unequal != "rounds" and (self.as_published or self.noise == "planned"):
            raise InvalidInputError(
                "Expected unequal=rounds with noise=planned: in the paper, a user of a smaller "
                "budget joins fewer rounds."
            )
        if self.unequal == "rate" and self.rate is None:
            raise InvalidInputError(
                "Expected a rate with unequal=rate: without one each user takes one row a round."
            )

    def minimize(self, problem: Problem, pool: UserPool) -> Solution:
        rules = self.rules_for(problem, pool, 0.0)
        if self.rate is not None:
            rules = replace(rules, sampling="poisson", rate=self.rate)
        if self.as_published:
            rules = replace(rules, clip=_PUBLISHED_CLIP, as_published=True)
        planned = self.rounds if self.noise == "filter" and not self.as_published else 0
        rules = replace(rules, planned=planned)
        if self.unequal == "rounds":
            rules = replace(rules, noise_multiplier=self._multiplier(rules, pool))
        else:
            rules = individual_rules(replace(rules, shares_of=self.unequal), pool, self.rounds)
        options = replace(self, average=False) if self.as_published else self
        return descend(problem, pool, rules, self.most_rounds or MOST_ROUNDS, options)

    def _multiplier(self, rules: GradientRounds, pool: UserPool) -> float:
        if self.as_published:
            return analytic_gaussian(*advanced_split(*pool.reference, PAPER["rounds"]))
        if self.noise == "planned":
            return analytic_gaussian(*advanced_split(*pool.reference, self.rounds))
        return least_noise(rules, pool, self.rounds)
