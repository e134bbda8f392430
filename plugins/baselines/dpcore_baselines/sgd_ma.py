"""SGD under a moments accountant (Abadi et al., CCS 2016)."""

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

__all__ = ["SgdMa"]


@dataclass(frozen=True, kw_only=True)
class SgdMa:
    """Fits a linear model by noisy clipped gradients of Poisson samples (Algorithm 1).

    Each step draws a fresh Poisson sample, sums its clipped gradients with normal noise, and
    divides by the expected number of rows. The noise is the least with which the whole schedule
    fits the budget, so every epsilon has a value.

    Privacy: the Renyi divergence of a Poisson-sampled Gaussian release (Mironov, Talwar & Zhang
    2019, section 3.3), added up at one order that is fixed for the schedule beforehand, integer or
    fractional, and converted by Canonne, Kamath & Steinke 2020, Prop. 12. A row in the sample
    contributes at most ``clip``: add-or-remove-one only, since under replace-one that formula is
    too small (an exact .107 where it says .059).
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

    name: ClassVar[str] = "sgd-ma"
    accountant: ClassVar[str] = "rdp"
    slots: ClassVar[dict[str, tuple[str, ...]]] = {}
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one",)
    needs: ClassVar[tuple[str, ...]] = ("fixed-schedule",)
    theorem: ClassVar[str] = (
        "Poisson-sampled Gaussian at one Renyi order: Mironov, Talwar & Zhang 2019, section 3.3; "
        "conversion: Canonne, Kamath & Steinke 2020, Prop. 12; clipped sums: Abadi et al. 2016, "
        "section 3.1"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "tight conversion at one order fixed beforehand, instead of the best of whole orders after",
        "the published baselines account for Poisson samples and draw batches of a fixed size",
        "momentum and averaging of the iterates, which are post-processing",
    )

    def __post_init__(self) -> None:
        poisson_sgd.check(self)

    def schedule(self, problem: Problem, noise_multiplier: float) -> Mapping[DpEvent, int]:
        """Return how many of each event a run makes with that noise."""
        return poisson_sgd.schedule_of(self, problem, noise_multiplier)

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        return poisson_sgd.run(self, problem, session)
