"""SGD under a moments accountant (Abadi et al., CCS 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpcore_baselines.poisson_sgd import PoissonSgd

__all__ = ["SgdMa"]


@dataclass(frozen=True, kw_only=True)
class SgdMa(PoissonSgd):
    """Fits a linear model by noisy clipped gradients of Poisson samples (Algorithm 1).

    Each step draws a fresh Poisson sample, sums its clipped gradients with normal noise, and
    divides by the expected number of rows. The noise is the least with which the whole schedule
    fits the budget, so every epsilon has a value.

    Privacy: privacy losses of Poisson-sampled Gaussian releases, convolved (Zhu, Dong & Wang 2022,
    Theorems 10 and 11; ``dpcore_accounting.pld``). ``rdp``, the moments accountant proper, holds
    them too (Mironov, Talwar & Zhang 2019, section 3.3), with 5 to 7 % more noise; it is a filter,
    so a run whose budget other releases or fits share is under it where none is named. A row in the
    sample contributes at most ``clip``: add-or-remove-one only, since under replace-one that
    formula is too small (an exact .107 where it says .059).
    """

    name: ClassVar[str] = "sgd-ma"
    accountant: ClassVar[str] = "pld"
    shared_accountant: ClassVar[str] = "rdp"
    theorem: ClassVar[str] = (
        "privacy losses of Poisson-sampled Gaussians, convolved: Zhu, Dong & Wang 2022, Theorems "
        "10 and 11; Doroshenko et al. 2022; clipped sums: Abadi et al. 2016, section 3.1"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "convolved privacy losses in place of moments, which --accountant rdp adds up at one order",
        "the published baselines account for Poisson samples and draw batches of a fixed size",
        "momentum and averaging of the iterates, which are post-processing",
        "noise for the budget and the steps; the published code fixes noise and steps, and epsilon "
        "is what they come to",
    )
    # Abadi et al. 2016: the moments accountant (section 3.2), Algorithm 1 without momentum and its
    # last iterate. Chen, Lee & Kifer 2019, section 5: samples of sqrt(n) rows. Lee & Kifer 2018, in
    # the code of their baselines (dpsgd_ma): clip 4, step 0.05, and the third of the five numbers
    # of steps that they tried (1 to 20,000) with a fixed noise, of which epsilon is the outcome.
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {
            "root_samples": True,
            "steps": 1000,
            "gradient_clip": 4.0,
            "step_size": 0.05,
            "momentum": 0.0,
            "averaging": -1.0,
            "accountant": "rdp",
        }
    }
