"""Accountants for schedules that are fixed beforehand, as a dpcore plugin."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []


@hookimpl
def register_accountants(register: Callable[..., None]) -> None:
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
