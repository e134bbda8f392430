"""Parameters chosen on the budget: several private fits, and the best of them, as one release."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []


@hookimpl
def register_commands(register: Callable[..., None]) -> None:
    register(
        "tune",
        "dpcore_tuning.command:tune_command",
        summary="Fit candidates within one budget, and release the best.",
        group="Many fits",
        fits=True,
    )
