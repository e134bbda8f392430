"""RSGD-AR (Chen, Lee & Kifer, AISTATS 2019) and its relatives as a dpcore plugin."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []

_PAPER = "Chen, Lee & Kifer, AISTATS 2019"


@hookimpl
def register_optimizers(register: Callable[..., None]) -> None:
    register(
        "rsgd-ar",
        "dpcore_rsgd_ar.rsgd_ar:RsgdAr",
        summary="SGD on permuted batches with averages and restarts; one release at the end.",
        reference=_PAPER,
    )
    register(
        "psgd",
        "dpcore_rsgd_ar.psgd:Psgd",
        summary="SGD on permuted batches without averages; one release at the end.",
        reference=_PAPER,
    )
    register(
        "nsgd",
        "dpcore_rsgd_ar.nsgd:Nsgd",
        summary="SGD with the sensitivity of the worst batch; one release at the end.",
        reference=_PAPER,
    )
    register(
        "outpert-gd",
        "dpcore_rsgd_ar.outpert_gd:OutpertGd",
        summary="Gradient descent with a fixed step; one release at the end.",
        reference="Zhang, Zheng, Mou & Wang, IJCAI 2017",
    )
    register(
        "bolt-on",
        "dpcore_rsgd_ar.bolt_on:BoltOn",
        summary="SGD in a ball with a closed-form sensitivity; one release at the end.",
        reference="Wu et al., SIGMOD 2017",
    )
