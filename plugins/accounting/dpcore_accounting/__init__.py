"""Accountants beside those of the core: privacy loss distributions, as a dpcore plugin."""

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
