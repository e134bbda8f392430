"""DP-AGD (Lee & Kifer, KDD 2018) as a dpcore plugin."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []


@hookimpl
def register_optimizers(register: Callable[..., None]) -> None:
    register(
        "dp-agd",
        "dpcore_dp_agd.optimizer:DpAgd",
        summary="Gradient descent that spends its budget step by step, with private step sizes.",
        reference="Lee & Kifer, KDD 2018",
    )
