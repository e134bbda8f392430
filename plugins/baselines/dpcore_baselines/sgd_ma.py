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
    preset_sources: ClassVar[dict[str, dict[str, str]]] = {
        "paper": {
            "root_samples": "Chen, Lee & Kifer 2019, section 5: sqrt(n) rows",
            "steps": "run_sgdma_logistic.py of Lee & Kifer's code: the third of the five numbers, "
            "1 to 20,000, that it tries with a fixed noise, of which epsilon is the outcome",
            "gradient_clip": "dpsgd_ma of Lee & Kifer's code",
            "step_size": "run_sgdma_logistic.py of Lee & Kifer's code",
            "momentum": "Abadi et al. 2016, Algorithm 1: none",
            "averaging": "Abadi et al. 2016, Algorithm 1: the last iterate",
            "accountant": "Abadi et al. 2016, section 3.2: the moments accountant",
        }
    }
