"""Private Frank-Wolfe for sparse linear models as a dpcore plugin."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []


@hookimpl
def register_optimizers(register: Callable[..., None]) -> None:
    register(
        "frank-wolfe",
        "dpcore_frank_wolfe.frank_wolfe:FrankWolfe",
        summary="Selects a column in each step: sparse models of wide tables.",
        reference="Talwar et al., NeurIPS 2015",
    )


@hookimpl
def register_mechanisms(register: Callable[..., None]) -> None:
    register(
        "grouped-exponential",
        "dpcore_frank_wolfe.grouped_exponential:GroupedExponential",
        summary="The exponential mechanism, drawn in groups: fast for millions of candidates.",
        reference="McSherry & Talwar 2007; Raff, Khanna & Lu 2023",
    )
