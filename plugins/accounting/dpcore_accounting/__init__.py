"""Accountants, a command that compares them, and selections, which no algorithm of the core's own
needs, as a dpcore plugin."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []


@hookimpl
def register_commands(register: Callable[..., None]) -> None:
    register(
        "account",
        "dpcore_accounting.commands.account:account_command",
        summary="Print what (epsilon, delta) buys under each accountant.",
        group="Accounting",
    )


@hookimpl
def register_accountants(register: Callable[..., None]) -> None:
    register(
        "best",
        "dpcore_accounting.best:BestAccountant",
        summary="The one under which a schedule fixed beforehand takes the least noise.",
        reference="",
    )
    register(
        "pld",
        "dpcore_accounting.pld:PldAccountant",
        summary="Convolves privacy losses, from above: the tightest; fixed schedules.",
        reference="Zhu, Dong & Wang 2022; Doroshenko et al. 2022",
    )
    register(
        "advanced-composition",
        "dpcore_accounting.advanced_composition:AdvancedCompositionAccountant",
        summary="Gaussian releases of samples, amplified, then composed; fixed schedules.",
        reference="Balle, Barthe & Gaboardi 2018; Kairouz, Oh & Viswanath 2017",
    )
    register(
        "rdp",
        "dpcore_accounting.rdp:RdpAccountant",
        summary="Adds up Renyi DP at one order, fixed beforehand; Poisson samples too.",
        reference="Mironov 2017; Mironov, Talwar & Zhang 2019; Feldman & Zrnic 2021",
    )
    register(
        "single",
        "dpcore_accounting.single:SingleReleaseAccountant",
        summary="Bounds one Gaussian release by its own curve; refuses a second.",
        reference="Balle & Wang 2018; Chen, Lee & Kifer 2019",
    )
    register(
        "basic",
        "dpcore_accounting.filters.basic:BasicAccountant",
        summary="Adds up epsilons and deltas: pure releases, and some with a delta.",
        reference="Dwork et al. 2006; Rogers, Roth, Ullman & Vadhan 2016",
    )


@hookimpl
def register_mechanisms(register: Callable[..., None]) -> None:
    register(
        "exponential",
        "dpcore_accounting.selections.exponential:Exponential",
        summary="Selects an index with probability proportional to exp(utility / scale).",
        reference="McSherry & Talwar 2007; Dong, Durfee & Rogers 2020",
    )
    register(
        "permute-and-flip",
        "dpcore_accounting.selections.permute_and_flip:PermuteAndFlip",
        summary="Selects the largest utility after one-sided exponential noise.",
        reference="McKenna & Sheldon 2020",
    )
    register(
        "report-noisy-max",
        "dpcore_accounting.selections.report_noisy_max:ReportNoisyMax",
        summary="Selects the largest utility after Laplace noise.",
        reference="Dwork & Roth 2014",
    )
