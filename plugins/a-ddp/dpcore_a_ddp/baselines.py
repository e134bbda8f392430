"""The baselines of the paper: the same rounds, accounted otherwise, and one without noise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore_a_ddp.descent import descend
from dpcore_a_ddp.noise import analytic_gaussian, basic_split
from dpcore_a_ddp.options import PAPER, SOURCES, UserSgdOptions, least_noise

if TYPE_CHECKING:
    from dpcore.plugin import Problem, Solution
    from dpcore_a_ddp.pools.round_rules import GradientRounds
    from dpcore_a_ddp.users.user_pool import UserPool

__all__ = ["SgdAdvLocal", "SgdMaj", "SgdPass", "SgdUsers"]


@dataclass(frozen=True, kw_only=True)
class _Baseline(UserSgdOptions, ABC):
    """Rounds of a number fixed beforehand; a subclass says what noise and sample they have."""

    def minimize(self, problem: Problem, pool: UserPool) -> Solution:
        rules = self.with_noise(self.rules_for(problem, pool, 0.0), pool)
        return descend(problem, pool, rules, self.asked(pool), self)

    def asked(self, pool: UserPool) -> int:
        """Return how many rounds the server asks for."""
        return self.rounds

    @abstractmethod
    def with_noise(self, rules: GradientRounds, pool: UserPool) -> GradientRounds:
        """Return the rules with noise, and how a round is sampled and charged."""


@dataclass(frozen=True, kw_only=True)
class SgdMaj(_Baseline):
    """Fits a linear model by ``rounds`` rounds of one row a user, each at a T-th of the budget.

    The paper's "noise is injected violently": basic composition, and no gain from sampling. The
    noise is that of the analytic Gaussian at (epsilon / T, delta / T). The filter is gdp, under
    which T such releases cost less than the budget: the guarantee is the budget all the same.
    """

    name: ClassVar[str] = "sgd-maj"
    accountant: ClassVar[str] = "gdp"
    theorem: ClassVar[str] = (
        "Dwork & Roth 2014, Theorem 3.16 (basic composition); a round's noise: Balle & Wang 2018, "
        "Theorem 8; of secure sums, those of a-ddp"
    )

    def with_noise(self, rules: GradientRounds, pool: UserPool) -> GradientRounds:
        share = basic_split(*pool.reference, self.rounds)
        return replace(rules, noise_multiplier=analytic_gaussian(*share), amplified=False)


@dataclass(frozen=True, kw_only=True)
class SgdPass(_Baseline):
    """Fits a linear model row after row: each user's rows in their order, T times over.

    A row is in T of the T n rounds, which are known beforehand, and other rows' rounds do not
    depend on it but by what was released: so T releases compose, exactly as Gaussians do (gdp), and
    nothing is gained from sampling. Unsound would be to charge it as sampled.
    """

    name: ClassVar[str] = "sgd-pass"
    accountant: ClassVar[str] = "gdp"
    theorem: ClassVar[str] = (
        "parallel composition over rows in a fixed public order; T Gaussian releases of one row: "
        "Dong, Roth & Su 2022, Corollary 3.3; of secure sums, those of a-ddp"
    )

    def asked(self, pool: UserPool) -> int:
        return self.rounds * max(user.n_rows for user in pool.users)

    def with_noise(self, rules: GradientRounds, pool: UserPool) -> GradientRounds:
        rows = replace(rules, sampling="pass")
        return replace(rows, noise_multiplier=least_noise(rows, pool, self.rounds))


@dataclass(frozen=True, kw_only=True)
class SgdAdvLocal(_Baseline):
    """Fits a linear model by ``rounds`` rounds of one row a user, at advanced composition of
    releases amplified by sampling.

    A round that is (e, d)-DP for the row in the sample is (ln(1 + p (e^e - 1)), p d)-DP for a row
    that is in it with probability p (Balle, Barthe & Gaboardi 2018, Theorem 9); the paper's
    (e p, d p) is less than that. The noise is the least with which T rounds stay in the budget.

    Two theorems compose the rounds. ``--conversion kairouz-oh-viswanath``, the usual one, takes
    the third form of Kairouz, Oh & Viswanath 2017, Theorem 3.5, or the sum of the epsilons where
    that is less, as it is at ten rounds. ``--conversion dwork-roth``, the preset's, is Dwork & Roth
    2014, Theorem 3.20, which the paper means by advanced composition: 1.2 to 1.4 times the noise at
    ten rounds.
    """

    name: ClassVar[str] = "sgd-adv-local"
    accountant: ClassVar[str] = "advanced-composition"
    filter_of_shares: ClassVar[str] = "skellam-advanced"
    relations: ClassVar[tuple[str, ...]] = ("replace-one",)
    other_relations: ClassVar[str] = (
        "The theorem of amplification is of a draw from a public number of rows. Under "
        "replace-special a row drawn in another's place would move the sum by more than the noise "
        "covers: --algo a-ddp (algo=) is for it, dp-gd for add-or-remove-one."
    )
    theorem: ClassVar[str] = (
        "Kairouz, Oh & Viswanath 2017, Theorem 3.5 (with --conversion dwork-roth: Dwork & Roth "
        "2014, Theorem 3.20), of Gaussian releases (of secure sums: Skellam ones, Agarwal, Kairouz "
        "& Liu 2021, Theorem 3.5), amplified by sampling (Balle, Barthe & Gaboardi 2018, Theorem 9)"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "amplification to ln(1 + p (e^epsilon - 1)) instead of epsilon p",
        "the sum of epsilons where it is less than advanced composition (--preset paper: not)",
    )
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {**PAPER, "accountant_conversion": "dwork-roth"}
    }
    preset_sources: ClassVar[dict[str, dict[str, str]]] = {
        "paper": {
            **SOURCES,
            "accountant_conversion": "Dwork & Roth 2014, Theorem 3.20, which Cheng et al. cite as "
            "advanced composition",
        }
    }

    def with_noise(self, rules: GradientRounds, pool: UserPool) -> GradientRounds:
        return replace(rules, noise_multiplier=least_noise(rules, pool, self.rounds))


@dataclass(frozen=True, kw_only=True)
class SgdUsers(_Baseline):
    """Fits a linear model by rounds of one row a user without any noise. NOT private."""

    name: ClassVar[str] = "sgd-users"
    accountant: ClassVar[str] = "gdp"
    without_noise: ClassVar[bool] = True
    theorem: ClassVar[str] = "none: without noise there is no guarantee"

    def asked(self, pool: UserPool) -> int:
        return 100 * self.rounds

    def with_noise(self, rules: GradientRounds, pool: UserPool) -> GradientRounds:
        return rules
