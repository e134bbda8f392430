"""SGD under a moments accountant (Abadi et al., CCS 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpcore_baselines.poisson_sgd import PoissonSgd

__all__ = ["SgdMa"]


@dataclass(frozen=True, kw_only=True)
class SgdMa(PoissonSgd):
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

    name: ClassVar[str] = "sgd-ma"
    accountant: ClassVar[str] = "rdp"
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
