"""An example plugin: one optimizer, registered by name and imported when it is used."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []


@hookimpl
def register_optimizers(register: Callable[..., None]) -> None:
    register(
        "noisy-gd",
        "dpcore_example.noisy_gd:NoisyGd",
        summary="Gradient descent on noisy clipped gradient sums, with equal shares of the budget.",
        reference="Bassily, Smith & Thakurta 2014",
    )
