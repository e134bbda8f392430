"""SGD under advanced composition (Bassily, Smith & Thakurta, FOCS 2014)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from dpcore_baselines import poisson_sgd
from dpcore_baselines.options import option

if TYPE_CHECKING:
    from dpcore.events import DpEvent
    from dpcore.problem import Problem, Solution
    from dpcore.session import PrivacySession

__all__ = ["SgdAdv"]


@dataclass(frozen=True, kw_only=True)
class SgdAdv:
    """Fits a linear model by noisy gradients of samples, accounted for by advanced composition.

    Each step draws a fresh Poisson sample, sums its clipped gradients with normal noise, and
    divides by the expected number of rows. The noise is the least with which the whole schedule
    fits the budget, so every epsilon has a value.

    Privacy: each release is (e, d)-DP by the Gaussian's own curve (Balle & Wang 2018, Theorem 8),
    over a Poisson sample (ln(1 + p (exp(e) - 1)), p d)-DP (Balle, Barthe & Gaboardi 2018, Theorem
    8), not (p e, p d); they add up by advanced composition (Kairouz, Oh & Viswanath 2017, Theorem
    3.5). A row in the sample contributes at most ``clip``, under add-or-remove-one.
    """

    steps: int = option(400, "samples drawn", "steps")
    sampling_probability: float = option(0.05, "of a row to be in a sample", "1")
    clip: float | None = option(
        None, "bound of a row's gradient over the row norm", "1", poisson_sgd.CLIP_RULE
    )
    time: float | None = option(
        None, "sum of the step sizes, times the row norm squared", "1", poisson_sgd.TIME_RULE
    )
    momentum: float = option(0.85, "weight of the earlier directions in the next one", "1")
    averaging: float = option(
        3.0, "iterate t weighs about t^averaging in the result; negative: the last iterate", "1"
    )
    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "sgd-adv"
    accountant: ClassVar[str] = "advanced-composition"
    slots: ClassVar[dict[str, tuple[str, ...]]] = {}
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one",)
    needs: ClassVar[tuple[str, ...]] = ("fixed-schedule",)
    theorem: ClassVar[str] = (
        "amplification: Balle, Barthe & Gaboardi 2018, Theorem 8; advanced composition: Kairouz, "
        "Oh & Viswanath 2017, Theorem 3.5; the Gaussian's curve: Balle & Wang 2018, Theorem 8"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "samples of p n0 rows in the mean and a few hundred steps, instead of n^2 steps of one row",
        "gradients are clipped, so that no Lipschitz constant is needed",
        "Poisson samples, and ln(1 + p (exp(e) - 1)) for their epsilon, not a multiple of p e",
        "momentum and averaging of the iterates, which are post-processing",
    )

    def __post_init__(self) -> None:
        poisson_sgd.check(self)

    def schedule(self, problem: Problem, noise_multiplier: float) -> Mapping[DpEvent, int]:
        """Return how many of each event a run makes with that noise."""
        return poisson_sgd.schedule_of(self, problem, noise_multiplier)

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        return poisson_sgd.run(self, problem, session)
