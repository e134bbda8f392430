"""The theorems that releases and filters rest on, by the names that a model file has for them.

The statements with their constants are beside the code of each, and in ``docs/theorems.md``.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ACCOUNTANTS", "MECHANISMS", "PAGE", "Theorem"]

PAGE = "theorems.md"


class Theorem(NamedTuple):
    """A clause, its source, and the module whose code it is stated beside."""

    says: str
    source: str
    module: str


MECHANISMS = {
    "Gaussian": Theorem(
        "normal noise of m times the l2 sensitivity is 1/m-GDP and 1/(2 m^2)-zCDP",
        "Bun & Steinke 2016, Prop. 1.6; Dong, Roth & Su 2022, Theorem 2.7",
        "dpcore.mechanisms.gaussian",
    ),
    "Laplace": Theorem(
        "Laplace noise of m times the l1 sensitivity is 1/m-DP",
        "Dwork, McSherry, Nissim & Smith 2006",
        "dpcore.mechanisms.laplace",
    ),
    "Geometric": Theorem(
        "two-sided geometric noise of m times the l1 sensitivity is 1/m-DP",
        "Ghosh, Roughgarden & Sundararajan 2009",
        "dpcore.mechanisms.geometric",
    ),
    "Exponential": Theorem(
        "a choice with probability proportional to exp(utility / scale) is of bounded range: the "
        "range of the change of utilities between neighbours, over scale",
        "McSherry & Talwar 2007; Dong, Durfee & Rogers 2020; Cesar & Rogers 2021",
        "dpcore_accounting.selections.exponential",
    ),
    "PermuteAndFlip": Theorem(
        "the largest utility after one-sided exponential noise is range-over-scale-DP",
        "McKenna & Sheldon 2020; Ding et al. 2021",
        "dpcore_accounting.selections.permute_and_flip",
    ),
    "ReportNoisyMax": Theorem(
        "the largest utility after Laplace noise is range-over-scale-DP",
        "Dwork & Roth 2014, Claim 3.9",
        "dpcore_accounting.selections.report_noisy_max",
    ),
}
"""Of dpcore's own mechanisms, by class."""

ACCOUNTANTS = {
    "pure": Theorem(
        "epsilons of releases add up, also of those chosen from earlier outputs",
        "Dwork, McSherry, Nissim & Smith 2006; Rogers, Roth, Ullman & Vadhan 2016",
        "dpcore.accountants.pure",
    ),
    "zcdp": Theorem(
        "rho of releases adds up, also of those chosen from earlier outputs",
        "Bun & Steinke 2016; Feldman & Zrnic 2021, Theorem 3.1; Whitehouse et al. 2023, Theorem 1",
        "dpcore.accountants.zcdp",
    ),
    "gdp": Theorem(
        "mu^2 of the Gaussians that dominate releases adds up, also of those chosen from "
        "earlier outputs",
        "Dong, Roth & Su 2022; Smith & Thakurta 2022; Koskela, Tobaben & Honkela 2023",
        "dpcore.accountants.gdp",
    ),
    "rdp": Theorem(
        "Renyi divergences at one order, fixed beforehand, add up",
        "Mironov 2017; Feldman & Zrnic 2021, Theorem 3.1; of Poisson samples Zhu & Wang 2019",
        "dpcore_accounting.rdp",
    ),
    "single": Theorem(
        "one release has the (epsilon, delta) curve of its distribution",
        "Balle & Wang 2018, Theorem 8; Chen, Lee & Kifer 2019",
        "dpcore_accounting.single",
    ),
    "basic": Theorem(
        "epsilons add up, and deltas of releases that have some, also of those chosen from earlier "
        "outputs",
        "Dwork, Kenthapadi, McSherry, Mironov & Naor 2006; Rogers, Roth, Ullman & Vadhan 2016",
        "dpcore_accounting.filters.basic",
    ),
    "pld": Theorem(
        "privacy losses of pairs that dominate the releases, fixed beforehand, add up",
        "Zhu, Dong & Wang 2022, Theorems 10 and 11; Doroshenko et al. 2022",
        "dpcore_accounting.pld",
    ),
    "advanced-composition": Theorem(
        "sampled Gaussian releases, fixed beforehand, compose",
        "Balle, Barthe & Gaboardi 2018; Kairouz, Oh & Viswanath 2017, Theorem 3.5, or, with "
        "--conversion dwork-roth, Dwork & Roth 2014, Theorem 3.20",
        "dpcore_accounting.advanced_composition",
    ),
}
"""Of dpcore's own filters, by their registered name."""
